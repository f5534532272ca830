// The service only reads: every way to write that we can think of, through both interfaces and by SQL
// on the service's own connections, gets nowhere.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  buildClientSchema,
  getIntrospectionQuery,
  isCompositeType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLSchema,
  type IntrospectionQuery,
} from "graphql";
import { makePool, type Pool } from "../../db/connect.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { exchange, graphql } from "../exchange-http.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { dataOf } from "../graphql.ts";
import { useClient, useDatabase } from "../served.ts";
import { recordStatements, type Statement } from "../statements.ts";

const database = useDatabase();
const admin = useClient(database);
/** Logs in as db:roles leaves the service's login: it can become dex_reader, and nothing else. */
let pool: Pool;
let app: TestApp;
const login = `dex_test_login_${randomBytes(6).toString("hex")}`;
/** Every statement that the service has sent. */
const sent: Statement[] = [];

beforeAll(async () => {
  await admin.query(`create role ${login} login password '${login}'`);
  await makeRoles(database.url, login);
  await registerMarkets(database.writer);
  await write(database.writer, { trades: [aTrade({ hour: 1 })], head: 24 });

  const url = new URL(database.url);
  url.username = login;
  url.password = login;
  pool = makePool(url.href, { role: "dex_reader", poolSize: 4 });
  recordStatements(pool, sent);
  app = await makeTestApp(pool);
  database.beforeDrop(async () => {
    await app.close();
    await pool.end();
    await admin.query(`drop owned by ${login}`);
    await admin.query(`drop role ${login}`);
  });
});

/** All rows of the database and all that is defined in it: equal before and after, nothing was written. */
async function everything(): Promise<unknown> {
  const { rows: tables } = await admin.query<{ name: string }>(`
    select oid::regclass::text as name
    from pg_class
    where relkind in ('r', 'm')
      and relnamespace in (
        select oid
        from pg_namespace
        where nspname in ('public', 'dex_private', 'ingest', 'graphile_migrate')
      )
    order by 1
  `);
  const found: Record<string, unknown> = {};
  const keep = async (name: string, source: string): Promise<void> => {
    const { rows } = await admin.query(
      `select count(*), md5(string_agg(row_text, '|' order by row_text))
      from (select source::text as row_text from (${source}) as source) as texts`,
    );
    found[name] = rows[0];
  };
  for (const { name } of tables) await keep(name, `select * from ${name}`);
  const definitions: [string, string][] = [
    ["relations", "select oid, relname, relkind, relowner, relacl from pg_class"],
    ["columns", "select attrelid, attname, atttypid, attacl from pg_attribute"],
    ["functions", "select oid, proname, prosrc, proowner, proacl from pg_proc"],
    ["schemas", "select nspname, nspowner, nspacl from pg_namespace"],
    ["triggers", "select tgrelid, tgname, tgenabled from pg_trigger"],
    ["comments", "select objoid, objsubid, description from pg_description"],
    ["sequences", "select schemaname, sequencename, last_value from pg_sequences"],
    ["large objects", "select oid from pg_largeobject_metadata"],
    ["extensions", "select extname, extversion from pg_extension"],
    ["defaults of grants", "select * from pg_default_acl"],
    [
      "roles",
      `select rolname, rolsuper, rolcreaterole, rolcreatedb, rolcanlogin, rolconfig
      from pg_roles
      where rolname in ('dex_owner', 'dex_writer', 'dex_reader', '${login}')`,
    ],
    [
      "memberships",
      `select roleid::regrole, member::regrole
      from pg_auth_members
      where roleid::regrole::text like 'dex\\_%' and member::regrole::text like 'dex\\_%'`,
    ],
  ];
  for (const [name, source] of definitions) await keep(name, source);
  return found;
}

async function writesNothing(attack: () => Promise<void>): Promise<void> {
  const before = await everything();
  await attack();
  expect(await everything()).toEqual(before);
}

