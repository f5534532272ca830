// The pageInfo of pages of a diary, against the whole set: by cursors of rows that are in the set and that are not.
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { Client, Pool } from "pg";
import { makeSchema } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafast } from "postgraphile/grafast";
import { makeV4Preset } from "postgraphile/presets/v4";
import { PostGraphileConnectionFilterPreset } from "postgraphile-plugin-connection-filter";
import { makeIndexedOrdersPlugins } from "../index.ts";
import { anyPage, expectedPage, PAGE_ARGUMENTS, PAGE_VARIABLES } from "./any-page.ts";

/** A server whose superuser makes databases. */
const CLUSTER = process.env["TEST_CLUSTER_URL"] ?? "";

// Notes 1 to 12 of six days in two books, in the rooms of 1 to 3, and every fourth in none; drafts are the same without
// an order.
const SCHEMA = `
  create schema diary;
  create table diary.book (id integer primary key);
  insert into diary.book values (1), (2);
  create table diary.note (
    id integer primary key, day integer not null, room text, book_id integer not null references diary.book
  );
  create index on diary.note (coalesce(room, ''), id);
  create index on diary.note (book_id, id);
  insert into diary.note
  select id, (id + 1) / 2, nullif('room ' || id % 4, 'room 0'), 1 + id % 2
  from generate_series(1, 12) as id;
  create function diary.first_of(day integer) returns integer stable language sql
  as 'select min(note.id) from diary.note where note.day >= first_of.day';
  comment on table diary.note is '@order id follows day by diary.first_of';
  create table diary.draft as select * from diary.note;
  alter table diary.draft add primary key (id);
  create function diary.latest(since integer) returns setof diary.note stable language sql
  as 'select * from diary.note where id > since order by id desc';
  create table diary.scrap as select * from diary.note;
`;

interface Row {
  id: number;
  day: number;
  room: string | null;
  bookId: number;
}

interface Page {
  edges: { cursor: string; node: Row }[];
  pageInfo: { hasPreviousPage: boolean; hasNextPage: boolean };
}

const ROW = "id day room bookId";
const FLAGS = "hasPreviousPage hasNextPage";

/** Each filter, and the rows that it leaves. */
const FILTERS: [string, (row: Row) => boolean][] = [
  ["{}", () => true],
  ["{ id: { greaterThan: 100 } }", () => false],
  ["{ id: { equalTo: 7 } }", ({ id }) => id === 7],
  ["{ id: { greaterThan: 1 } }", ({ id }) => id > 1],
  ["{ id: { lessThan: 12 } }", ({ id }) => id < 12],
  ["{ id: { in: [3, 4, 8, 9] } }", ({ id }) => [3, 4, 8, 9].includes(id)],
  ["{ room: { isNull: true } }", ({ room }) => room === null],
  ['{ room: { equalTo: "room 2" } }', ({ room }) => room === "room 2"],
  ["{ day: { lessThan: 3 } }", ({ day }) => day < 3],
];

const ORDERS = {
  allNotes: [
    "ID_ASC",
    "ID_DESC",
    "DAY_DESC",
    "ROOM_ASC",
    "ROOM_DESC",
    "[ROOM_DESC, DAY_DESC]",
    "NATURAL",
    "null",
  ],
  allDrafts: ["ID_DESC", "ROOM_ASC", "ROOM_DESC", "[ROOM_DESC, DAY_ASC]", "[DAY_DESC, ROOM_ASC]"],
};

const name = `diary_${randomBytes(6).toString("hex")}`;
let admin: Client;
let pool: Pool;
let ask: (source: string, variables?: Record<string, unknown>) => Promise<Record<string, unknown>>;
const statements: string[] = [];

beforeAll(async () => {
  admin = new Client({ connectionString: CLUSTER });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(CLUSTER);
  url.pathname = `/${name}`;
  pool = new Pool({ connectionString: url.href });
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      const text = JSON.stringify(args[0]);
      if (/"select\b/.test(text)) statements.push(text);
      return query(...args);
    }) as never;
  });
  await pool.query(SCHEMA);
  const { schema, resolvedPreset } = await makeSchema({
    extends: [makeV4Preset({ simpleCollections: "omit" }), PostGraphileConnectionFilterPreset],
    plugins: makeIndexedOrdersPlugins((error) => {
      throw error as Error;
    }),
    pgServices: [makePgService({ pool, schemas: ["diary"] })],
    schema: { defaultBehavior: "+filterBy +orderBy", connectionFilterAllowEmptyObjectInput: true },
  });
  ask = async (source, variableValues = {}) => {
    const request = { schema, source, variableValues, resolvedPreset, requestContext: {} };
    const { data, errors } = (await grafast(request)) as {
      data?: Record<string, unknown>;
      errors?: Error[];
    };
    if (errors) throw new Error(errors.map(({ message }) => message).join());
    return data!;
  };
});
afterAll(async () => {
  await pool.end();
  await admin.query(`drop database ${name}`);
  await admin.end();
});

