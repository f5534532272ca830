// Migrating twice, concurrently, and after a killed migration leaves the database in the same state.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readSettings } from "../../db/check/check.ts";
import { urlForDatabase, type Client } from "../../db/connect.ts";
import { applyMigrations, pendingMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { commitLater } from "../later-migration.ts";
import { readinessOf, runFile, startService } from "../service.ts";

const MIGRATIONS = new URL("../../db/migrations.ts", import.meta.url).href;

let files: string[];
let database: TestDatabase;
let admin: Client;
beforeAll(async () => {
  files = (await readdir(new URL("../../db/migrations/committed", import.meta.url))).sort();
});
beforeEach(async () => {
  database = await makeDatabase({ migrated: false });
  await makeRoles(database.url);
  admin = await openClient(database.url);
});
afterEach(async () => {
  await admin.end();
  await database.drop();
});

const recorded = async (): Promise<string[]> => {
  const { rows } = await database.owner.query<{ filename: string }>(
    "select filename from graphile_migrate.migrations order by filename",
  );
  return rows.map(({ filename }) => filename);
};

/** Applies migrations in a child process; the returned function kills it. */
function applyElsewhere(...folder: string[]): () => Promise<void> {
  const applying = spawn(process.execPath, [
    "--input-type=module",
    "-e",
    `const { applyMigrations } = await import(${JSON.stringify(MIGRATIONS)});
    await applyMigrations(...${JSON.stringify([database.url, ...folder])});`,
  ]);
  const gone = once(applying, "exit");
  return async () => {
    applying.kill("SIGKILL");
    await gone;
  };
}

it("changes nothing the second time", async () => {
  await applyMigrations(database.url);
  const { rows: before } = await admin.query("select * from graphile_migrate.migrations");
  await applyMigrations(database.url);
  const { rows: after } = await admin.query("select * from graphile_migrate.migrations");

  expect(after).toEqual(before);
  expect(after).toHaveLength(files.length);
});

it("refuses a database in which i has another capital, and db:check finds it", async () => {
  const { rows: known } = await admin.query("select from pg_collation where collname = 'tr-x-icu'");
  if (known.length === 0) {
    console.warn("This PostgreSQL has no ICU: not tested.");
    return;
  }
  const { rows } = await admin.query<{ name: string }>(
    "select current_database() || '_turkish' as name",
  );
  const { name } = rows[0]!;
  await admin.query(
    `create database ${name} template template0 locale_provider icu icu_locale 'tr' encoding 'UTF8'`,
  );
  const url = urlForDatabase(database.url, name);
  await makeRoles(url);
  await expect(applyMigrations(url)).rejects.toThrow("writes i in capitals as İ");
  const turkish = await openClient(url);
  const { findings } = await readSettings(turkish);
  await turkish.end();
  await admin.query(`drop database ${name} with (force)`);
  expect(findings).toMatchObject([{ check: "settings", object: "locale of the database" }]);
  expect((await readSettings(admin)).findings).toEqual([]);
});

it.each(["SQL_ASCII", "LATIN1"])(
  "refuses a database with the encoding %s, and db:check finds it",
  async (encoding) => {
    const { rows } = await admin.query<{ name: string }>(
      "select current_database() || '_encoded' as name",
    );
    const { name } = rows[0]!;
    await admin.query(
      `create database ${name} template template0 encoding '${encoding}' locale 'C'`,
    );
    const url = urlForDatabase(database.url, name);
    try {
      await makeRoles(url);
      await expect(applyMigrations(url)).rejects.toThrow(
        `The encoding of this database is ${encoding}, which cannot hold every symbol: create the database with UTF8, ` +
          "by `create database … encoding 'UTF8' template template0`",
      );
      await using encoded = await openClient(url);
      const { findings } = await readSettings(encoded);
      expect(findings).toMatchObject([{ check: "settings", object: "encoding of the database" }]);
    } finally {
      await admin.query(`drop database ${name} with (force)`);
    }
  },
);

it("names dex_owner and db:roles where the roles have no rights on the database", async () => {
  await using bare = await makeDatabase({ migrated: false });
  const { ended } = runFile("db/commands/migrate.ts", { DATABASE_OWNER_URL: bare.url }, [
    "migrate",
  ]);
  const name = new URL(bare.url).pathname.slice(1);
  expect(await ended).toEqual({
    code: 1,
    stdout: "",
    stderr: `dex_owner may not create schemas in ${name}, or tables in its schema public: run \`npm run db:roles\`\n`,
  });
});

it("waits for another process that is migrating", async () => {
  const migrate = () =>
    runFile("db/commands/migrate.ts", { DATABASE_OWNER_URL: database.url }, ["migrate"]).ended;
  const ended = await Promise.all([migrate(), migrate()]);

  expect(ended).toMatchObject([
    { code: 0, stderr: "" },
    { code: 0, stderr: "" },
  ]);
  const told = ended.map(({ stdout }) => stdout).join("");
  expect(told).toContain(`${files.length} committed migrations executed`);
  expect(told).toContain("Already up to date");
  expect(await pendingMigrations(database.reader)).toEqual([]);
});

// The lock of this project, and graphile-migrate's own.
it.each(["4935100202", "4727445306447283"])(
  "says once which session holds the advisory lock %s that it waits for",
  async (lock) => {
    const holder = await openClient(database.url, { applicationName: "somebody" });
    await holder.query("select pg_advisory_lock($1)", [lock]);
    const { rows } = await holder.query<{ pid: number }>("select pg_backend_pid() as pid");
    const told: string[] = [];
    let tell: () => void;
    const isTold = new Promise<void>((resolve) => (tell = resolve));
    const applied = applyMigrations(database.url, undefined, (line) => {
      told.push(line);
      tell();
    });
    await isTold;
    await holder.end();
    await applied;

    const waits = told.filter((line) => line.startsWith("Waiting for "));
    const login = decodeURIComponent(new URL(database.url).username);
    expect(waits).toEqual([
      `Waiting for pid ${rows[0]?.pid} (somebody, login ${login}), which holds the advisory lock of migrations.`,
    ]);
  },
);

describe("later migrations", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "dex-migrations-"));
    const committed = new URL("../../db/migrations/committed", import.meta.url);
    await cp(committed, join(folder, "committed"), { recursive: true });
    await applyMigrations(database.url);
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it("continue after a process was killed during one", async () => {
    const later = [
      await commitLater(folder, "alter table dex_token add column note text;"),
      // The migration waits for this lock.
      await commitLater(folder, "alter table dex_trade add column note text;"),
      await commitLater(folder, "alter table dex_pair add column note text;"),
    ].map((name) => `${name.slice(0, 6)}.sql`);
    const before = await recorded();
    await admin.query("begin");
    await admin.query("lock table dex_trade in share update exclusive mode");
    const kill = applyElsewhere(folder);
    // The rehearsal before it waits for the lock too, and records nothing.
    const isInTheMiddle = async (): Promise<boolean> => {
      const { rowCount } = await admin.query(
        `select
        from pg_locks
        where not granted
          and relation = 'dex_trade'::regclass`,
      );
      return rowCount === 1 && (await recorded()).length === before.length + 1;
    };
    while (!(await isInTheMiddle())) await sleep(20);
    await kill();
    expect(await recorded()).toEqual([...before, later[0]]);

    const next = applyMigrations(database.url, folder);
    // PostgreSQL continues for the killed client until it can send its response.
    await admin.query("commit");
    await next;

    expect(await recorded()).toEqual([...before, ...later]);
    const { rows } = await admin.query(
      `select attrelid::regclass::text as table
      from pg_attribute
      where attname = 'note'
        and not attisdropped
      order by 1`,
    );
    expect(rows).toEqual([{ table: "dex_pair" }, { table: "dex_token" }, { table: "dex_trade" }]);
  });
});