describe("by any SQL on a connection of the service", () => {
  const TRADE_ROW =
    "(id, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx)";

  // What reads what no reader should, or reaches out of the database, stands here too.
  const ATTACKS = [
    "insert into dex_token values ('0x0000000000000000000000000000000000000001', 'X', 18, null)",
    `insert into dex_trade ${TRADE_ROW} select id + 1, 1, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, 99 from dex_trade`,
    "insert into dex_block select number + 1, hash, parent, time, first_trade, has_rows from dex_block",
    "update dex_block set number = number + 1",
    "update dex_token set symbol = 'X'",
    "delete from dex_trade",
    "truncate dex_trade cascade",
    "merge into dex_block using (values (1)) as v (one) on true when matched then delete",
    "with gone as (delete from dex_trade returning 1) select count(*) from gone",
    "explain analyze delete from dex_trade",
    "prepare attack as delete from dex_trade; execute attack",
    "do $$ begin delete from dex_trade; end $$",
    "begin; declare attack cursor for select * from dex_trade for update",
    "select * from dex_trade for update",
    "select * from dex_trade for share",
    "begin; lock table dex_trade in access exclusive mode",
    "update dex_private.write_state set epoch = epoch + 1",
    "insert into dex_private.write_state select * from dex_private.write_state",
    "select * from dex_private.write_state for update",
    "delete from dex_private.period_figure",
    "delete from graphile_migrate.migrations",
    "begin; lock table ingest.staged_block in share update exclusive mode",
    "insert into ingest.staged_block values (1, now())",
    "select ingest.write_block(86401, '2026-01-02T00:00:01Z')",
    "select ingest.write_blocks()",
    "select ingest.take_turn()",
    "select ingest.take_back(0)",
    "select ingest.register_token('0x0000000000000000000000000000000000000001', 'X', 18)",
    "select ingest.register_pair(base_gem, quote_gem, false) from dex_pair",
    "select ingest.rebuild()",
    "select dex_private.keep_figures(1)",
    "select dex_private.derive_market_figures('{}')",
    "create table attack ()",
    "create temporary table attack ()",
    "select 1 as one into attack",
    "create table attack as select 1 as one",
    "create view attack as select 1 as one",
    "create materialized view attack as select 1 as one",
    "create schema attack",
    "create sequence attack",
    "create type attack as (one integer)",
    "create function attack() returns integer language sql as 'select 1'",
    "create function pg_temp.attack() returns integer language sql as 'select 1'",
    "create index on dex_trade (price)",
    "create trigger attack before update on dex_trade for each row execute function suppress_redundant_updates_trigger()",
    "create rule attack as on select to dex_trade do instead nothing",
    "create extension dblink",
    "create extension file_fdw",
    "create foreign data wrapper attack",
    "create publication attack",
    "create event trigger attack on ddl_command_start execute function suppress_redundant_updates_trigger()",
    "create language attack handler plpgsql_call_handler",
    "create role attack",
    "create database attack",
    "create tablespace attack location '/tmp'",
    "alter table dex_trade add column attack integer",
    "alter table dex_trade disable trigger all",
    "alter table dex_trade owner to dex_reader",
    "alter view dex_market rename to attack",
    "alter function dex_latest_head() volatile",
    "alter schema public rename to attack",
    "alter role dex_reader superuser",
    `alter role ${login} superuser`,
    "alter role dex_owner login",
    "alter role dex_owner set search_path = ''",
    "alter default privileges for role dex_owner grant all on tables to public",
    "alter database template1 set default_transaction_read_only = off",
    "alter system set default_transaction_read_only = off",
    "drop table dex_trade cascade",
    "drop view dex_market",
    "drop function dex_latest_head()",
    "drop schema dex_private cascade",
    "drop owned by dex_owner",
    "drop role dex_writer",
    "comment on table dex_trade is 'attack'",
    "grant insert on dex_trade to dex_reader",
    "grant dex_owner to dex_reader",
    "revoke select on dex_trade from dex_writer",
    "reassign owned by dex_owner to dex_reader",
    "reindex table dex_trade",
    "cluster dex_trade using dex_trade_pkey",
    "copy dex_token from stdin",
    "copy dex_token from '/etc/passwd'",
    "copy dex_token from program 'id'",
    "copy dex_token to '/tmp/attack'",
    "copy dex_token to program 'cat'",
    "set role dex_owner",
    "set role dex_writer",
    "set local role dex_owner",
    "set session authorization postgres",
    "select set_config('role', 'dex_owner', false)",
    "select set_config('session_replication_role', 'replica', false)",
    "set session_replication_role = replica",
    "load 'auto_explain'",
    "select nextval('dex_pair_id_seq')",
    "select setval('dex_pair_id_seq', 1)",
    "select lo_create(0)",
    "select lo_creat(-1)",
    "select lo_from_bytea(0, 'attack')",
    "select lo_import('/etc/passwd')",
    "select lo_export(1, '/tmp/attack')",
    "select pg_read_file('/etc/passwd')",
    "select pg_read_binary_file('/etc/passwd')",
    "select pg_ls_dir('/')",
    "select pg_stat_file('/etc/passwd')",
    "select * from pg_authid",
    "select * from pg_shadow",
    "select pg_terminate_backend(pid) from pg_stat_activity where usename <> session_user and pid <> pg_backend_pid()",
    "select pg_cancel_backend(pid) from pg_stat_activity where usename <> session_user and pid <> pg_backend_pid()",
    "select pg_reload_conf()",
    "select pg_rotate_logfile()",
    "select pg_switch_wal()",
    "select pg_create_restore_point('attack')",
    "select pg_create_physical_replication_slot('attack')",
    "select pg_promote()",
    "select pg_stat_reset()",
    "select pg_import_system_collations('public')",
  ];

  // A session can leave its read-only mode, and the role it began with, but only for that of its
  // login. What stands against both is that neither dex_reader nor the login is granted any more.
  const WAYS_OUT = [
    [],
    ["set default_transaction_read_only = off"],
    ["set session characteristics as transaction read write"],
    ["select set_config('default_transaction_read_only', 'off', false)"],
    ["reset role", "reset default_transaction_read_only"],
    ["reset all"],
    ["discard all"],
    ["set role none", "set default_transaction_read_only = off"],
    ["set session authorization default", "set default_transaction_read_only = off"],
    ["begin read write"],
    ["set role none", "begin read write"],
  ];

  const READ_ONLY = "25006";
  // No right; not in a transaction, where a right would not help either; and what PostgreSQL only
  // warns of: nothing was granted, nothing was revoked.
  const REFUSALS = ["42501", "25001", "01007", "01006"];

  it.each(WAYS_OUT.map((way) => [way.join("; ") || "as it is", way] as const))(
    "nothing is written: %s",
    async (name, wayOut) => {
      const refusals = /as it is|reset|discard/.test(name) ? [...REFUSALS, READ_ONLY] : REFUSALS;
      const notRefused: [string, string][] = [];
      await writesNothing(async () => {
        const client = await pool.connect();
        let warning: string | undefined;
        client.on("notice", ({ code }) => (warning = code));
        try {
          for (const attack of ATTACKS) {
            for (const step of wayOut) await client.query(step);
            warning = undefined;
            const outcome = await client.query(attack).then(
              () => warning ?? "was carried out",
              (error: unknown) => (error as { code?: string }).code ?? String(error),
            );
            await client.query("rollback");
            if (!refusals.includes(outcome)) notRefused.push([attack, outcome]);
          }
        } finally {
          client.release(true);
        }
      });
      expect(notRefused).toEqual([]);
    },
  );

  it("is dex_reader in a read-only session, and is again after a reset", async () => {
    const client = await pool.connect();
    const state = async (): Promise<unknown> =>
      (
        await client.query(
          "select current_user, current_setting('transaction_read_only') as read_only",
        )
      ).rows[0];
    const asReader = { current_user: "dex_reader", read_only: "on" };
    try {
      expect(await state()).toEqual(asReader);
      await client.query("set role none");
      await client.query("set default_transaction_read_only = off");
      await client.query("reset role");
      await client.query("reset default_transaction_read_only");
      expect(await state()).toEqual(asReader);
    } finally {
      client.release(true);
    }
  });

  it("costs a query no further round trip", async () => {
    await pool.query("select 1");
    sent.length = 0;

    await dataOf(app, "{ allDexTokens { nodes { symbol } } }");

    expect(
      sent.filter(({ text }) => /\b(role|begin|commit|set_config|read_only)\b/i.test(text)),
    ).toEqual([]);
    expect(sent.length).toBeGreaterThan(0);
  });
});

