// npm run db:check compares a database with the schema of its migrations, and reports every difference that
// plain SQL can make, each with a remedy.
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkDatabase, type CheckResult, readSettings } from "../../db/check/check.ts";
import { findStaleSdl } from "../../graphql/schema/sdl.ts";
import type { Finding } from "../../db/check/finding.ts";
import { readCatalog } from "../../db/check/catalog.ts";
import { findDrift } from "../../db/check/drift.ts";
import { findExcessiveRights, readLogins } from "../../db/check/grants.ts";
import type { Client } from "../../db/connect.ts";
import { startTemporary } from "../../db/embedded/temporary.ts";
import { shadowUrls } from "../../db/locate.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { clusterUrl, makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { commitLater } from "../later-migration.ts";
import { copyRepository, type RepositoryCopy } from "../repository-copy.ts";
import { runFile, type Ended } from "../service.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const COMMITTED = "db/migrations/committed";

let admin: Client;
let database: TestDatabase;
/** The superuser's connection to the database. */
let dba: Client;
let files: string[];
/** The names of the shadow databases that the tests created. */
const shadows: string[] = [];
beforeAll(async () => {
  files = (await readdir(join(REPOSITORY, COMMITTED))).sort();
  admin = await openClient(clusterUrl());
  database = await makeChecked();
  dba = await openClient(database.url);
});
afterAll(async () => {
  await dba.end();
  await database.drop();
  // Every run drops its shadow database.
  const { rows } = await admin.query(
    "select datname from pg_database where datname = any ($1::text[])",
    [shadows],
  );
  await admin.end();
  expect(shadows).not.toHaveLength(0);
  expect(rows).toEqual([]);
});

/** A database with its grants, which a clone of a template does not have. */
async function makeChecked(options = {}): Promise<TestDatabase> {
  const made = await makeDatabase(options);
  await makeRoles(made.url);
  return made;
}

const check = ({ url }: TestDatabase, exposed = ["public"]): Promise<CheckResult> =>
  checkDatabase({
    url,
    shadow: shadowUrls(url, {}),
    exposed,
    checkMade: findStaleSdl,
    onShadow: (making) =>
      void making.then((shadow) => shadows.push(new URL(shadow.url).pathname.slice(1))),
  });

it("finds nothing in a migrated database with objects in a site's own schema", async () => {
  await dba.query(`
    create schema site;
    create table site.note (id integer primary key, offer_id integer references dex_offer (id) on delete cascade);
    create view site.price as select pair, vwap1h from dex_price
  `);
  // The grants that db/additions.md shows for a site's own login.
  await dba.query("grant select, references on all tables in schema public to pg_monitor");
  await dba.query(`
    create function site.seen() returns event_trigger language plpgsql as 'begin end';
    create event trigger site_seen on ddl_command_end execute function site.seen()
  `);
  // Objects of an extension are not compared.
  await dba.query("create table of_extension (id integer primary key, note text)");
  await dba.query("grant all on of_extension to public");
  await dba.query("alter extension plpgsql add table of_extension");
  await dba.query("create type row_of_extension as (id integer, note text)");
  await dba.query("alter extension plpgsql add type row_of_extension");

  expect(await check(database)).toEqual({
    compared: ["public", "dex_private", "ingest"],
    exposed: ["public"],
    migrations: { committed: files.length, applied: files.length },
    findings: [],
    additions: [],
    // Logins belong to the whole server.
    notes: expect.any(Array),
    skipped: [],
  });
});

it("finds nothing in a database that has all identifiers quoted, nor in what is migrated there", async () => {
  await using quoted = await makeChecked({ migrated: false });
  const name = new URL(quoted.url).pathname.slice(1);
  await dba.query(`alter database ${name} set quote_all_identifiers = on`);
  await applyMigrations(quoted.url);
  expect((await check(quoted)).findings).toEqual([]);
  await dba.query(`alter database ${name} reset quote_all_identifiers`);
  expect((await check(quoted)).findings).toEqual([]);
});

/** Changes to the database, and the findings that report them. */
interface Fault {
  sql: string;
  findings: Pick<Finding, "check" | "object" | "problem">[];
}