describe("a database of the migrations before the baseline", () => {
  const WAY_OUT =
    "This database has the migrations before the baseline 000001-baseline.sql and cannot be migrated " +
    "further. Export its tokens, pairs, offers and trades as CSV and load them into a new database: " +
    'db/README.md has the commands under "A database of the migrations before the baseline".';
  beforeEach(async () => {
    // Recognized by another first migration on record, and more migrations than there are files.
    await admin.query(`
      create schema dex_private authorization dex_owner;
      create schema graphile_migrate authorization dex_owner;
      set role dex_owner;
      create table graphile_migrate.migrations (
        hash text primary key,
        previous_hash text references graphile_migrate.migrations,
        filename text not null,
        date timestamptz not null default now()
      );
      insert into graphile_migrate.migrations (hash, previous_hash, filename)
      select
        'sha1:' || n,
        case when n > 1 then 'sha1:' || n - 1 end,
        lpad(n::text, 6, '0') || '.sql'
      from generate_series(1, 23) as n;
      create view dex_private.applied_migration as
      select filename, date from graphile_migrate.migrations;
      grant usage on schema dex_private to dex_reader;
      grant select on dex_private.applied_migration to dex_reader;
      create table public.dex_trade (id bigint primary key);
      reset role;
    `);
  });

  it("is rejected by db:migrate with instructions, and stays unchanged", async () => {
    const before = await recorded();
    const { ended } = runFile("db/commands/migrate.ts", { DATABASE_OWNER_URL: database.url }, [
      "migrate",
    ]);
    expect(await ended).toEqual({ code: 1, stdout: "", stderr: `${WAY_OUT}\n` });
    expect(await recorded()).toEqual(before);
    const { rows } = await admin.query(
      "select tablename from pg_tables where schemaname = 'public'",
    );
    expect(rows).toEqual([{ tablename: "dex_trade" }]);
  });

  it("is rejected by a service with --migrate", async () => {
    const { ended } = startService({ DATABASE_URL: database.url }, ["--migrate"]);
    const { code, stdout, stderr } = await ended;
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain(WAY_OUT);
    expect(stdout + stderr).not.toContain("Give a login");
  });

  it("makes a service wait, which says so in the log and at /ready", async () => {
    const service = startService({ DATABASE_URL: database.url });
    const url = await service.url;
    // Log lines are JSON.
    expect(service.output()).toContain(JSON.stringify(WAY_OUT).slice(1, -1));
    expect(await readinessOf(url)).toEqual({ status: 503, reasons: [WAY_OUT] });
    service.signal("SIGTERM");
    await service.ended;
  });
});