/** What ends a text, a name or a number in SQL, and then does harm. */
const MARK = "dex_attack";
const EVERY_END = `1; '; "; \\'; $$; */ create table ${MARK} (); delete from dex_trade; --`;
const PAYLOADS = [
  EVERY_END,
  `'; create table ${MARK} (); --`,
  `"; create table ${MARK} (); --`,
  `\\'); delete from dex_trade; -- ${MARK}`,
  `1; delete from dex_trade; -- ${MARK}`,
  `$$; drop table dex_trade; $$ ${MARK}`,
  `x' or '${MARK}' = '${MARK}`,
  `\`\${${MARK}}\` $1 %s :name ?`,
  `${MARK}\u0000`,
  `${MARK}\ud800`,
];

/** Makes an attack through an interface, and checks that nothing of it got anywhere. */
async function reachesNoSql(attack: () => Promise<void>): Promise<void> {
  sent.length = 0;
  app.logged.length = 0;
  await writesNothing(attack);
  expect(sent.filter(({ text }) => text.includes(MARK))).toEqual([]);
  expect(app.logged).toEqual([]);
}

async function schemaOf(): Promise<GraphQLSchema> {
  return buildClientSchema(await dataOf<IntrospectionQuery>(app, getIntrospectionQuery()));
}

describe("through GraphQL", () => {
  it.each([
    'mutation { createDexTrade(input: { dexTrade: { id: "1" } }) { clientMutationId } }',
    'mutation { deleteDexTrade(input: { id: "1" }) { clientMutationId } }',
    "mutation { takeBack(input: { block: 0 }) { clientMutationId } }",
    "mutation { __typename }",
    "subscription { allDexTrades { totalCount } }",
    "{ query { allDexTrades { totalCount } } }",
  ])("%s is refused", async (query) => {
    await reachesNoSql(async () => {
      const answer = await exchange(app.url, graphql({ query }));
      const { data, errors } = JSON.parse(answer.body.toString()) as {
        data?: unknown;
        errors: unknown[];
      };
      expect(data ?? null).toBeNull();
      expect(errors.length).toBeGreaterThan(0);
    });
  });

  it("there is no mutation", async () => {
    const schema = await schemaOf();
    expect(schema.getMutationType() ?? null).toBeNull();
  });

  it("no function that a query can call may write", async () => {
    const { rows } = await admin.query(`
      select function.oid::regprocedure::text as function
      from pg_proc as function
      where (
          function.pronamespace = 'public'::regnamespace
          or (
            function.pronamespace in ('dex_private'::regnamespace, 'ingest'::regnamespace)
            and has_function_privilege('dex_reader', function.oid, 'execute')
          )
        )
        and (function.provolatile = 'v' or function.prosecdef)
    `);
    expect(rows).toEqual([]);
  });

  it("no value of an argument gets into the SQL", async () => {
    const fields = Object.values((await schemaOf()).getQueryType()!.getFields());
    let asked = 0;

    await reachesNoSql(async () => {
      for (const field of fields) {
        for (const argument of field.args) {
          const query = documentFor(field, argument);
          for (const value of filledWith(argument.type, EVERY_END)) {
            const answer = await exchange(app.url, graphql({ query, variables: { value } }));
            expect([query, value, answer.status]).toEqual([query, value, 200]);
            expect(answer.body.toString()).not.toContain("INTERNAL_SERVER_ERROR");
            asked += 1;
          }
        }
      }
    });

    expect(asked).toBeGreaterThan(500);
  });

  it.each(PAYLOADS)("no text gets into the SQL: %j", async (payload) => {
    const query = `query ($text: String!, $filter: DexTradeFilter, $condition: DexTradeCondition) {
      dexMarket(pair: $text) { pair }
      allDexTrades(filter: $filter, condition: $condition) { totalCount nodes { id } }
    }`;
    const variables = {
      text: payload,
      filter: { market: { in: [payload] }, maker: { equalToInsensitive: payload } },
      condition: { taker: payload },
    };
    await reachesNoSql(async () => {
      const answer = await exchange(app.url, graphql({ query, variables }));
      expect(answer.status).toBe(payload.includes("\0") ? 400 : 200);
      expect(answer.body.toString()).not.toContain("INTERNAL_SERVER_ERROR");
    });
  });

  it.each([
    ["the document", { query: '{ dexMarket(pair: "a\\u0000") { pair } dexHead { block } }' }, 200],
    [
      "the variables",
      {
        query: "query ($f: DexTradeFilter) { allDexTrades(filter: $f) { totalCount } }",
        variables: { f: { or: [{ market: { in: ["a", "b\0"] } }] } },
      },
      400,
    ],
  ])("U+0000 in %s is refused before the database is asked", async (_, body, status) => {
    await reachesNoSql(async () => {
      const answer = await exchange(app.url, graphql(body));
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.body.toString())).toEqual({
        errors: [
          expect.objectContaining({
            message:
              "Text with the character U+0000 is not accepted: no text in the database can hold it.",
            extensions: expect.objectContaining({ code: "BAD_USER_INPUT" }),
          }),
        ],
      });
    });
  });
});

