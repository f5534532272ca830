// What a site adds to the schema by its own means: shown in GraphQL beside ours, and not in the way of
// an upgrade unseen.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "../../db/connect.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { buildSchema } from "../../graphql/build-schema.ts";
import { GRAPHQL_LIMITS } from "../../graphql/limits/limits.ts";
import { makePreset } from "../../graphql/preset.ts";
import { makeTestApp } from "../app.ts";
import { makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { aTrade, registerMarkets, WETH, write } from "../factories.ts";
import { ask, dataOf } from "../graphql.ts";
import { commitLater } from "../later-migration.ts";
import { copyRepository, type RepositoryCopy } from "../repository-copy.ts";
import { runFile, startService, type Ended } from "../service.ts";

let copy: RepositoryCopy;
let database: TestDatabase;
/** The site's own login. */
let site: Client;
const login = `site_${process.pid}`;

beforeAll(async () => {
  copy = await copyRepository();
});
afterAll(() => copy.remove());
beforeEach(async () => {
  database = await makeDatabase();
  await makeRoles(database.url);
  await registerMarkets(database.writer);
  await write(database.writer, { trades: [aTrade({ id: 1, hour: 23 })], head: 24 });
  await using admin = await openClient(database.url);
  // As db/additions.md has it.
  await admin.query(`
    create role ${login} login password 'site';
    grant connect on database ${new URL(database.url).pathname.slice(1)} to ${login};
    create schema site authorization ${login};
    grant usage on schema public to ${login};
    grant select, references on all tables in schema public to ${login};
  `);
  const url = new URL(database.url);
  url.username = login;
  url.password = "site";
  site = await openClient(url.href);
  await site.query("grant usage on schema site to dex_reader");
});
afterEach(async () => {
  await site.end();
  const admin = await database.connect();
  await admin.query(`drop owned by ${login} cascade; drop role ${login}`);
  await database.drop();
  for (const name of await later()) await rm(join(copy.folder, "db/migrations/committed", name));
});

const NOTE = `
  create table site.note (
    id integer primary key,
    token text not null references public.dex_token (address),
    body text not null
  );
  create index note_token_idx on site.note (token);
  comment on table site.note is 'What the site has to say of a token.';
  comment on column site.note.body is 'The words.';
  grant select on site.note to dex_reader;
`;
const RATED_PRICE = `
  create view site.rated_price as
  select price.pair, price.last, 5 as stars
  from public.dex_price as price;
  comment on view site.rated_price is
    E'@primaryKey pair\\n@foreignKey (pair) references public.dex_price (pair)|@fieldName dexPrice|@foreignFieldName rating\\nThe site''s rating of a price.';
  grant select on site.rated_price to dex_reader;
`;

it("shows what is exposed with its comments, linked to ours both ways, and nothing else", async () => {
  await site.query(NOTE + RATED_PRICE);
  await site.query("insert into site.note values (1, $1, 'wrapped')", [WETH]);
  const query = `{
    allNotes { totalCount nodes { body dexTokenByToken { symbol notesByToken { totalCount } } } }
    dexPrice(pair: "WETH/DAI") { rating { stars last dexPrice { last } } }
    __type(name: "Note") { description }
  }`;

  await using without = await makeTestApp(database.reader);
  expect((await ask(without, "{ allNotes { totalCount } }")).errors).toHaveLength(1);

  await using app = await makeTestApp(database.reader, { exposedSchemas: ["site"] });
  const data = await dataOf<Record<string, unknown>>(app, query);
  const { errors } = await ask(app, "{ allNotes(first: 1001) { totalCount nodes { id } } }");

  expect(data).toEqual({
    allNotes: {
      totalCount: 1,
      nodes: [
        { body: "wrapped", dexTokenByToken: { symbol: "WETH", notesByToken: { totalCount: 1 } } },
      ],
    },
    dexPrice: {
      rating: {
        stars: 5,
        last: "100.000000000000000000",
        dexPrice: { last: "100.000000000000000000" },
      },
    },
    __type: { description: "What the site has to say of a token." },
  });
  expect(errors?.[0]?.extensions?.["code"]).toBe("PAGE_TOO_LARGE");
});

/** Of what is refused as soon as the schema is built. */
const CONFLICTS: [name: string, sql: string, reason: RegExp][] = [
  [
    "a table of the name of ours",
    "create table site.dex_token (id integer primary key); grant select on site.dex_token to dex_reader",
    /^EXPOSED_SCHEMAS: site\.dex_token has the name of public\.dex_token\. Rename your object/,
  ],
  [
    "a relation of the name of ours",
    `${NOTE} comment on constraint note_token_fkey on site.note is '@foreignFieldName symbol'`,
    /^EXPOSED_SCHEMAS: .*the same key 'symbol'.*Rename your object/,
  ],
  [
    "a field computed of our row that has the name of a column",
    `create function site.dex_token_symbol(token public.dex_token) returns text
     stable language sql as $$ select 'mine' $$;
     comment on function site.dex_token_symbol(public.dex_token) is '@behavior +typeField -queryField'`,
    /^EXPOSED_SCHEMAS: .*the same key 'symbol'.*Rename your object/,
  ],
  [
    "a column of the name of what a filter has itself",
    `create table site.note (id integer primary key, "and" text); grant select on site.note to dex_reader`,
    /^EXPOSED_SCHEMAS: site\.note has a column of the name of the filter's own "and"\. Rename your object/,
  ],
  [
    "a key of a column that there is not",
    `${NOTE} comment on table site.note is '@primaryKey zzz'`,
    /^EXPOSED_SCHEMAS: .*@primaryKey.* on site\.note referenced non-existent attribute 'zzz'.*\.$/,
  ],
  [
    "a link to a table that there is not",
    `${NOTE} comment on table site.note is '@foreignKey (token) references site.nope (id)'`,
    /^EXPOSED_SCHEMAS: Invalid @foreignKey on 'site\.note'; referenced non-existent table/,
  ],
];

it.each(CONFLICTS)("cannot show %s, and says why", async (_name, sql, reason) => {
  await site.query(sql);
  const built = buildSchema({
    presetOf: (exposedSchemas) =>
      makePreset({
        ...{ pool: database.reader, exposedSchemas },
        ...{ log: () => undefined, limits: GRAPHQL_LIMITS },
      }),
    ...{ exposedSchemas: ["site"], db: database.reader },
  });
  await expect(built).rejects.toThrow(reason);
});

describe("refuses to start, and says why", () => {
  const startOn = (exposed: string): Promise<Ended> =>
    startService({ DATABASE_URL: database.url, EXPOSED_SCHEMAS: exposed }).ended;

  const [[conflict, conflicting, why]] = CONFLICTS as [(typeof CONFLICTS)[number]];
  it.each([
    ["a schema that there is not", "", "nowhere", /has no schema nowhere\.$/],
    [
      "one that dex_reader may not see",
      "revoke usage on schema site from dex_reader",
      "site",
      /dex_reader may not see the schema site: `grant usage on schema site to dex_reader`\.$/,
    ],
    [conflict, conflicting, "site", why],
  ])("for %s", async (_name, sql, exposed, reason) => {
    await site.query(sql);
    const { code, stderr } = await startOn(exposed);
    expect(stderr.trim()).toMatch(reason);
    expect(code).toBe(1);
  });

  it.each(["dex_private", "ingest"])("for one of the service's own, %s", async (own) => {
    const { code, stderr } = await startOn(`site,${own}`);
    expect(stderr.trim()).toBe(
      `EXPOSED_SCHEMAS: "site,${own}" is not names of your own schemas, separated by commas.`,
    );
    expect(code).toBe(1);
  });
});

const later = async (): Promise<string[]> =>
  (await readdir(join(copy.folder, "db/migrations/committed"))).filter((name) =>
    name.includes("-later"),
  );

const release = (body: string): Promise<string> =>
  commitLater(join(copy.folder, "db/migrations"), body);

const upgrade = (): Promise<Ended> =>
  runFile("db/commands/migrate.ts", { DATABASE_OWNER_URL: database.url }, ["migrate"], copy.folder)
    .ended;

const WIDER_PRICE = `
  create or replace view dex_price as
  select dex_price_before.*, 1 as added
  from (%) as dex_price_before;
`;

/** The change of a view that keeps its columns and adds one. */
async function widerPrice(): Promise<string> {
  const { rows } = await database.owner.query<{ definition: string }>(
    "select pg_get_viewdef('dex_price'::regclass) as definition",
  );
  return WIDER_PRICE.replace("%", () => rows[0]!.definition.replace(/;\s*$/, ""));
}

describe("an upgrade of ours under additions of theirs", () => {
  it("works where it only adds, and they stay as they were", async () => {
    await site.query(RATED_PRICE);
    await database.owner.query(`
      alter table dex_trade add column desk text;
      comment on column dex_trade.desk is 'Where it was made, as the site knows.';
    `);
    await release("alter table dex_trade add column fee numeric;");
    await release(await widerPrice());

    expect(await upgrade()).toMatchObject({ code: 0, stderr: "" });

    await write(database.writer, { trades: [aTrade({ id: 2, hour: 25 })] });
    await using app = await makeTestApp(database.reader, { exposedSchemas: ["site"] });
    const data = await dataOf<Record<string, unknown>>(
      app,
      '{ allDexTrades(orderBy: ID_ASC) { nodes { id desk fee } } dexPrice(pair: "WETH/DAI") { added rating { stars } } }',
    );
    expect(data).toEqual({
      allDexTrades: {
        nodes: [
          { id: "1", desk: null, fee: null },
          { id: "2", desk: null, fee: null },
        ],
      },
      dexPrice: { added: 1, rating: { stars: 5 } },
    });
  });

  it("is refused, with all that would come before it, where a view of theirs stands in the way", async () => {
    await site.query(RATED_PRICE);
    await release("alter table dex_trade add column fee numeric;");
    const blocked = await release("drop view dex_price;");

    const { code, stderr } = await upgrade();

    expect(stderr).toBe(
      `${blocked} cannot be applied, and nothing was changed: cannot drop view dex_price because ` +
        "other objects depend on it (view site.rated_price depends on view dex_price)\n",
    );
    expect(code).toBe(1);
    const { rows } = await database.owner.query(
      "select attname from pg_attribute where attrelid = 'dex_trade'::regclass and attname = 'fee'",
    );
    expect(rows).toEqual([]);

    await site.query("drop view site.rated_price");
    expect(await upgrade()).toMatchObject({ code: 0, stderr: "" });
  });

  it("is refused where a column of theirs has the name of a new one of ours", async () => {
    await database.owner.query("alter table dex_trade add column fee text");
    const blocked = await release("alter table dex_trade add column fee numeric;");

    const { code, stderr } = await upgrade();

    expect(stderr).toBe(
      `${blocked} cannot be applied, and nothing was changed: column "fee" of relation "dex_trade" already exists\n`,
    );
    expect(code).toBe(1);
  });

  it("is applied, rehearsed or not, where a lock keeps it waiting", async () => {
    await release("alter table dex_trade add column fee numeric;");
    const reader = await openClient(database.url, { role: "dex_reader" });
    await reader.query("begin; select from dex_trade");
    const upgrading = upgrade();
    const waiting =
      "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'";
    // Others are shown what waits for what by a superuser alone.
    await using admin = await openClient(database.url);
    const isWaiting = async (): Promise<boolean> =>
      (await admin.query<{ n: number }>(waiting)).rows[0]!.n > 0;
    // The rehearsal waits, gives up, and the migration itself waits.
    while (!(await isWaiting())) continue;
    while (await isWaiting()) continue;
    while (!(await isWaiting())) continue;
    await reader.end();

    expect(await upgrading).toMatchObject({ code: 0, stderr: "" });
  });
});
