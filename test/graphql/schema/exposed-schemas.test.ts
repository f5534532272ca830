// Tables of a site's own: pages of rows without a total key, and cursors of any value.
import { ask, dataOf, errorsOf } from "../../graphql.ts";
import { useApp, useClient, useDatabase } from "../../served.ts";

const SITE = `
  create schema site;
  -- Rows 8 to 10 have no id.
  create table site.part (id int unique, v int);
  insert into site.part
  select nullif(n, greatest(n, 8)), n % 3
  from generate_series(1, 10) as n;
  create table site.coded (id int unique, title text not null unique, v int);
  insert into site.coded
  select nullif(n, greatest(n, 8)), 'code ' || 10 + n, n % 3
  from generate_series(1, 10) as n;
  create materialized view site.mark as
  select n as a
  from generate_series(1, 10) as n;
  create domain site.share as numeric;
  create domain site.fee as money;
  create domain site.moment as timestamptz;
  create domain site.thing as oid;
  create type site.mood as enum ('good', 'bad');
  create table site.reading (
    id int primary key,
    price money,
    amount numeric,
    share site.share,
    at timestamptz,
    local timestamp,
    day date,
    hour time,
    zoned timetz,
    object oid,
    small int2,
    large int8,
    weight float8,
    light real,
    lasted interval,
    mood site.mood,
    net inet,
    code uuid,
    mac macaddr,
    data bytea,
    letter "char",
    short char(3),
    word name,
    fee site.fee,
    moment site.moment,
    thing site.thing
  );
  insert into site.reading
  values
    (
      1, '-0.5', 'NaN', 'NaN', 'infinity', 'infinity', 'infinity', '24:00', '24:00+05:30', 4294967295, -32768, -9223372036854775808,
      'NaN', 'NaN', '-1 mon', 'good', '10.0.0.0/8', gen_random_uuid(), '08:00:2b:01:02:03', '\\x00ff', '"', 'a', 'b'
    ),
    (
      2, '92233720368547758.07', 'Infinity', 'Infinity', '-infinity', '-infinity', '-infinity', '00:00', '23:00-15:59', 2147483648, 32767,
      9223372036854775807, 'Infinity', 'Infinity', '1 y 2 d 3.5', 'bad', '::1', gen_random_uuid(), '08:00:2b:01:02:04', '', '\\', '', ''
    ),
    (
      3, '1234.56', '-Infinity', 1e200, '0044-03-15 BC', '0044-03-15 BC', '0044-03-15 BC', '12:00:00.123456', '12:00Z', 0, 0, 0,
      '-Infinity', '-Infinity', '0', 'good', '10.0.0.1', gen_random_uuid(), '08:00:2b:01:02:05', '\\x27', 'x', 'ab', 'c'
    ),
    (
      4, '1000', 1e200, -1e-200, '10000-01-01', '294276-12-31 23:59:59.999999', '5874897-12-31', '01:00', '01:00-00:30', 1, 1, 1,
      1e300, 1e30, '-1 d 2 h', 'bad', '10.0.0.2', gen_random_uuid(), '08:00:2b:01:02:06', '\\x5c', 'y', 'abc', 'd'
    );
  insert into site.reading
  values (5, '0', 0, 0, '2020-01-01 00:00:00.000001+00', '2020-01-01', '2020-01-01', '02:00', '02:00Z', 2, 2, 2, 5e-324, 1e-45, '1 us', 'good');
  insert into site.reading (id)
  values (6), (7);
  update site.reading set fee = price, moment = at, thing = object;
  create domain site.document as jsonb;
  create table site.figure (
    id int primary key,
    plain json,
    stored jsonb,
    document site.document,
    several jsonb[],
    price money,
    object oid
  );
  insert into site.figure
  select 1, given::json, given::jsonb, given::jsonb, array[given, null]::jsonb[], '92233720368547758.07', 4294967295
  from (values ('{"a": [2744.123485030572268827, 9007199254740993, 0.5, "x"]}')) as one (given);
  comment on table site.part is '@asOf site.nope';
  comment on materialized view site.mark is '@asOf dex_private.trades_as_of';
  create domain site.few as int check (value < 10);
  create table site.basket (id int primary key, fruits site.few);
  grant usage on schema site to dex_reader;
  grant select on all tables in schema site to dex_reader;
`;

const database = useDatabase();
const site = useClient(database);
beforeAll(() => site.query(SITE));
const app = useApp(database, { exposedSchemas: ["site"] });

