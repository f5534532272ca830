// Pages of a diary: served orders, cursors of their order alone, and a right pageInfo in both directions.
import { randomBytes } from "node:crypto";
import { isEnumType, isInputObjectType, type GraphQLSchema } from "graphql";
import { Client, Pool } from "pg";
import { makeSchema } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafast } from "postgraphile/grafast";
import { makeV4Preset } from "postgraphile/presets/v4";
import { PostGraphileConnectionFilterPreset } from "postgraphile-plugin-connection-filter";
import { makeIndexedOrdersPlugins } from "../index.ts";

/** A server whose superuser makes databases. */
const CLUSTER = process.env["TEST_CLUSTER_URL"] ?? "";

// Notes 1 to 12 of six days, in the rooms of 1 to 3, and every fourth in none; drafts are the same without an order.
const SCHEMA = `
  create schema diary;
  create table diary.note (id integer primary key, day integer not null, room text, author text not null, mark integer);
  create index on diary.note (coalesce(room, ''), id);
  create index on diary.note (author, id);
  create index on diary.note (coalesce(mark, -1), id);
  insert into diary.note
  select id, (id + 1) / 2, nullif('room ' || id % 4, 'room 0'), 'author ' || id % 2, nullif(id % 3, 0)
  from generate_series(1, 12) as id;
  create function diary.first_of(day integer) returns integer stable language sql
  as 'select min(note.id) from diary.note where note.day >= first_of.day';
  comment on table diary.note is '@order id follows day by diary.first_of';
  create table diary.draft as select * from diary.note;
  alter table diary.draft add primary key (id);
  comment on table diary.draft is '@order nothing';
  create domain diary.place as integer;
  create table diary.weather (
    id integer primary key, degrees integer, place diary.place, wet boolean, station inet, lasted interval,
    since timestamptz, day date, wind float8, gust real, notes jsonb,
    until timestamptz not null, heat float8 not null
  );
  create index on diary.weather (until, id);
  create index on diary.weather (heat, id);
  comment on table diary.weather is '@order id';
  insert into diary.weather
  select
    id, nullif(id % 3, 0), nullif(id % 4, 0), (array[true, false, null])[1 + id % 3],
    nullif('10.0.0.0'::inet + id % 4, '10.0.0.0'), nullif(id % 3, 0) * interval '1 mon 2 days 3.5 seconds',
    (array['infinity', '-infinity', null, '2020-01-01 00:00:00.123456'])[1 + id % 4]::timestamptz,
    (array['infinity', '-infinity', null, '2020-01-01'])[1 + id % 4]::date,
    (array['NaN', 'Infinity', '-Infinity', null, 0.1, 1e300])[1 + id % 6],
    (array['NaN', '-Infinity', null, 1.1])[1 + id % 4], case when id % 3 > 0 then jsonb_build_object('or', '[]'::jsonb, 'k', id % 3) end,
    (array['infinity', '-infinity', '2020-01-01 00:00:00.123456'])[1 + id % 3]::timestamptz,
    (array['NaN', 'Infinity', '-Infinity', 0.1])[1 + id % 4]
  from generate_series(1, 12) as id;
  create domain diary.spot as point;
  create type diary.mood as enum ('good', 'bad');
  create type diary.snap as (taken date, data json);
  create table diary.photo (
    id integer primary key, title varchar, net cidr, mood diary.mood, tags text[], exif jsonb, span int4range,
    raw json, page xml, place point, spot diary.spot, places point[], pages json[], snap diary.snap, frame box, outline polygon, find jsonpath
  );
  create table diary.day as select * from diary.weather;
  alter table diary.day add primary key (id);
`;

interface Page {
  nodes: { id: number }[];
  edges: { cursor: string }[];
  pageInfo: { hasPreviousPage: boolean; hasNextPage: boolean; endCursor: string | null };
}

const FIELDS = "nodes { id } edges { cursor } pageInfo { hasPreviousPage hasNextPage endCursor }";
const name = `diary_${randomBytes(6).toString("hex")}`;
let admin: Client;
let pool: Pool;
let schema: GraphQLSchema;
let ask: (list: string) => Promise<{ page?: Page; message?: string }>;
const logged: string[] = [];