const drift = (object: string, problem: string): Fault["findings"][number] => ({
  check: "drift",
  object,
  problem,
});
const grants = (role: string, right: string, why: string): Fault["findings"][number] => ({
  check: "grants",
  object: `role ${role}`,
  problem: `it has ${right}, ${why}`,
});
const executable = (name: string): Fault["findings"][number] => ({
  check: "grants",
  object: "everybody",
  problem: `it has execute on ${name}, but functions should be granted to single roles`,
});
const undescribed = (object: string): Fault["findings"][number] => ({
  check: "comments",
  object,
  problem: "it is visible to clients and has no comment",
});
const NO_MIGRATION = "no migration creates it";
const READS = "but should only read";

const FAULTS: Record<string, Fault> = {
  "a column that was added": {
    sql: "alter table dex_token add column note text",
    findings: [
      drift("column public.dex_token.note", NO_MIGRATION),
      undescribed("column public.dex_token.note"),
    ],
  },
  "a column's other type and default": {
    sql: "alter table dex_private.best_price alter column act type varchar(99), alter column act set default ''",
    findings: [
      drift(
        "column dex_private.best_price.act",
        "its type is character varying(99), but text in the migrations; " +
          "its default is ''::character varying, but none in the migrations",
      ),
    ],
  },
  "a column that may be null": {
    sql: "alter table dex_private.period_figure alter column trades drop not null",
    findings: [
      drift(
        "column dex_private.period_figure.trades",
        "its nullability is null, but not null in the migrations",
      ),
    ],
  },
  "a table that was added, with its parts": {
    sql: `create table stray (id bigint generated always as identity primary key, note text);
      create index on stray (note)`,
    findings: [drift("table public.stray", NO_MIGRATION)],
  },
  "a view that was dropped": {
    sql: "drop view dex_volume",
    findings: [drift("view public.dex_volume", "it is missing")],
  },
  "a view that shows something else": {
    sql: `create or replace view dex_private.applied_migration as
      select migration.filename, migration.date, migration.hash from graphile_migrate.migrations as migration
      where migration.date is not null`,
    findings: [
      drift(
        "view dex_private.applied_migration",
        "its definition differs from line 4 on: `FROM graphile_migrate.migrations migration`, " +
          "but `FROM graphile_migrate.migrations migration;` in the migrations",
      ),
    ],
  },
  "a function's other body": {
    sql: `create or replace function dex_private.minute_of(moment timestamptz) returns timestamptz
      language sql immutable parallel safe as 'select moment'`,
    findings: [
      drift(
        "function dex_private.minute_of(timestamp with time zone)",
        "its body is select moment, but select date_bin('1 minute', moment, 'epoch') in the migrations",
      ),
    ],
  },
  "a function's other settings, security and owner": {
    sql: `alter function dex_book(text, text, integer) reset enable_seqscan;
      alter function dex_book(text, text, integer) set work_mem = '1GB';
      alter function dex_book(text, text, integer) security definer;
      alter function dex_book(text, text, integer) owner to current_user`,
    findings: [
      drift(
        "function public.dex_book(text, text, integer)",
        "its owner is OWNER, but dex_owner in the migrations; " +
          "its security is definer, but invoker in the migrations; " +
          "its settings have the additional work_mem=1GB and its settings lack enable_seqscan=off",
      ),
    ],
  },
  "a trigger that was added": {
    sql: `create function site.noted() returns trigger language plpgsql as 'begin return null; end';
      create trigger stray after insert on dex_offer for each statement execute function site.noted()`,
    findings: [drift("trigger stray on public.dex_offer", NO_MIGRATION)],
  },
  "indexes that are gone, added, or half made": {
    sql: `drop index dex_trade_taker_id_idx;
      create index stray_tx_idx on dex_offer (tx);
      create index stray_half_idx on dex_offer (tx);
      update pg_index set indisvalid = false
      where indexrelid in ('dex_offer_maker_block_id_idx'::regclass, 'stray_half_idx'::regclass)`,
    findings: [
      drift("index public.dex_trade_taker_id_idx", "it is missing"),
      drift("index public.stray_tx_idx", NO_MIGRATION),
      drift("index public.stray_half_idx", NO_MIGRATION),
      drift(
        "index public.dex_offer_maker_block_id_idx",
        "its state is invalid, but valid in the migrations",
      ),
    ],
  },
  "constraints that are gone, or hold for new rows alone": {
    sql: `alter table dex_trade drop constraint dex_trade_idx_check;
      alter table dex_offer drop constraint dex_offer_killed_check;
      alter table dex_offer add constraint dex_offer_killed_check check (killed >= 0) not valid`,
    findings: [
      drift("constraint dex_trade_idx_check on public.dex_trade", "it is missing"),
      drift(
        "constraint dex_offer_killed_check on public.dex_offer",
        "its definition is CHECK ((killed >= 0)) NOT VALID, but CHECK (((killed = 0) OR (killed >= block))) in the migrations",
      ),
    ],
  },
  "another comment": {
    sql: "comment on column dex_trade.price is 'Price.'",
    findings: [
      drift(
        "column public.dex_trade.price",
        "its comment differs from line 1 on: `Price.`, but " +
          "`Quote per base, 18 fractional digits. Null where the two tokens are no registered pair, or the base …` in the migrations",
      ),
    ],
  },
  "a type, a rule, a policy, a sequence": {
    sql: `create type public.mood as enum ('good', 'bad');
      create rule stray as on delete to dex_pair do instead nothing;
      create policy stray on dex_pair using (true);
      create sequence dex_private.stray_seq`,
    findings: [
      drift("type public.mood", NO_MIGRATION),
      drift("rule stray on public.dex_pair", NO_MIGRATION),
      drift("policy stray on public.dex_pair", NO_MIGRATION),
      drift("sequence dex_private.stray_seq", NO_MIGRATION),
    ],
  },
  "extended statistics": {
    sql: "create statistics stray_stats (dependencies) on lot_gem, bid_gem from dex_offer",
    findings: [drift("statistics public.stray_stats", NO_MIGRATION)],
  },
  "an event trigger": {
    sql: `create function dex_private.stray_event() returns event_trigger language plpgsql as 'begin end';
      create event trigger stray_event on ddl_command_start execute function dex_private.stray_event()`,
    findings: [
      drift("function dex_private.stray_event()", NO_MIGRATION),
      drift("event trigger stray_event", NO_MIGRATION),
      executable("dex_private.stray_event()"),
    ],
  },
  "an owner, and rights that were taken away": {
    sql: `alter table dex_private.offer_left owner to current_user;
      revoke insert on dex_private.period_figure from dex_owner;
      revoke select on dex_price from dex_reader`,
    findings: [
      drift("table dex_private.offer_left", "its owner is OWNER, but dex_owner in the migrations"),
      drift("table dex_private.period_figure", "its grants lack insert to its owner"),
      drift("view public.dex_price", "its grants lack select to dex_reader"),
    ],
  },
  "a function that everybody may call": {
    sql: "grant execute on function dex_latest_head() to public",
    findings: [
      drift(
        "function public.dex_latest_head()",
        "its grants have the additional execute to public",
      ),
      executable("public.dex_latest_head()"),
    ],
  },
  "a publication under which a table cannot be updated": {
    sql: `create table dex_private.listed (note text);
      create publication stray for table dex_private.listed, dex_pair`,
    findings: [
      drift("table dex_private.listed", NO_MIGRATION),
      {
        check: "publications",
        object: "publication stray",
        problem:
          "it publishes updates or deletes of dex_private.listed, which has no primary key, so they all fail",
      },
    ],
  },
  "rights to write for who reads": {
    sql: `grant insert on dex_block to dex_reader;
      grant update (symbol) on dex_token to public;
      grant usage on sequence dex_pair_id_seq to dex_reader;
      grant delete on site.note to dex_reader;
      grant create on schema site to dex_reader`,
    findings: [
      drift("table public.dex_block", "its grants have the additional insert to dex_reader"),
      drift("column public.dex_token.symbol", "its grants have the additional update to public"),
      drift(
        "sequence public.dex_pair_id_seq",
        "its grants have the additional usage to dex_reader",
      ),
      grants("dex_reader", "insert on public.dex_block", READS),
      grants("dex_reader", "update on public.dex_token", READS),
      grants("dex_writer", "update on public.dex_token", "which is more than a writer needs"),
      grants("dex_reader", "usage on public.dex_pair_id_seq", READS),
      grants("dex_reader", "delete on site.note", READS),
      grants("dex_reader", "create on schema site", READS),
    ],
  },
  "rights of a writer that it does not need, and of another": {
    sql: `grant truncate on dex_offer to dex_writer;
      grant execute on function ingest.rebuild() to dex_writer;
      grant update on dex_offer to pg_monitor;
      grant select (symbol), update (symbol) on dex_token to pg_monitor`,
    findings: [
      drift("table public.dex_offer", "its grants have the additional truncate to dex_writer"),
      drift("function ingest.rebuild()", "its grants have the additional execute to dex_writer"),
      grants("dex_writer", "truncate on public.dex_offer", "which is more than a writer needs"),
      grants("dex_writer", "execute on ingest.rebuild()", "which is more than a writer needs"),
      grants("pg_monitor", "update on public.dex_offer", "but only dex_writer should write"),
      grants(
        "pg_monitor",
        "update (symbol) on public.dex_token",
        "but only dex_writer should write",
      ),
    ],
  },
  "rights on the database, and on what is yet to come": {
    sql: `grant temporary on database DATABASE to public;
      alter default privileges for role dex_owner in schema public grant select on tables to public`,
    findings: [
      drift("database itself", "its grants have the additional temporary to public"),
      drift("default privileges of dex_owner in public for r", NO_MIGRATION),
      grants("dex_reader", "temporary on the database", READS),
      grants("dex_writer", "temporary on the database", "which is more than a writer needs"),
    ],
  },
  "what clients see and nothing describes": {
    sql: `create view site.described_by_tags as select 1 as number, 2 as hidden;
      comment on view site.described_by_tags is E'@primaryKey number\\n@name tagged';
      comment on column site.described_by_tags.hidden is '@behavior -*';
      create function site.twice(number integer) returns integer language sql immutable
        as 'select 2 * number';
      grant usage on schema site to dex_reader;
      grant select on site.described_by_tags to dex_reader`,
    findings: [
      undescribed("view site.described_by_tags"),
      undescribed("column site.described_by_tags.number"),
      undescribed("function site.twice(integer)"),
    ],
  },
  "foreign keys that keep rows which a reorganisation takes back": {
    sql: `create table site.mark (
        trade bigint primary key references public.dex_trade (id),
        block integer references public.dex_block (number) on delete cascade,
        token text references public.dex_token (address)
      )`,
    findings: [
      {
        check: "relations",
        object: "table site.mark",
        problem:
          "its foreign key mark_trade_fkey keeps rows of public.dex_trade: a reorganisation that takes one back fails, and writing stops",
      },
    ],
  },
  "relations that no index serves": {
    sql: `drop index dex_pair_quote_gem_base_gem_idx;
      set role dex_owner;
      create view dex_private.daily as
        select market_id, upper(market) as label, offer_id from dex_trade;
      comment on view dex_private.daily is
        E'@addition\\n@foreignKey (market_id) references dex_pair (id)\\n@foreignKey (label) references dex_pair (market)\\n@foreignKey (offer_id) references dex_offer (id)\\nA site''s own.';
      create view dex_private.takers as
        select taker.lot_tkn as token from (select daily.label, trade.lot_tkn from dex_private.daily as daily
          cross join dex_trade as trade) as taker;
      comment on view dex_private.takers is E'@addition\\n@foreignKey (token) references dex_token (symbol)';
      reset role`,
    findings: [
      drift("index public.dex_pair_quote_gem_base_gem_idx", "it is missing"),
      {
        check: "relations",
        object: "table public.dex_pair",
        problem:
          "its foreign key dex_pair_quote_gem_fkey has no index on public.dex_pair that begins with quote_gem",
      },
      {
        check: "relations",
        object: "view dex_private.daily",
        problem:
          "its tag @foreignKey (label) references dex_pair (market) uses label, which is not a table column, so no index serves it",
      },
      {
        check: "relations",
        object: "view dex_private.takers",
        problem:
          "its tag @foreignKey (token) references dex_token (symbol) has no index on public.dex_trade that begins with lot_tkn",
      },
    ],
  },
};