it("retries after the migration's lock_timeout", async () => {
  await applyMigrations(database.url);
  const folder = await mkdtemp(join(tmpdir(), "dex-migrations-"));
  const committed = new URL("../../db/migrations/committed", import.meta.url);
  await cp(committed, join(folder, "committed"), { recursive: true });
  await commitLater(
    folder,
    "set local lock_timeout = '50ms';\nalter table dex_token add column note text;",
  );
  await admin.query("begin; lock table dex_token in access share mode");
  const told: string[] = [];
  const print = (line: string): void => {
    told.push(line);
    if (line.includes("try 3")) void admin.query("commit");
  };
  await applyMigrations(database.url, folder, print);
  await rm(folder, { recursive: true });

  expect(await recorded()).toHaveLength(files.length + 1);
  expect(told.filter((line) => line.includes("try "))).toEqual([
    "lock_timeout expired before a lock was granted: try 2 of 20.",
    "lock_timeout expired before a lock was granted: try 3 of 20.",
  ]);
});

describe("an index created concurrently", () => {
  const INDEX = "dex_trade_tx_later_idx";
  let folder: string;
  /** A session with an open transaction, which blocks the creation of an index. */
  let writing: Client;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "dex-migrations-"));
    const committed = new URL("../../db/migrations/committed", import.meta.url);
    await cp(committed, join(folder, "committed"), { recursive: true });
    await applyMigrations(database.url);
    await commitLater(
      folder,
      `--! no-transaction\ncreate index concurrently if not exists ${INDEX} on dex_trade (tx);`,
    );
    writing = await openClient(database.url);
    await writing.query("begin");
    await writing.query("lock table dex_trade in row exclusive mode");
  });
  afterEach(async () => {
    await writing.end();
    await rm(folder, { recursive: true });
  });

  /** Whether the index is valid; undefined if it does not exist. */
  const isValid = async (): Promise<boolean | undefined> => {
    const { rows } = await admin.query<{ valid: boolean }>(
      "select indisvalid as valid from pg_index where indexrelid = to_regclass($1)",
      [INDEX],
    );
    return rows[0]?.valid;
  };
  const hasBegun = async (): Promise<void> => {
    while ((await isValid()) === undefined) await sleep(20);
  };
  /** Whether a session tries to get the migration lock. */
  const isWaiting = async (): Promise<boolean> => {
    const { rowCount } = await admin.query(
      `select
      from pg_stat_activity
      where datname = current_database()
        and query like 'select pg\\_%advisory\\_lock%'`,
    );
    return rowCount !== 0;
  };

  it("is valid after the process is killed and PostgreSQL continues", async () => {
    const kill = applyElsewhere(folder);
    await hasBegun();
    await kill();
    const next = applyMigrations(database.url, folder);
    while (!(await isWaiting())) await sleep(20);
    await writing.query("commit");
    await next;

    expect(await isValid()).toBe(true);
    expect(await recorded()).toHaveLength(files.length + 1);
  });

  it("is created again if PostgreSQL was interrupted and left it invalid", async () => {
    const kill = applyElsewhere(folder);
    await hasBegun();
    await kill();
    // Leaves the same state as a crash of the server.
    await admin.query(
      `select pg_terminate_backend(pid, 10000)
      from pg_stat_activity
      where query like '%create index concurrently%'
        and pid <> pg_backend_pid()`,
    );
    await writing.query("commit");
    expect(await isValid()).toBe(false);

    await applyMigrations(database.url, folder);

    expect(await isValid()).toBe(true);
    expect(await recorded()).toHaveLength(files.length + 1);
  });

  it("is created once by two processes at the same time", async () => {
    const applying = [applyMigrations(database.url, folder), applyMigrations(database.url, folder)];
    await hasBegun();
    await writing.query("commit");
    await Promise.all(applying);

    expect(await isValid()).toBe(true);
    expect(await recorded()).toHaveLength(files.length + 1);
  });
});
