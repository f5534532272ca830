// Privileges: the writer may execute the write functions, the reader may read, and PUBLIC may do nothing.
import { makeRoles } from "../../db/create-roles.ts";
import { contentsOf } from "../database-contents.ts";
import { openClient } from "../database.ts";
import { anOffer, aTrade, blockAt, registerMarkets, setHead, write } from "../factories.ts";
import { useClient, useDatabase } from "../served.ts";

const SCHEMAS = ["public", "dex_private", "ingest"];

const database = useDatabase();
const superuser = useClient(database);
const owner = useClient(database, "dex_owner");
const sessions = {
  dex_reader: useClient(database, "dex_reader"),
  dex_writer: useClient(database, "dex_writer"),
};
let tables: string[];
beforeAll(async () => {
  // A clone of a template does not have the template's grants.
  await makeRoles(database.url);
  await registerMarkets(database.writer);
  await write(database.writer, { offers: [anOffer({ id: 1 })], trades: [aTrade()] });
  const { rows } = await owner.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name
    from pg_tables
    where schemaname = any ($1)
    order by name`,
    [SCHEMAS],
  );
  tables = rows.map(({ name }) => name);
});

/** Runs a statement in a transaction that is rolled back, and returns the error; undefined without one. */
async function refusal(
  role: keyof typeof sessions,
  statement: string,
): Promise<string | undefined> {
  const client = sessions[role];
  try {
    await client.query("begin read write");
    await client.query(statement);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await client.query("rollback");
  }
}

const STAGING = ["block", "cancellation", "offer", "pool", "trade"].map(
  (name) => `ingest.staged_${name}`,
);
const DENIED = /^permission denied for |^must be owner of |^must be a superuser/;

describe.each(["dex_reader", "dex_writer"] as const)("%s", (role) => {
  it("cannot change rows of history or of derived tables", async () => {
    const before = await contentsOf(owner);
    const closed = tables.filter((table) => role === "dex_reader" || !STAGING.includes(table));
    expect(closed).toHaveLength(role === "dex_reader" ? 27 : 22);
    for (const table of closed) {
      const { rows } = await owner.query<{ column: string }>(
        `select attname as column
        from pg_attribute
        where attrelid = $1::regclass
          and attnum > 0
        limit 1`,
        [table],
      );
      for (const statement of [
        `insert into ${table} default values`,
        `insert into ${table} default values on conflict do nothing`,
        `update ${table} set ${rows[0]!.column} = default`,
        `delete from ${table}`,
        `truncate ${table}`,
        `merge into ${table} using (values (1)) as one on true when matched then delete`,
        `copy ${table} from stdin`,
        `select * from ${table} for update`,
        `select * from ${table} for key share`,
        `lock table ${table} in row exclusive mode`,
        `lock table ${table} in share mode`,
        `lock table ${table} in access exclusive mode`,
        `create trigger mine after insert on ${table} execute function suppress_redundant_updates_trigger()`,
        `create rule mine as on insert to ${table} do instead nothing`,
        `create index on ${table} (${rows[0]!.column})`,
        `alter table ${table} add column mine integer`,
        `comment on table ${table} is 'mine'`,
        `drop table ${table} cascade`,
      ]) {
        expect([statement, await refusal(role, statement)]).toEqual([
          statement,
          expect.stringMatching(DENIED),
        ]);
      }
    }
    expect(await contentsOf(owner)).toEqual(before);
  });

  it.each([
    "create temporary table mine (id integer)",
    "create temporary view mine as select 1",
    "create temporary sequence mine",
    "select 1 as id into temporary mine",
    ...SCHEMAS.flatMap((schema) => [
      `create table ${schema}.mine (id integer)`,
      `create function ${schema}.mine() returns integer language sql return 1`,
      `create type ${schema}.mine as (id integer)`,
      `create operator ${schema}.=== (leftarg = integer, rightarg = integer, function = int4eq)`,
      `create view ${schema}.mine as select 1`,
    ]),
    "create schema mine",
    "create cast (text as integer) with inout",
    "create extension pgcrypto",
    "create language mine handler plpgsql_call_handler",
    "create event trigger mine on ddl_command_end execute function pg_catalog.event_trigger_in()",
    "create publication mine for all tables",
    "create role mine",
    "select lo_create(0)",
    "select pg_logical_emit_message(false, 'x', 'y')",
    "select lo_from_bytea(0, 'x')",
    "select pg_read_file('/etc/passwd')",
    "copy (select 1) to program 'true'",
    "set role dex_owner",
    "set session authorization dex_owner",
    "grant dex_owner to current_user",
    "alter role current_user superuser",
    "alter database current set jit = on",
    "set session_replication_role = replica",
  ])("cannot %s", async (statement) => {
    // Uses the role's own login, because the tests' login is a superuser.
    // Not named dex_…: other tests compare the members of such roles.
    const login = `login_of_${role}_${process.pid}`;
    await superuser.query(`create role ${login} login password 'secret' in role ${role}`);
    const url = new URL(database.url);
    url.username = login;
    url.password = "secret";
    await using client = await openClient(url.href, { role });
    try {
      await client.query("begin read write");
      await expect(client.query(statement)).rejects.toThrow(
        /permission denied|must be |only superusers|does not exist|must have /i,
      );
    } finally {
      await superuser.query(`drop role ${login}`);
    }
  });

  it("can read everything published and the derived tables behind it", async () => {
    const { rows } = await owner.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name
      from information_schema.tables
      where table_schema = 'public'`,
    );
    expect(rows.length).toBeGreaterThanOrEqual(9);
    for (const { name } of rows)
      expect([name, await refusal(role, `table ${name}`)]).toEqual([name, undefined]);
  });
});