describe("a database changed by hand", () => {
  let result: CheckResult;
  beforeAll(async () => {
    const name = new URL(database.url).pathname.slice(1);
    // The tag @addition marks a site's own column.
    await dba.query("alter table dex_offer add column site_note text");
    await dba.query(
      "comment on column dex_offer.site_note is E'@addition\\nWhat the site knows of it.'",
    );
    for (const { sql } of Object.values(FAULTS)) await dba.query(sql.replace("DATABASE", name));
    result = await check(database, ["public", "site"]);
  });

  it.each(Object.entries(FAULTS))("reports %s", async (_, { findings }) => {
    const { rows } = await dba.query<{ owner: string }>("select current_user as owner");
    const told = result.findings.map(({ check, object, problem }) => ({ check, object, problem }));
    for (const finding of findings) {
      // The superuser's name depends on the server.
      const problem = finding.problem.replace("OWNER,", `${rows[0]!.owner},`);
      expect(told.filter(({ object }) => object === finding.object)).toContainEqual({
        ...finding,
        problem,
      });
    }
  });

  it("reports nothing else, and a remedy for each", async () => {
    const texts = await Promise.all(
      files.map((file) => readFile(join(REPOSITORY, COMMITTED, file), "utf8")),
    );
    const expected = Object.values(FAULTS).flatMap(({ findings }) => findings);
    expect(result.findings.map(({ object }) => object).sort()).toEqual(
      expected.map(({ object }) => object).sort(),
    );
    for (const { remedy } of result.findings) expect(remedy).toMatch(/^[A-Z].*\.$|;$/);
    expect(result.findings.find(({ object }) => object === "view public.dex_volume")?.remedy).toBe(
      "Create it again with the statements of the migrations (see 000001-baseline.sql).",
    );
    expect(
      result.findings.find(({ object }) => object === "index public.stray_half_idx")?.remedy,
    ).toBe(
      "Its creation was interrupted and it is invalid: `npm run db:migrate` drops it if a pending " +
        "migration creates it; otherwise drop it with `drop index concurrently`.",
    );
    const commenting = texts.findLastIndex((text) =>
      text.includes("comment on column dex_trade.price is"),
    );
    expect(
      result.findings.find(({ object }) => object === "column public.dex_trade.price")?.remedy,
    ).toContain(`definition of the migrations (see ${files[commenting]}), or`);
    expect(
      result.findings.find(({ problem }) => problem.includes("insert on public.dex_block"))?.remedy,
    ).toBe("Revoke it: revoke insert on public.dex_block from dex_reader, public;");
  });

  it("lists the publications", () => {
    expect(result.notes).toContain(
      "publication stray publishes dex_private.listed, public.dex_pair",
    );
  });

  it("ignores a site's additions, and lists them", () => {
    expect(result.additions).toEqual([
      "view dex_private.daily",
      "view dex_private.takers",
      "column public.dex_offer.site_note",
    ]);
  });
});