interface Rows {
  nodes: Record<string, unknown>[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

/** The values of a column on all pages of two, from the first on. */
async function walk(table: string, column: string, orderBy = "NATURAL"): Promise<unknown[]> {
  const values: unknown[] = [];
  let after = "null";
  for (;;) {
    const source = `{ rows: ${table}(first: 2, after: ${after}, orderBy: ${orderBy}) {
      nodes { ${column} } pageInfo { hasNextPage endCursor }
    } }`;
    const { nodes, pageInfo } = (await dataOf<{ rows: Rows }>(app, source)).rows;
    values.push(...nodes.map((row) => row[column]));
    // Repeated rows are an endless walk.
    if (!pageInfo.hasNextPage || values.length > 20) return values;
    after = JSON.stringify(pageInfo.endCursor);
  }
}

const CODES = Array.from({ length: 10 }, (_, n) => `code ${11 + n}`);

it("pages a table by a key that is never null, also behind one that can be", async () => {
  expect(await walk("allCodeds", "title")).toEqual(CODES);
  expect((await walk("allCodeds", "title", "V_DESC")).toSorted()).toEqual(CODES);
  expect((await walk("allCodeds", "title", "ID_ASC")).toSorted()).toEqual(CODES);
});

it("pages rows without such a key by their number", async () => {
  expect(await walk("allParts", "id")).toEqual([1, 2, 3, 4, 5, 6, 7, null, null, null]);
  expect(await walk("allMarks", "a")).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

it.each(["allParts", "allMarks"])("refuses to page %s backwards", async (table) => {
  for (const given of ["last: 2", 'before: "WyJuYXR1cmFsIiwzXQ=="']) {
    const [name] = given.split(":");
    expect(await errorsOf(app, `{ ${table}(${given}) { nodes { __typename } } }`)).toEqual([
      `Argument "${name}" is not served here: page forwards, with "first" and "after" or "offset".`,
    ]);
  }
});

it("pages an order of such rows by offset alone", async () => {
  const page = `{ rows: allParts(first: 2, offset: 2, orderBy: V_ASC) { nodes { v } edges { cursor } } }`;
  const { rows } = await dataOf<{ rows: { nodes: unknown[]; edges: { cursor: string }[] } }>(
    app,
    page,
  );
  expect(rows.nodes).toEqual([{ v: 0 }, { v: 1 }]);
  const after = JSON.stringify(rows.edges[1]!.cursor);
  expect(
    await errorsOf(app, `{ allParts(after: ${after}, orderBy: V_ASC) { nodes { v } } }`),
  ).toEqual(['Argument "after" is not served here: page forwards, with "first" and "offset".']);
});

interface Read {
  nodes: { id: number }[];
  edges: { cursor: string }[];
}

it("gives no cursor that it then refuses, whatever its values are", async () => {
  const { type } = await dataOf<{ type: { enumValues: { name: string }[] } }>(
    app,
    '{ type: __type(name: "ReadingsOrderBy") { enumValues { name } } }',
  );
  const orders = type.enumValues.map(({ name }) => name).filter((name) => name.endsWith("_ASC"));
  expect(orders.length).toBeGreaterThan(20);
  for (const order of orders) {
    const all = `{ all: allReadings(orderBy: ${order}) { nodes { id } edges { cursor } } }`;
    const { nodes, edges } = (await dataOf<{ all: Read }>(app, all)).all;
    const rest = edges.map(
      ({ cursor }, n) =>
        `n${n}: allReadings(orderBy: ${order}, after: "${cursor}") { nodes { id } }`,
    );
    const expected = edges.map((_, n) => [`n${n}`, { nodes: nodes.slice(n + 1) }] as const);
    const data = await dataOf(app, `{ ${rest.join("\n")} }`);
    expect([order, data]).toEqual([order, Object.fromEntries(expected)]);
  }
});

it.each([
  ["PRICE_ASC", "dollars"],
  ["AMOUNT_ASC", "+Infinity"],
  ["AT_ASC", "now"],
  ["LOCAL_ASC", "-infinity BC"],
])("refuses a forged cursor of %s: %s", async (order, value) => {
  const { all } = await dataOf<{ all: Read }>(
    app,
    `{ all: allReadings(first: 1, orderBy: ${order}) { nodes { id } edges { cursor } } }`,
  );
  const [digest] = JSON.parse(Buffer.from(all.edges[0]!.cursor, "base64").toString()) as string[];
  const forged = Buffer.from(JSON.stringify([digest, false, value, 1])).toString("base64");
  expect(
    await errorsOf(app, `{ allReadings(after: "${forged}", orderBy: ${order}) { nodes { id } } }`),
  ).toEqual(['Argument "after" is not a cursor that this service gave for this order.']);
});

it("rounds no number", async () => {
  const value = '{"a": [2744.123485030572268827, 9007199254740993, 0.5, "x"]}';
  const columns = "plain stored document several price object";
  expect(await dataOf(app, `{ figure(id: 1) { ${columns} } }`)).toEqual({
    figure: {
      plain: value,
      stored: value,
      document: value,
      several: [value, null],
      price: "92233720368547758.07",
      object: 4294967295,
    },
  });
  const filter = '{ price: { equalTo: "92233720368547758.07" } }';
  expect(await dataOf(app, `{ allFigures(filter: ${filter}) { totalCount } }`)).toEqual({
    allFigures: { totalCount: 1 },
  });
});

it("has a value that its domain refuses for the client's mistake", async () => {
  const { errors } = await ask(
    app,
    "{ allBaskets(filter: { fruits: { equalTo: 10 } }) { totalCount } }",
  );
  expect(errors).toMatchObject([
    {
      message: 'value for domain site.few violates check constraint "few_check"',
      extensions: { code: "BAD_USER_INPUT" },
    },
  ]);
});

it("logs a tag that names no fitting function, and ignores it", () => {
  const needs = "it needs a schema.function without arguments that returns rows of the table";
  const messages = app.logged.map((error) => (error as Error).message);
  expect(messages).toEqual(
    expect.arrayContaining([
      `@asOf of part is ignored: ${needs}, not "site.nope".`,
      `@asOf of mark is ignored: ${needs}, not "dex_private.trades_as_of".`,
    ]),
  );
});