beforeAll(async () => {
  admin = new Client({ connectionString: CLUSTER });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(CLUSTER);
  url.pathname = `/${name}`;
  pool = new Pool({ connectionString: url.href });
  await pool.query(SCHEMA);
  const made = await makeSchema({
    extends: [
      makeV4Preset({ simpleCollections: "omit", dynamicJson: true }),
      PostGraphileConnectionFilterPreset,
    ],
    plugins: makeIndexedOrdersPlugins((error) => logged.push((error as Error).message)),
    pgServices: [makePgService({ pool, schemas: ["diary"] })],
    // A column of JSON too.
    schema: { defaultBehavior: "+filterBy +orderBy" },
  });
  const { resolvedPreset } = made;
  ({ schema } = made);
  ask = async (list) => {
    const source = `{ page: ${list} { ${FIELDS} } }`;
    const result = await grafast({ schema, source, resolvedPreset, requestContext: {} });
    const { data, errors } = result as {
      data?: { page: Page | null };
      errors?: { message: string }[];
    };
    const [error] = errors ?? [];
    return { ...(data?.page && { page: data.page }), ...(error && { message: error.message }) };
  };
});
afterAll(async () => {
  await pool.end();
  await admin.query(`drop database ${name}`);
  await admin.end();
});

const pageOf = async (list: string): Promise<Page> => {
  const { page, message } = await ask(list);
  expect(message).toBeUndefined();
  return page!;
};
const idsOf = ({ nodes }: Page): number[] => nodes.map(({ id }) => id);

/** The ids of all pages of five, from the first on. */
async function walk(table: string, orderBy: string): Promise<number[]> {
  const ids: number[] = [];
  let after = "null";
  for (;;) {
    const page = await pageOf(`${table}(first: 5, after: ${after}, orderBy: ${orderBy})`);
    ids.push(...idsOf(page));
    // Repeated rows are an endless walk.
    if (!page.pageInfo.hasNextPage || ids.length > 12) return ids;
    after = JSON.stringify(page.pageInfo.endCursor);
  }
}

it.each([
  ["allNotes", "[ROOM_ASC]"],
  ["allNotes", "[ROOM_DESC]"],
  ["allNotes", "[ROOM_DESC, DAY_DESC]"],
  ["allNotes", "[MARK_ASC]"],
  ["allNotes", "[MARK_DESC, DAY_DESC]"],
  ["allNotes", "[AUTHOR_ASC, DAY_ASC]"],
  ["allDrafts", "[ROOM_ASC]"],
  ["allDrafts", "[ROOM_DESC, AUTHOR_ASC]"],
  ...[
    "DEGREES",
    "PLACE",
    "WET",
    "STATION",
    "LASTED",
    "SINCE",
    "DAY",
    "WIND",
    "GUST",
    "NOTES",
  ].flatMap((column) => [
    ["allDays", `[${column}_ASC]`],
    ["allDays", `[${column}_DESC]`],
  ]),
  ["allDays", "[HEAT_ASC]"],
  ["allWeathers", "[UNTIL_ASC]"],
  ["allWeathers", "[HEAT_DESC]"],
])("pages through all rows of %s once by %s, ties and nulls among them", async (table, orderBy) => {
  const ids = await walk(table, orderBy);
  expect(ids).toEqual(idsOf(await pageOf(`${table}(orderBy: ${orderBy})`)));
  expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, n) => n + 1));
});

it("sorts by the columns of the index, nulls before other values", async () => {
  const page = await pageOf("allNotes(orderBy: [ROOM_DESC, DAY_DESC])");
  const { rows } = await pool.query<{ id: number }>(
    "select id from diary.note order by coalesce(room, '') desc, id desc",
  );
  expect(idsOf(page)).toEqual(rows.map(({ id }) => id));
});

it("refuses an order that no index serves, and lists those that one does", async () => {
  const { message } = await ask("allNotes(orderBy: [AUTHOR_ASC, ROOM_ASC])");
  expect(message).toBe(
    'Argument "orderBy": [AUTHOR_ASC, ROOM_ASC] would sort the whole set. Served by an index are ' +
      "[AUTHOR], [AUTHOR, DAY], [DAY], [ID], [MARK], [MARK, DAY], [ROOM], [ROOM, DAY], all of one list _ASC or all _DESC.",
  );
});

it.each(["ROOM_DESC", "AUTHOR_ASC", "[ROOM_ASC, DAY_ASC]", "NATURAL"])(
  "refuses a cursor of ROOM_ASC with %s",
  async (orderBy) => {
    const { edges } = await pageOf("allNotes(first: 1, orderBy: ROOM_ASC)");
    const after = JSON.stringify(edges[0]!.cursor);
    const { page, message } = await ask(`allNotes(after: ${after}, orderBy: ${orderBy})`);
    expect(page).toBeUndefined();
    expect(message).toMatch(/cursor/);
  },
);