describe("roles and logins", () => {
  // Roles belong to the whole server: each test changes them in a transaction.
  beforeEach(async () => {
    await dba.query("begin");
  });
  afterEach(async () => {
    await dba.query("rollback");
  });

  it("notes the logins whose transactions may stay open without an end", async () => {
    const name = new URL(database.url).pathname.slice(1);
    await dba.query(`
      create role guest login;
      create role careful login;
      grant connect on database ${name} to guest, careful;
      alter role careful set idle_in_transaction_session_timeout = '1min'
    `);
    const { notes } = await readSettings(dba);
    expect(notes).toEqual([
      expect.stringMatching(/^idle_in_transaction_session_timeout is 0 for /),
    ]);
    expect(notes[0]).toMatch(/\bguest\b/);
    expect(notes[0]).not.toMatch(/\bcareful\b/);

    await dba.query("set local idle_in_transaction_session_timeout = '1h'");
    await dba.query(`alter database ${name} set idle_in_transaction_session_timeout = '5min'`);
    expect((await readSettings(dba)).notes).toEqual([]);
  });

  it("notes a server on which a prepared transaction may stay open without an end", async () => {
    const notesWith = async (allowed: string): Promise<string[]> => {
      const server = await startTemporary({ max_prepared_transactions: allowed });
      await using client = await openClient(server.url);
      try {
        return (await readSettings(client)).notes.filter((note) => note.startsWith("max_prepared"));
      } finally {
        await server.stop();
      }
    };
    expect(await notesWith("0")).toEqual([]);
    expect(await notesWith("1")).toEqual([
      expect.stringMatching(/^max_prepared_transactions is 1: .* makes every write slower/),
    ]);
  });

  const problemsOf = async (object: string): Promise<string[]> =>
    (await findExcessiveRights(dba, ["public"]))
      .filter((finding) => finding.object === object)
      .map(({ problem }) => problem);

  it("reports a reader with more privileges", async () => {
    await dba.query("grant dex_owner to dex_reader; alter role dex_reader createdb login");
    expect(await findExcessiveRights(dba, ["public"])).toContainEqual({
      check: "grants",
      object: "role dex_reader",
      problem: "it has membership in dex_owner, but should only read",
      remedy: "Revoke it: revoke dex_owner from dex_reader;",
    });
    const problems = await problemsOf("role dex_reader");
    expect(problems).toContain("it has the attribute createdb, but should only read");
    expect(problems).toContain("it has the attribute login, but should only read");
  });

  it("reports an owner with more privileges, and settings of the roles", async () => {
    await dba.query(`
      alter role dex_owner bypassrls;
      alter role dex_reader set search_path = 'site';
      alter role dex_writer in database ${new URL(database.url).pathname.slice(1)}
        set statement_timeout = '1s'
    `);
    expect(await problemsOf("role dex_owner")).toEqual([
      "it has the attribute bypassrls, which is more than an owner of the schema needs",
    ]);
    const NO_EFFECT = "which has no effect: a session uses the settings of its login";
    expect(await problemsOf("role dex_reader")).toContain(
      `it has the setting search_path=site, ${NO_EFFECT}`,
    );
    const found = await findExcessiveRights(dba, ["public"]);
    expect(found.filter(({ object }) => object === "role dex_writer")).toContainEqual({
      check: "grants",
      object: "role dex_writer",
      problem: `it has the setting statement_timeout=1s, ${NO_EFFECT}`,
      remedy: expect.stringMatching(
        /^Revoke it: alter role dex_writer in database \w+ reset statement_timeout;$/,
      ) as string,
    });
  });

  it("reports a login of the service with more than the reader's privileges, and no other login", async () => {
    await dba.query(`
      create role app login in role dex_reader;
      create role team in role dex_writer;
      create role web login createrole in role dex_reader, team;
      create role root login superuser in role dex_reader;
      create role indexer login in role dex_writer;
      create role admin login superuser
    `);
    const READS =
      "but it may become dex_reader, like the login of the service, and should only read";
    expect(await problemsOf("login web")).toEqual([
      `it has membership in dex_writer, ${READS}`,
      `it has the attribute createrole, ${READS}`,
    ]);
    expect(await problemsOf("login root")).toEqual([`it has the attribute superuser, ${READS}`]);
    for (const login of ["app", "indexer", "admin"]) {
      expect(await problemsOf(`login ${login}`)).toEqual([]);
      expect(await problemsOf(`role ${login}`)).toEqual([]);
    }
    expect(await readLogins(dba)).toEqual(
      expect.arrayContaining([
        "app may become dex_reader",
        "indexer may become dex_writer",
        "web may become dex_reader, dex_writer",
      ]),
    );
  });

  it("allows the owner of the database to become all three roles", async () => {
    await dba.query(`
      create role dba login createrole in role dex_owner, dex_writer, dex_reader;
      alter database ${new URL(database.url).pathname.slice(1)} owner to dba
    `);
    expect(await problemsOf("login dba")).toEqual([]);
  });

  it("reports present and future functions that PUBLIC may execute", async () => {
    const executable = async (): Promise<string[]> =>
      (await findExcessiveRights(dba, ["public", "dex_private", "site"]))
        .filter(({ object }) => object === "everybody")
        .map(({ problem }) => problem.split(",")[0]!);
    expect(await executable()).not.toContain("it has execute on new functions of dex_owner");
    await dba.query(`
      alter default privileges for role dex_owner grant execute on functions to public;
      create schema if not exists site;
      create function site.called() returns integer language sql return 1
    `);
    expect(await executable()).toEqual(
      expect.arrayContaining([
        "it has execute on site.called()",
        "it has execute on new functions of dex_owner",
      ]),
    );

    await dba.query(`
      revoke execute on function site.called() from public;
      alter default privileges for role dex_owner revoke execute on functions from public
    `);
    const rest = await executable();
    expect(rest).not.toContain("it has execute on site.called()");
    expect(rest).not.toContain("it has execute on new functions of dex_owner");

    await dba.query(
      "alter default privileges for role dex_owner in schema public grant execute on functions to public",
    );
    expect(await executable()).toContain("it has execute on new functions of dex_owner in public");
  });

  it("reports a role that may execute a writing function", async () => {
    await dba.query(`
      create role other;
      create function public.write() returns void language sql security definer as '';
      grant execute on function public.write() to other
    `);
    expect(await problemsOf("role other")).toEqual([
      "it has execute on public.write(), but only dex_writer should write",
    ]);
  });
});

