// Lists of a library answer the same with the plugin as without it, and the plugin makes their entries.
import { randomBytes } from "node:crypto";
import { Client, Pool } from "pg";
import { makeSchema } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafast } from "postgraphile/grafast";
import { makeV4Preset } from "postgraphile/presets/v4";
import { CompiledListsPlugin } from "../index.ts";

/** A server whose superuser makes databases. */
const CLUSTER = process.env["TEST_CLUSTER_URL"] ?? "";

const SCHEMA = String.raw`
  create schema library;
  create table library.author (id integer primary key, name text not null, born date);
  create table library.book (
    id bigint primary key,
    author_id integer references library.author,
    title text,
    price numeric not null,
    tags text[],
    about jsonb,
    sold boolean not null default false
  );
  create index on library.book (author_id);
  insert into library.author values (1, 'Ada "the first"', '1815-12-10'), (2, E'Zoë 🜁 \\ \t', null);
  insert into library.book values
    (1, 1, 'Notes', 12.50, '{a,"b c"}', '{"pages": [1, null]}', true),
    (2, 1, null, 1e-18, null, null, false),
    (3, null, E'line\nfeed', 1e20, '{}', '"text"', false),
    (9007199254740993, 2, '', 0, null, '1', false);
  create view library.loan as select 1 as id, null::text as reader;
  comment on view library.loan is '@primaryKey id';
  comment on column library.loan.reader is '@notNull';
`;

const name = `library_${randomBytes(6).toString("hex")}`;
let admin: Client;
let pool: Pool;
/** The answer, and how many lists of its plan are compiled. */
type Ask = (source: string) => Promise<[string, number]>;
let askStock: Ask;
let askCompiled: Ask;

async function makeAsk(plugins: GraphileConfig.Plugin[]): Promise<Ask> {
  let layers: readonly (object | null)[] = [];
  const LayersPlugin: GraphileConfig.Plugin = {
    name: "LayersPlugin",
    grafast: {
      middleware: {
        establishOperationPlan(next) {
          const plan = next();
          ({ layerPlans: layers } = (plan as unknown as Tracked).stepTracker);
          return plan;
        },
      },
    },
  };
  const { schema, resolvedPreset } = await makeSchema({
    extends: [makeV4Preset({ simpleCollections: "both" })],
    plugins: [LayersPlugin, ...plugins],
    pgServices: [makePgService({ pool, schemas: ["library"] })],
  });
  return async (source) => {
    layers = [];
    const given = { schema, source, resolvedPreset, requestContext: {}, contextValue: {} };
    const answer = JSON.stringify(await grafast(given));
    return [answer, layers.filter((one) => one && Object.hasOwn(one, "newBucket")).length];
  };
}

interface Tracked {
  stepTracker: { layerPlans: readonly (object | null)[] };
}

beforeAll(async () => {
  admin = new Client({ connectionString: CLUSTER });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(CLUSTER);
  url.pathname = `/${name}`;
  pool = new Pool({ connectionString: url.href });
  await pool.query(SCHEMA);
  askStock = await makeAsk([]);
  askCompiled = await makeAsk([CompiledListsPlugin]);
});
afterAll(async () => {
  await pool.end();
  await admin.query(`drop database ${name}`);
  await admin.end();
});

it.each([
  ["nodes", 1, "{ allBooks { nodes { id title price tags about sold __typename } } }"],
  ["a plain list", 1, "{ allBooksList { title again: title } }"],
  ["fragments", 1, "{ allBooks { nodes { ...b ... { id } } } } fragment b on Book { price id }"],
  ["no entries", 1, '{ allBooks(condition: { title: "none" }) { nodes { id } } }'],
  ["no row", 0, '{ bookById(id: "4") { title } }'],
  [
    "edges with cursors, and what is beside them",
    1,
    "{ allBooks(first: 3) { totalCount pageInfo { endCursor hasNextPage } edges { cursor node { id } } } }",
  ],
  ["cursors alone", 1, "{ allBooks(orderBy: PRICE_DESC, first: 2) { edges { cursor } } }"],
  [
    "a record of each row, or none",
    1,
    "{ allBooks { nodes { id author: authorByAuthorId { name born } } } }",
  ],
  [
    "lists in a list",
    1,
    "{ allAuthors { nodes { name booksByAuthorId { nodes { id title } } } } }",
  ],
  ["several fields", 2, "{ a: allBooks { nodes { id } } b: allAuthors { nodes { id } } }"],
  ["rows from the end", 1, "{ allBooks(last: 2) { nodes { id } } }"],
  ["a column that is null against its declaration", 1, "{ allLoans { nodes { id reader } } }"],
  ["a name that is special in JavaScript", 0, "{ allBooks { nodes { __proto__: id } } }"],
  ["introspection", 0, "{ __schema { queryType { fields { name } } } }"],
])("answers %s the same, with compiled lists: %i", async (_what, compiled, source) => {
  const [expected] = await askStock(source);
  const [answer, lists] = await askCompiled(source);
  expect(answer).toBe(expected);
  expect(lists).toBe(compiled);
});