/** Asks this field with one of its arguments as `$value`, and the others it must have. */
function documentFor(field: GraphQLField<unknown, unknown>, argument: GraphQLArgument): string {
  const others = field.args
    .filter((other) => other !== argument && isNonNullType(other.type))
    .map((other) => `${other.name}: ${getNamedType(other.type).name.endsWith("Int") ? 1 : '"x"'}`);
  const args = [`${argument.name}: $value`, ...others].join(", ");
  const type = getNamedType(field.type);
  const counted = isObjectType(type) && "totalCount" in type.getFields();
  const selection = counted
    ? "{ totalCount nodes { __typename } }"
    : isCompositeType(type)
      ? "{ __typename }"
      : "";
  return `query ($value: ${String(argument.type)}) { ${field.name}(${args}) ${selection} }`;
}

const HOLD_THE_SAME_AGAIN = ["and", "or", "not"];

/** Every value of this type that has the payload in one place. */
function filledWith(type: GraphQLInputType, payload: string): unknown[] {
  if (isNonNullType(type)) return filledWith(type.ofType, payload);
  if (isListType(type)) {
    return filledWith(type.ofType, payload).map((value) => [value]);
  }
  if (!isInputObjectType(type)) return [payload];
  const fields = Object.values(type.getFields());
  return fields
    .filter(({ name }) => !HOLD_THE_SAME_AGAIN.includes(name))
    .flatMap((field) => filledWith(field.type, payload).map((value) => ({ [field.name]: value })));
}