it("reports a changed owner once, also if other objects depend on it", async () => {
  await using taken = await makeChecked();
  await using superuser = await openClient(taken.url);
  await superuser.query("alter table dex_trade owner to current_user");
  const { findings } = await check(taken);
  expect(findings.map(({ object }) => object)).toEqual(["table public.dex_trade"]);
  expect(findings[0]!.problem).toMatch(/^its owner is \S+, but dex_owner in the migrations$/);
});

it("reports a disabled and a dropped trigger of a later migration", async () => {
  await using site = await makeChecked();
  await using client = await openClient(site.url, { role: "dex_owner" });
  for (const name of ["one", "other"]) {
    await client.query(
      `create trigger ${name} before update on dex_offer
        for each row execute function suppress_redundant_updates_trigger()`,
    );
  }
  const intended = await readCatalog(client, ["public"]);
  await client.query("alter table dex_offer disable trigger one; drop trigger other on dex_offer");
  const { findings } = findDrift(await readCatalog(client, ["public"]), intended, []);
  expect(findings.map(({ object, problem }) => ({ object, problem }))).toEqual([
    { object: "trigger other on public.dex_offer", problem: "it is missing" },
    {
      object: "trigger one on public.dex_offer",
      problem: "its state is disabled, but enabled in the migrations",
    },
  ]);
});

