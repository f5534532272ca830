// Migrating again, beside another and after one that was killed: the database ends up the same.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { applyOnly } from "../../db/check/shadow.ts";
import { connect, type Client } from "../../db/connect.ts";
import { applyMigrations, pendingMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/roles.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { commitLater } from "../later-migration.ts";
import { runFile } from "../service.ts";

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
  admin = await connect(database.url);
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

/** Applies migrations in a process of its own; kills it when it is called. */
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

it("waits for another process that migrates at once", async () => {
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

it("goes on where a process was killed in the middle of a migration", async () => {
  // 000005 makes triggers on dex_trade, for which it has to wait.
  await applyOnly(database.url, files.slice(0, 3));
  await admin.query("begin");
  await admin.query("lock table dex_trade in share update exclusive mode");
  const kill = applyElsewhere();
  // The rehearsal before it waits too, and records nothing.
  const isInTheMiddle = async (): Promise<boolean> => {
    const { rowCount } = await admin.query(
      `select
      from pg_locks
      where not granted
        and relation = 'dex_trade'::regclass`,
    );
    return rowCount === 1 && (await recorded()).length === 4;
  };
  while (!(await isInTheMiddle())) await sleep(20);
  await kill();
  expect(await recorded()).toEqual(files.slice(0, 4).map((file) => `${file.slice(0, 6)}.sql`));

  const next = applyMigrations(database.url);
  // PostgreSQL still works for the one that was killed, until it may answer it.
  await admin.query("commit");
  await next;

  expect(await pendingMigrations(database.reader)).toEqual([]);
  expect(await recorded()).toHaveLength(files.length);
});

it("tries again where a lock was not to be had within the migration's lock_timeout", async () => {
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
    "A lock was not to be had within lock_timeout: try 2 of 20.",
    "A lock was not to be had within lock_timeout: try 3 of 20.",
  ]);
});

describe("an index that is made concurrently", () => {
  const INDEX = "dex_trade_tx_later_idx";
  let folder: string;
  /** In a transaction, which the making of an index waits for. */
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
    writing = await connect(database.url);
    await writing.query("begin");
    await writing.query("lock table dex_trade in row exclusive mode");
  });
  afterEach(async () => {
    await writing.end();
    await rm(folder, { recursive: true });
  });

  /** Whether it is whole; undefined where there is none. */
  const isWhole = async (): Promise<boolean | undefined> => {
    const { rows } = await admin.query<{ valid: boolean }>(
      "select indisvalid as valid from pg_index where indexrelid = to_regclass($1)",
      [INDEX],
    );
    return rows[0]?.valid;
  };
  const hasBegun = async (): Promise<void> => {
    while ((await isWhole()) === undefined) await sleep(20);
  };
  /** Those that look whether it is their turn, or wait for it. */
  const inTurn = async (): Promise<boolean> => {
    const { rowCount } = await admin.query(
      `select
      from pg_stat_activity
      where datname = current_database()
        and query like 'select pg\\_%advisory\\_lock%'`,
    );
    return rowCount !== 0;
  };

  it("is there whole where the process is killed and PostgreSQL goes on with it", async () => {
    const kill = applyElsewhere(folder);
    await hasBegun();
    await kill();
    const next = applyMigrations(database.url, folder);
    while (!(await inTurn())) await sleep(20);
    await writing.query("commit");
    await next;

    expect(await isWhole()).toBe(true);
    expect(await recorded()).toHaveLength(files.length + 1);
  });

  it("is made again where PostgreSQL has broken it off too, and left it half made", async () => {
    const kill = applyElsewhere(folder);
    await hasBegun();
    await kill();
    // As a crash of the server does.
    await admin.query(
      `select pg_terminate_backend(pid, 10000)
      from pg_stat_activity
      where query like '%create index concurrently%'
        and pid <> pg_backend_pid()`,
    );
    await writing.query("commit");
    expect(await isWhole()).toBe(false);

    await applyMigrations(database.url, folder);

    expect(await isWhole()).toBe(true);
    expect(await recorded()).toHaveLength(files.length + 1);
  });

  it("does not wait for another process that migrates, and waits for its turn", async () => {
    const applying = [applyMigrations(database.url, folder), applyMigrations(database.url, folder)];
    await hasBegun();
    await writing.query("commit");
    await Promise.all(applying);

    expect(await isWhole()).toBe(true);
    expect(await recorded()).toHaveLength(files.length + 1);
  });
});