describe("the writer", () => {
  it("can execute the write functions, and none of their internal functions", async () => {
    const { rows } = await owner.query<{ name: string }>(
      `select function.oid::regprocedure::text as name
      from pg_proc as function
      where function.pronamespace = 'ingest'::regnamespace
        and has_function_privilege('dex_writer', function.oid, 'execute')
      order by name`,
    );
    expect(rows.map(({ name }) => name.replace(/\(.*/, ""))).toEqual([
      "ingest.begin_index",
      "ingest.begin_mirror",
      "ingest.checked_to",
      "ingest.fill_digests",
      "ingest.found_all_contracts",
      "ingest.found_contracts",
      "ingest.offer_ids",
      "ingest.register_pair",
      "ingest.register_token",
      "ingest.take_back",
      "ingest.take_turn",
      "ingest.write_block",
      "ingest.write_blocks",
    ]);
    expect(await refusal("dex_writer", "select ingest.rebuild()")).toMatch(
      /^permission denied for function rebuild$/,
    );
  });

  it("can fill and empty the staging tables, and correct its own rows", async () => {
    for (const table of STAGING) {
      const own = table.replace("staged_", "own_");
      const column = table.endsWith("block") ? "number" : "block";
      for (const statement of [
        `copy (table ${table}) to stdout`,
        `insert into ${table} (${column}) select ${column} from ${own}`,
        `update ${own} set ${column} = ${column}`,
        `delete from ${own}`,
        `delete from ${table}`,
      ]) {
        expect([statement, await refusal("dex_writer", statement)]).toEqual([statement, undefined]);
      }
    }
  });
});

describe("the reader", () => {
  it.each([
    "select ingest.write_block(9999, now())",
    "select ingest.write_blocks()",
    "select ingest.take_back(0)",
    "select ingest.register_token('0x', 'X', 1)",
    "select ingest.register_pair('0x', '0x')",
    "select ingest.rebuild()",
    "select ingest.offer_ids('{}', '{}', '{}')",
    "table ingest.staged_trade",
    "table ingest.staged_cancellation",
    "table dex_private.index_contract",
    "select dex_private.keep_figures(1)",
    "select dex_private.derive_market_figures('{1}')",
  ])("cannot %s", async (statement) => {
    expect(await refusal("dex_reader", statement)).toMatch(/^permission denied for /);
  });

  it("has a read-only session, and cannot write even if it leaves that", async () => {
    await using client = await openClient(database.url, { role: "dex_reader" });
    await expect(client.query("delete from dex_trade")).rejects.toThrow("read-only transaction");
    const { rows } = await client.query("show default_transaction_read_only");
    expect(rows).toEqual([{ default_transaction_read_only: "on" }]);
    await client.query("set default_transaction_read_only = off");
    await expect(client.query("delete from dex_trade")).rejects.toThrow("permission denied");
  });

  it("cannot take advisory locks, of which some thousands take all memory for locks", async () => {
    const { rows } = await superuser.query<{ call: string; reader: boolean; writer: boolean }>(
      `select
        oid::regprocedure::text as call,
        has_function_privilege('dex_reader', oid, 'execute') as reader,
        has_function_privilege('dex_writer', oid, 'execute') as writer
      from pg_proc
      where proname like 'pg%advisory%'`,
    );
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter(({ reader }) => reader)).toEqual([]);
    expect(rows.filter(({ writer }) => !writer)).toEqual([]);
    await using reader = await openClient(database.url, { role: "dex_reader" });
    await expect(reader.query("select pg_try_advisory_lock(1)")).rejects.toThrow(
      "permission denied for function pg_try_advisory_lock",
    );
  });

  it("cannot block a writer with any lock", async () => {
    await using reader = await openClient(database.url, { role: "dex_reader" });
    await reader.query("begin isolation level repeatable read");
    const { rows } = await reader.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name
      from pg_tables
      where has_schema_privilege(schemaname, 'usage')
        and has_table_privilege(format('%I.%I', schemaname, tablename), 'select')
        and schemaname = any ($1)`,
      [SCHEMAS],
    );
    expect(rows.length).toBeGreaterThan(8);
    for (const { name } of rows) await reader.query(`lock table ${name} in access share mode`);
    await reader.query("select count(*) from dex_trade");

    await using writer = await openClient(database.url, {
      role: "dex_writer",
      lockTimeoutMs: 5000,
    });
    await write(writer, {
      offers: [anOffer({ id: 2, hour: 2 })],
      trades: [aTrade({ hour: 2, offer_id: 1 })],
    });
    await writer.query("select ingest.write_block($1, $2, killed => '{1}')", [
      blockAt(3),
      "2026-01-01T03:00:00Z",
    ]);
    await registerMarkets(writer);
    await setHead(writer, 4);
    await writer.query("select ingest.take_back($1)", [blockAt(2)]);
    await writer.query("select ingest.write_blocks()");
    const { rows: heads } = await database.reader.query("select block from dex_head");
    expect(heads).toEqual([{ block: blockAt(2) }]);
  });
});

describe("PUBLIC", () => {
  /** The functions in the service's schemas that PUBLIC may execute. */
  const executable = async (): Promise<string[]> => {
    const { rows } = await owner.query<{ name: string }>(
      `select function.oid::regprocedure::text as name
      from pg_proc as function
      cross join lateral aclexplode(coalesce(function.proacl, acldefault('f', function.proowner))) as granted
      where function.pronamespace = any ($1::regnamespace[])
        and granted.grantee = 0`,
      [SCHEMAS],
    );
    return rows.map(({ name }) => name);
  };

  it("cannot execute any function, also no future one", async () => {
    expect(await executable()).toEqual([]);
    for (const schema of SCHEMAS) {
      await owner.query(`create function ${schema}.later() returns integer language sql return 1`);
      await owner.query(`create procedure ${schema}.later_still() language sql as ''`);
    }
    expect(await executable()).toEqual([]);
    for (const schema of SCHEMAS) {
      await owner.query(`drop function ${schema}.later(); drop procedure ${schema}.later_still()`);
    }
  });

  it("cannot read anything, nor use a schema other than public", async () => {
    const login = `nobody_${process.pid}`;
    await superuser.query(`create role ${login}`);
    const { rows } = await owner.query<{ name: string }>(
      `select relation.oid::regclass::text as name
      from pg_class as relation
      where relation.relnamespace = any ($1::text[]::regnamespace[])
        and relation.relkind in ('r', 'v', 'm', 'p')
        and has_table_privilege($2, relation.oid, 'select, insert, update, delete, truncate, references, trigger')
      union all
      select schema
      from unnest($1::text[]) as schema
      where schema <> 'public'
        and has_schema_privilege($2, schema, 'usage, create')
      union all
      select 'create in public'
      where has_schema_privilege($2, 'public', 'create')
      union all
      select 'temporary tables'
      where has_database_privilege($2, current_database(), 'temporary, create, connect')`,
      [SCHEMAS, login],
    );
    await superuser.query(`drop role ${login}`);
    expect(rows).toEqual([]);
  });
});

it("books and candles are computed without JIT, which takes longer than they, for every client", async () => {
  const { rows } = await database.owner.query(`
    select function.proname
    from pg_proc as function
    where function.pronamespace = 'public'::regnamespace
      and function.prolang = (select language.oid from pg_language as language where language.lanname = 'plpgsql')
      and not coalesce(function.proconfig, '{}') @> '{jit=off}'
  `);
  expect(rows).toEqual([]);
});

it("only write functions are security definer, with pg_catalog as search_path", async () => {
  const { rows } = await owner.query<{ name: string; settings: string[] }>(
    `select
      function.oid::regproc::text as name,
      function.proconfig as settings
    from pg_proc as function
    where function.pronamespace = any ($1::regnamespace[])
      and function.prosecdef
    order by name`,
    [SCHEMAS],
  );
  expect(rows.map(({ name }) => name)).toEqual([
    "ingest.begin_index",
    "ingest.begin_mirror",
    "ingest.checked_to",
    "ingest.fill_digests",
    "ingest.found_all_contracts",
    "ingest.found_contracts",
    "ingest.offer_ids",
    "ingest.rebuild",
    "ingest.register_pair",
    "ingest.register_token",
    "ingest.take_back",
    "ingest.take_turn",
    "ingest.write_block",
    "ingest.write_blocks",
  ]);
  for (const { name, settings } of rows) {
    expect([name, settings]).toEqual([
      name,
      expect.arrayContaining(["search_path=pg_catalog, pg_temp"]),
    ]);
  }
});

it("the schema has no trigger, rule or policy that changes a statement", async () => {
  const { rows } = await owner.query(
    `select tgname as name from pg_trigger where not tgisinternal
    union all
    select rulename from pg_rewrite where rulename <> '_RETURN'
      and ev_class in (select oid from pg_class where relnamespace = any ($1::regnamespace[]))
    union all
    select polname from pg_policy`,
    [SCHEMAS],
  );
  expect(rows).toEqual([]);
});

it("makes the roles in several runs at once, each of which ends", async () => {
  await superuser.query("create role service_login login");
  try {
    // What they grant is revoked before, so that each has something to change.
    await superuser.query("grant create on schema public to public");
    const runs = Array.from({ length: 12 }, () => makeRoles(database.url, "service_login"));
    const ended = await Promise.allSettled(runs);
    expect(ended.filter(({ status }) => status === "rejected")).toEqual([]);
    expect(new Set(ended.map((run) => run.status === "fulfilled" && run.value))).toEqual(
      new Set([true]),
    );
  } finally {
    await superuser.query("drop owned by service_login; drop role service_login");
  }
});