describe("through REST", () => {
  const LISTS = ["/v1/markets", "/v1/pairs", "/v1/prices", "/v1/volumes", "/v2/summary"];
  const PAIRS = [...LISTS, "/v2/volumes", "/v2/trades"].map((path) => `${path}/weth/dai`);

  it("no method writes, by whatever name", async () => {
    const body = JSON.stringify({ base: "WETH", quote: "DAI", active: false });
    await reachesNoSql(async () => {
      for (const path of [...LISTS, ...PAIRS]) {
        for (const method of ["POST", "PUT", "PATCH", "DELETE", "PROPFIND", "MKCOL", "LOCK"]) {
          const { status } = await exchange(app.url, { method, path, body });
          expect([method, path, status]).toEqual([method, path, 405]);
          const headers = { "X-HTTP-Method-Override": method, "X-HTTP-Method": method };
          const overridden = await exchange(app.url, { path, headers });
          expect([method, path, overridden.status]).toEqual([method, path, 200]);
        }
      }
    });
  });

  it("no part of a path gets into the SQL", async () => {
    await reachesNoSql(async () => {
      for (const path of PAIRS) {
        for (const payload of PAYLOADS) {
          const hostile = encodeURIComponent(payload.toWellFormed());
          for (const attacked of [
            path.replace("weth", hostile),
            path.replace("dai", hostile),
            path.replace("weth", hostile).replace("dai", hostile),
          ]) {
            const answer = await exchange(app.url, { path: attacked });
            expect([attacked, answer.status]).toEqual([attacked, 400]);
            expect(answer.body.toString()).toContain('"Unknown pair"');
          }
        }
      }
    });
  });

  it("no parameter gets into the SQL", async () => {
    await reachesNoSql(async () => {
      for (const payload of PAYLOADS.map((text) => encodeURIComponent(text.toWellFormed()))) {
        for (const name of ["limit", "fromId", "limit[]"]) {
          const path = `/v2/trades/weth/dai?${name}=${payload}`;
          const { status } = await exchange(app.url, { path });
          expect([path, status]).toEqual([path, 400]);
        }
        for (const path of [...LISTS, ...PAIRS]) {
          const attacked = `${path}?${payload}=${payload}&order=${payload}`;
          expect((await exchange(app.url, { path: attacked })).status).toBe(200);
        }
      }
    });
  });
});