/** Of photos: what a condition and a filter compare, and what an order has. */
function offered(typeName: string): string[] {
  const type = schema.getType(typeName);
  if (isEnumType(type)) return type.getValues().map(({ name }) => name);
  return isInputObjectType(type) ? Object.keys(type.getFields()) : [];
}

it("offers no column for a comparison that PostgreSQL cannot make of its type", () => {
  expect(offered("PhotoCondition").join(" ")).toBe("id title net mood tags exif span");
  expect(offered("PhotoFilter")).toEqual(expect.not.arrayContaining(["place", "spot", "outline"]));
  expect(offered("PhotosOrderBy").filter((name) => name.endsWith("_ASC"))).toEqual(
    ["PRIMARY_KEY", "ID", "TITLE", "NET", "MOOD", "EXIF"].map((name) => `${name}_ASC`),
  );
});

it("refuses a cursor whose values are of other types", async () => {
  const { edges } = await pageOf("allNotes(first: 1, orderBy: ROOM_ASC)");
  const [digest] = JSON.parse(Buffer.from(edges[0]!.cursor, "base64").toString()) as string[];
  const forged = Buffer.from(JSON.stringify([digest, "room 1", "one"])).toString("base64");
  expect((await ask(`allNotes(after: "${forged}", orderBy: ROOM_ASC)`)).message).toBe(
    'Argument "after" is not a cursor that this service gave for this order.',
  );
});

it.each(["x", "", "bnVsbA==", "e30="])('refuses "%s" in place of a cursor', async (after) => {
  expect(await ask(`allNotes(after: "${after}")`)).toEqual({
    message: "Invalid cursor, please enter a cursor from a previous request, or null.",
  });
});

it.each([
  ["or", "{ or: [] }"],
  ["and", "{ not: { and: [] } }"],
  ["or", "{ and: [{ day: { equalTo: 1 } }, { or: [] }] }"],
  ["or", "{ or: { or: [] } }"],
])("refuses an empty list in %s of the filter %s", async (list, filter) => {
  expect(await ask(`allNotes(filter: ${filter})`)).toEqual({
    message: `An empty list in "${list}" of "filter" says nothing: leave it out, or give it a condition.`,
  });
});

it("accepts an empty list in a value that a filter compares with", async () => {
  // Rows 3, 6, 9 and 12 have no notes.
  const page = await pageOf("allDays(filter: { notes: { contains: { or: [] } } })");
  expect(idsOf(page)).toEqual([1, 2, 4, 5, 7, 8, 10, 11]);
});

it("has a right pageInfo forwards, backwards and by offset", async () => {
  const { edges } = await pageOf("allNotes(orderBy: ID_ASC)");
  const cursorOf = (id: number): string => JSON.stringify(edges[id - 1]!.cursor);
  const flags = async (args: string): Promise<unknown> => {
    const page = await pageOf(`allNotes(${args}, orderBy: ID_ASC)`);
    const { hasPreviousPage, hasNextPage } = page.pageInfo;
    return [idsOf(page), hasPreviousPage, hasNextPage];
  };
  expect(await flags("first: 2")).toEqual([[1, 2], false, true]);
  expect(await flags(`first: 2, after: ${cursorOf(2)}`)).toEqual([[3, 4], true, true]);
  expect(await flags(`first: 2, after: ${cursorOf(10)}`)).toEqual([[11, 12], true, false]);
  expect(await flags(`last: 2, before: ${cursorOf(3)}`)).toEqual([[1, 2], false, true]);
  expect(await flags("last: 2")).toEqual([[11, 12], true, false]);
  expect(await flags("first: 2, offset: 0")).toEqual([[1, 2], false, true]);
  expect(await flags("first: 2, offset: 3")).toEqual([[4, 5], true, true]);
  expect(await flags("first: 2, offset: 12")).toEqual([[], true, false]);
});

it.each([
  ["first: -1", 'Argument "first" must be an integer from 0, not -1.'],
  ["first: 1, last: 1", 'Arguments "first" and "last" cannot be used together: give one of them.'],
  [
    "last: 1, offset: 1",
    'Argument "offset" cannot be used together with "last": page back with "before".',
  ],
])("refuses %s, and names the argument", async (args, message) => {
  expect(await ask(`allNotes(${args})`)).toEqual({ message });
});

it("logs a tag that is invalid, and offers every order of its table", () => {
  expect(logged).toEqual([
    '@order of draft is ignored: its columns must include the primary key, and the columns after "follows" have the ' +
      'form column or column by schema.function; none may be nullable, not "nothing".',
  ]);
});
