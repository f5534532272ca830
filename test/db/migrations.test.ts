// Migrating again, beside another and after one that was killed: the database ends up the same.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { applyOnly } from "../../db/check/shadow.ts";
import { connect, type Client } from "../../db/connect.ts";
import { applyMigrations, pendingMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/roles.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
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
  const killed = spawn(process.execPath, [
    "--input-type=module",
    "-e",
    `const { applyMigrations } = await import(${JSON.stringify(MIGRATIONS)});
    await applyMigrations(${JSON.stringify(database.url)});`,
  ]);
  const gone = once(killed, "exit");
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
  killed.kill("SIGKILL");
  await gone;
  expect(await recorded()).toEqual(files.slice(0, 4).map((file) => `${file.slice(0, 6)}.sql`));

  const next = applyMigrations(database.url);
  // PostgreSQL still works for the one that was killed, until it may answer it.
  await admin.query("commit");
  await next;

  expect(await pendingMigrations(database.reader)).toEqual([]);
  expect(await recorded()).toHaveLength(files.length);
});