describe("what is not published", () => {
  const PRIVATE = "('dex_private', 'ingest', 'graphile_migrate')";

  /** The names of what is private, as SQL, fields and types have them. */
  async function privateNames(): Promise<string[]> {
    const { rows } = await admin.query<{ name: string }>(`
      select relname as name
      from pg_class
      where relnamespace::regnamespace::text in ${PRIVATE}
      union
      select proname
      from pg_proc
      where pronamespace::regnamespace::text in ${PRIVATE}
    `);
    const names = [...rows.map(({ name }) => name), "dex_private", "ingest", "graphile_migrate"];
    return names.flatMap((name) => {
      const camel = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      return [name, camel, camel.replace(/^\w/, (letter) => letter.toUpperCase())];
    });
  }

  it("does not show in introspection, nor in the printed schema, nor do the comments' tags", async () => {
    const names = await privateNames();
    const introspection = JSON.stringify(await dataOf(app, getIntrospectionQuery()));
    const printed = await readFile(
      fileURLToPath(new URL("../../graphql/schema.graphql", import.meta.url)),
      "utf8",
    );

    expect(names).toContain("periodFigure");
    for (const text of [introspection, printed]) {
      const words = new Set(text.match(/\w+/g));
      // The directive has the name of the view that it follows, and the tag that names a function.
      words.delete("asOf");
      expect(names.filter((name) => words.has(name))).toEqual([]);
      expect(text).not.toMatch(
        /@asOf \w|@(behavior|primaryKey|foreignKey|unique|notNull|name|omit)\b/,
      );
    }
  });

  it("is in no answer to a wrong name", async () => {
    const names = await privateNames();
    for (const name of names) {
      const answer = await exchange(app.url, graphql({ query: `{ ${name} { __typename } }` }));
      const { errors } = JSON.parse(answer.body.toString()) as { errors: { message: string }[] };
      // "Did you mean …" suggests what is public.
      const [, suggested = ""] = errors[0]!.message.split("Did you mean");
      expect(names.filter((other) => suggested.includes(`"${other}"`))).toEqual([]);
    }
  });
});