it.each(Object.entries(ORDERS).flatMap(([list, orders]) => orders.map((order) => [list, order])))(
  "is right in %s of %s, for cursors of any rows",
  async (list, orderBy) => {
    const whole = await ask(
      `{ page: ${list}(orderBy: ${orderBy}) { edges { cursor node { ${ROW} } } } }`,
    );
    const { edges } = whole["page"] as Page;
    const all = edges.map(({ node }) => node);
    const cursorOf = (at: number | null) => (at === null ? null : edges[at]!.cursor);
    await fc.assert(
      fc.asyncProperty(anyPage(FILTERS.length, all.length), async (one) => {
        const [filter, isIn] = FILTERS[one.set]!;
        const set = `filter: ${filter}, orderBy: ${orderBy}`;
        const { page } = await ask(
          `${PAGE_VARIABLES} { page: ${list}(${set}, ${PAGE_ARGUMENTS}) { edges { node { ${ROW} } } pageInfo { ${FLAGS} } } }`,
          { ...one, set: undefined, after: cursorOf(one.after), before: cursorOf(one.before) },
        );
        const { edges: found, pageInfo } = page as Page;
        expect({ ids: found.map(({ node }) => node.id), ...pageInfo }).toEqual(
          expectedPage(all, (at) => isIn(all[at]!), one),
        );
      }),
      { numRuns: 150 },
    );
  },
);

const flagsOf = async (list: string, fields = FLAGS): Promise<unknown> =>
  ((await ask(`{ page: ${list} { pageInfo { ${fields} } } }`))["page"] as Page).pageInfo;

const cursorsOf = async (list: string): Promise<string[]> => {
  const { edges } = (await ask(`{ page: ${list} { edges { cursor } } }`))["page"] as Page;
  return edges.map(({ cursor }) => JSON.stringify(cursor));
};

it("is right for the rows of a function, and for such without a key", async () => {
  const [first, second, , , fifth] = await cursorsOf("latest(since: 5)");
  const [one] = await cursorsOf("allScraps");
  expect(await flagsOf(`latest(since: 5, first: 2, after: ${first})`)).toEqual({
    hasPreviousPage: true,
    hasNextPage: true,
  });
  // PostgreSQL does not call the function again where it is known that a row comes before.
  expect(statements.at(-1)).toMatch(/not \$2.*"values":\[5,"t"\]/);
  expect(await flagsOf(`latest(since: 50, first: 2, after: ${second})`)).toEqual({
    hasPreviousPage: false,
    hasNextPage: false,
  });
  expect(await flagsOf(`latest(since: 10, first: 2, after: ${fifth})`)).toEqual({
    hasPreviousPage: true,
    hasNextPage: false,
  });
  expect(await flagsOf(`allScraps(filter: { id: { greaterThan: 20 } }, after: ${one})`)).toEqual({
    hasPreviousPage: false,
    hasNextPage: false,
  });
});

it("is right for the list of each row", async () => {
  const cursors = await cursorsOf("allNotes(orderBy: ID_ASC)");
  const pagesBy = async (args: string): Promise<unknown> => {
    const { page } = await ask(
      `{ page: allBooks { nodes { notesByBookId(orderBy: ID_ASC, ${args}) { nodes { id } pageInfo { ${FLAGS} } } } } }`,
    );
    type List = { nodes: Row[] } & Page;
    const books = (page as { nodes: { notesByBookId: List }[] }).nodes;
    return books.map(({ notesByBookId: { nodes, pageInfo } }) => [
      nodes.map(({ id }) => id).join(" "),
      pageInfo.hasPreviousPage,
      pageInfo.hasNextPage,
    ]);
  };
  // Book 1 has the even notes.
  expect(await pagesBy(`first: 2, after: ${cursors[0]}`)).toEqual([
    ["2 4", false, true],
    ["3 5", true, true],
  ]);
  expect(await pagesBy(`last: 2, before: ${cursors[11]}`)).toEqual([
    ["8 10", true, true],
    ["9 11", true, false],
  ]);
});

it("reads no more than the page where no cursor is on the side of the field", async () => {
  const cursors = await cursorsOf("allNotes(orderBy: ID_ASC)");
  const sent = async (args: string, fields: string, declared = ""): Promise<number> => {
    statements.length = 0;
    await ask(`${declared} { page: allNotes(${args}) { nodes { id } pageInfo { ${fields} } } }`);
    return statements.length;
  };
  const after = `first: 2, after: ${cursors[1]}`;
  const before = `last: 2, before: ${cursors[5]}`;
  expect(await sent(after, "hasNextPage endCursor")).toBe(1);
  expect(await sent(before, "hasPreviousPage startCursor")).toBe(1);
  const onNull = [FLAGS, "query ($cursor: Cursor)"] as const;
  expect(await sent("first: 2, after: $cursor, before: $cursor", ...onNull)).toBe(1);
  expect(await sent(after, FLAGS)).toBe(2);
  expect(await sent(before, FLAGS)).toBe(2);
  expect(await sent("first: 0, before: $cursor", ...onNull)).toBe(0);
});

it("reads the row next to the page once, under whatever names it is asked for", async () => {
  const [first] = await cursorsOf("allNotes(orderBy: ID_ASC)");
  const names = ["a", "b", "c", "d"];
  const flags = names.map((one) => `${one}: hasPreviousPage`).join(" ");
  const infos = names.map((one) => `${one}: pageInfo { ${flags} }`).join(" ");
  for (const args of [`first: 2, after: ${first}`, "first: 2, offset: 1"]) {
    statements.length = 0;
    const { page } = await ask(`{ page: allNotes(${args}) { nodes { id } ${infos} } }`);
    expect(page).toMatchObject({ a: { a: true, d: true }, d: { a: true, d: true } });
    expect(statements).toHaveLength(2);
  }
});

it("reads nothing beyond a cursor that the page refuses", async () => {
  const [ofRooms] = await cursorsOf("allNotes(orderBy: ROOM_ASC)");
  statements.length = 0;
  await expect(flagsOf(`allNotes(orderBy: ROOM_DESC, after: ${ofRooms})`)).rejects.toThrow(
    "Invalid 'after' cursor",
  );
  expect(statements).toEqual([]);
});