describe("the command", () => {
  let copy: RepositoryCopy;
  beforeEach(async () => {
    copy = await copyRepository();
  });
  afterEach(() => copy.remove());
  const run = (url: string, args: string[] = [], env = {}): Promise<Ended> =>
    runFile("server/check-database.ts", { DATABASE_OWNER_URL: url, ...env }, args, copy.folder)
      .ended;
  const told = async ({ url }: TestDatabase): Promise<CheckResult> =>
    JSON.parse((await run(url, ["--json"])).stdout) as CheckResult;

  /** Commits later migrations in the copy, each of a column, and returns their names. */
  async function commitMore(columns: string[]): Promise<string[]> {
    const names: string[] = [];
    for (const column of columns) {
      const body = `alter table dex_private.write_state add column ${column} text;`;
      names.push(await commitLater(join(copy.folder, "db/migrations"), body));
    }
    return names;
  }

  it("reports a migration that is missing in the record, and its missing objects", async () => {
    const [middle] = await commitMore(["one", "two"]);
    await using holed = await makeChecked();
    await applyMigrations(holed.url, join(copy.folder, "db/migrations"));
    const { rows } = await holed.owner.query<{ filename: string; hash: string }>(
      "select filename, hash from graphile_migrate.migrations order by filename",
    );
    await holed.owner.query(
      "alter table graphile_migrate.migrations drop constraint migrations_previous_hash_fkey",
    );
    const [before, lost] = rows.slice(-3);
    await holed.owner.query("delete from graphile_migrate.migrations where filename = $1", [
      lost!.filename,
    ]);
    await holed.owner.query("alter table dex_private.write_state drop column one");
    const { findings, skipped, migrations } = await told(holed);
    expect(migrations).toEqual({ committed: files.length + 2, applied: files.length + 1 });
    expect(skipped).toEqual([]);
    expect(findings).toEqual([
      {
        check: "migrations",
        object: `${COMMITTED}/${middle}`,
        problem: "the database's record lacks it, but has later ones",
        remedy: expect.stringContaining(
          `(hash, previous_hash, filename) values ('${lost!.hash}', '${before!.hash}', '${lost!.filename}');`,
        ),
      },
      expect.objectContaining({
        object: "column dex_private.write_state.one",
        problem: "it is missing",
      }),
    ]);
  });

  it("reports pending and unknown migrations, and then no drift", async () => {
    await using behind = await makeChecked();
    const [last] = await commitMore(["one"]);
    expect((await told(behind)).findings).toEqual([
      {
        check: "migrations",
        object: `${COMMITTED}/${last}`,
        problem: "the database lacks it",
        remedy: "Apply it with `npm run db:migrate`.",
      },
    ]);

    await behind.owner.query(
      `insert into graphile_migrate.migrations (hash, filename)
        values ('sha1:x', '${last!.slice(0, 6)}.sql'), ('sha1:y', '900000.sql')`,
    );
    const foreign = await told(behind);
    expect(foreign.findings.map(({ object, problem }) => ({ object, problem }))).toEqual([
      {
        object: `${COMMITTED}/${last}`,
        problem: "the database has a different migration of this number",
      },
      {
        object: "migration 900000.sql",
        problem: `the database has it, but ${COMMITTED} lacks it`,
      },
    ]);
    expect(foreign.skipped).toEqual([
      "drift: the database has other migrations than this checkout",
    ]);
  });

  it("exits 0 without findings, and 1 with a remedy if the tracked SDL is old", async () => {
    await using clean = await makeChecked();
    const found = await run(clean.url);
    expect(found).toMatchObject({ code: 0, stderr: "" });
    expect(found.stdout).toContain("Compared the schemas public, dex_private, ingest.");
    expect(found.stdout).toContain("Did not check data: `npm run db:verify` does.");
    expect(found.stdout).toMatch(/\nNothing found\.\n$/);

    const sdl = join(copy.folder, "graphql/schema.graphql");
    const text = await readFile(sdl, "utf8");
    await writeFile(sdl, text.replace(/^.*\n/, "# old\n"));
    const old = await run(clean.url);
    expect(old.code).toBe(1);
    expect(old.stdout).toContain(
      "sdl: graphql/schema.graphql\n" +
        "  differs from the schema that the migrations create: line 1 is `# old`, not",
    );
    expect(old.stdout).toMatch(/npm run generate -- schema[^]*\n1 finding\.\n$/);
  });

  it("reports a changed committed migration and a broken chain in JSON", async () => {
    const [first] = files;
    const [second, third] = await commitMore(["one", "two"]);
    const path = join(copy.folder, COMMITTED, first!);
    const text = await readFile(path, "utf8");
    await writeFile(path, `${text}\ndrop table dex_trade;\n`);
    await rm(join(copy.folder, COMMITTED, second!));
    const { code, stdout, stderr } = await run(database.url, ["--json"]);

    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const told = JSON.parse(stdout) as CheckResult & { database: string };
    expect(told.database).not.toContain(new URL(database.url).password);
    expect(told.findings.filter((finding) => finding.check === "migrations")).toEqual([
      {
        check: "migrations",
        object: `${COMMITTED}/${first}`,
        problem: "it has been changed since it was committed: its hash differs from its header's",
        remedy: `Restore it (git checkout ${COMMITTED}/${first}), and write the change as a new migration.`,
      },
      expect.objectContaining({
        object: `${COMMITTED}/${third}`,
        problem: `its header does not name the hash of ${first}, the one before it`,
      }),
      expect.objectContaining({
        object: `${COMMITTED}/${third}`,
        problem: "the database lacks it",
      }),
    ]);
    expect(told.skipped).toEqual(["drift and the SDL: committed migrations have been changed"]);
  });

  it("exits 2 for an EXPOSED_SCHEMAS that the service rejects, and names the accepted value", async () => {
    expect(await run(database.url, [], { EXPOSED_SCHEMAS: "site,dex_private" })).toEqual({
      code: 2,
      stdout: "",
      stderr:
        'The database could not be checked: EXPOSED_SCHEMAS: "site,dex_private" is not names of your own schemas, separated by commas.\n',
    });
  });

  it("exits 2 and names the reason if it cannot check", async () => {
    const nowhere = new URL(database.url);
    nowhere.pathname = "/dex_nowhere";
    const { code, stdout, stderr } = await run(nowhere.href);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(
      'The database could not be checked: database "dex_nowhere" does not exist\n',
    );
  });
});
