// Tables of a site's own: pages of rows without a total key, and cursors of any value.
import { makeTestApp, type TestApp } from "../../app.ts";
import { makeDatabase, openClient, type TestDatabase } from "../../database.ts";
import { dataOf, errorsOf } from "../../graphql.ts";

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
  grant usage on schema site to dex_reader;
  grant select on all tables in schema site to dex_reader;
`;

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await makeDatabase();
  await using admin = await openClient(database.url);
  await admin.query(SITE);
  app = await makeTestApp(database.reader, { exposedSchemas: ["site"] });
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

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
