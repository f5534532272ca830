// npm run db:lint rejects a migration after which GraphQL cannot be served, or shows its clients less than before.
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { lintMigration, type LintFinding } from "../../db/lint/lint-migrations.ts";
import { readReaders, type Readers } from "../../db/lint/readers.ts";
import { LintShadow } from "../../db/lint/lint-shadow.ts";
import { lostBetween, sdlReader } from "../../graphql/schema/sdl.ts";
import { clusterUrl } from "../database.ts";

const COMMITTED = fileURLToPath(new URL("../../db/migrations/committed", import.meta.url));

let shadow: LintShadow;
let readers: Readers;

beforeAll(async () => {
  readers = await readReaders();
  shadow = new LintShadow({ shadow: clusterUrl(), root: clusterUrl() }, sdlReader(["site"]));
  await shadow.reach((await readdir(COMMITTED)).sort());
});
afterAll(() => shadow.drop());
// PostGraphile warns of tags that it takes for wrong.
beforeEach(() => {
  jest.spyOn(console, "warn").mockImplementation();
  jest.spyOn(console, "error").mockImplementation();
});
afterEach(() => jest.restoreAllMocks());

const lint = async (sql: string): Promise<LintFinding[]> => {
  const text = `set local lock_timeout = '200ms';\n${sql}`;
  const files = [{ file: "1.sql", text }];
  return (await lintMigration(files, { shadow, readers, lostBetween })).findings;
};

/** A view of one column, with these tags. */
const view = (name: string, tags = ""): string => `
  create view ${name} as select token.address from dex_token as token;
  comment on view ${name} is E'${tags}A view.';
  comment on column ${name}.address is 'An address.';
  grant select on ${name} to dex_reader;`;

const ofTable = (name: string, result: string): string => `
  create function ${name} returns ${result} language sql stable as 'select 1';
  comment on function ${name} is 'One.';
  grant execute on function ${name} to dex_reader;`;

it.each([
  [
    "a key that names no column",
    view("dex_x", "@primaryKey adress\\n"),
    "'@primaryKey' smart tag on public.dex_x referenced non-existent attribute 'adress'; known attributes: address",
  ],
  [
    "a relation to no table",
    view("dex_x", "@primaryKey address\\n@foreignKey (address) references dex_tokn (address)\\n"),
    "Invalid @foreignKey on 'public.dex_x'; referenced non-existent table/view 'public.dex_tokn'",
  ],
  ["a view with the type of a table", view("dex_trades"), "the same type 'DexTradeCondition'"],
  [
    "a function with the name of a column",
    ofTable("dex_trade_price(dex_trade)", "numeric"),
    "'price'",
  ],
  ["a function with the name of a list", ofTable("all_dex_trades()", "integer"), "'allDexTrades'"],
  [
    "a table of an exposed schema with the type of ours",
    "create schema site; grant usage on schema site to dex_reader; create table site.dex_trade (id integer primary key); grant select on site.dex_trade to dex_reader;",
    "a second codec named 'dexTrade'",
  ],
])("rejects %s, after which there is no schema", async (_, sql, reason) => {
  const found = await lint(sql);
  expect(found.map(({ rule }) => rule)).toEqual(["graphql"]);
  expect(found[0]!.what).toMatch(/^the GraphQL schema cannot be made: /);
  expect(found[0]!.what).toContain(reason);
});

it.each<[sql: string, what: string]>([
  [
    "comment on column dex_trade.price is E'@name cost\\nIts price.'",
    "DexTrade.price was removed; and ",
  ],
  [
    "comment on column dex_token.name is E'@behavior +select -orderBy -filterBy\\nIts name.'",
    " was removed",
  ],
  ...["@simpleCollections only", "@enum", "@listSuffix omit", "@interface mode:single"].map(
    (tag): [string, string] => [`comment on table dex_token is E'${tag}\\nA token.'`, ""],
  ),
])("rejects %s, by which clients lose fields", async (sql, what) => {
  const found = await lint(`${sql};`);
  expect(found.map(({ rule }) => rule)).toEqual(["graphql"]);
  expect(found[0]!.what).toMatch(
    /^(GraphQL clients lose something|the GraphQL schema cannot be made): /,
  );
  expect(found[0]!.what).toContain(what);
});

it("accepts what only adds, and names what is taken away once", async () => {
  expect(await lint(view("dex_place", "@primaryKey address\\n"))).toEqual([]);
  expect(
    await lint("comment on column dex_trade.price is E'@deprecated Use another.\\nIts price.';"),
  ).toEqual([]);
  // A column is neither a record nor a list.
  expect(
    await lint("comment on column dex_token.name is E'@behavior +single -list\\nIts name.';"),
  ).toEqual([]);
  const dropped = `-- db:lint allow published: nobody reads it any more.
    drop function dex_latest_head();`;
  expect(await lint(dropped)).toEqual([]);
});

it("sees nothing of a migration that it has linted before", async () => {
  expect(await lint(view("dex_place"))).toEqual([]);
  expect(await lint(view("dex_place"))).toEqual([]);
});
