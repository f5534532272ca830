// Runs the commands for changing the schema, on a copy of the repository's migrations.
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { urlForDatabase, type Client } from "../../db/connect.ts";
import { openEmbedded } from "../../db/embedded/open.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { clusterUrl, makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { copyRepository, type RepositoryCopy } from "../repository-copy.ts";
import { DataDirs, PATIENT, readinessOf, runFile, type Ended } from "../service.ts";

const BLANK =
  "-- Write the next change here, so that it can run again and again; see db/README.md.\n";
const CHANGE = `create or replace view token_symbol as
select
  token.symbol
from dex_token as token;
grant select on token_symbol to dex_reader;
`;

let copy: RepositoryCopy;
let database: TestDatabase;
beforeAll(async () => {
  copy = await copyRepository();
  database = await makeDatabase({ migrated: false });
});
beforeEach(async () => {
  for (const name of await readdir(join(copy.folder, "db/migrations/current"))) {
    await rm(join(copy.folder, "db/migrations/current", name));
  }
  await writeFile(join(copy.folder, "db/migrations/current/1-current.sql"), BLANK);
});
afterAll(async () => {
  const shadow = `${new URL(database.url).pathname.slice(1)}_shadow`;
  await database.drop();
  await using admin = await openClient(clusterUrl());
  await admin.query(`drop database if exists ${shadow} with (force)`);
  await copy.remove();
});

const migrate = (args: string[], env: Record<string, string>): Promise<Ended> =>
  runFile("db/commands/migrate.ts", env, args, copy.folder).ended;

const status = (env: Record<string, string>): Promise<Ended> =>
  runFile("db/commands/status.ts", env, [], copy.folder).ended;

const committed = (): Promise<string[]> => readdir(join(copy.folder, "db/migrations/committed"));

it("creates the roles, migrates, commits a change with a shadow database, and uncommits it", async () => {
  const env = { DATABASE_OWNER_URL: database.url };
  const before = await committed();

  const roles = await runFile("db/commands/roles.ts", env, [], copy.folder).ended;
  expect(roles).toMatchObject({ code: 0, stderr: "" });
  expect(roles.stdout).not.toContain(`:${new URL(database.url).password}@`);

  // 1: committed migrations wait.
  expect(await status(env)).toMatchObject({ code: 1 });
  expect(await migrate(["migrate"], env)).toMatchObject({ code: 0, stderr: "" });
  expect(await status(env)).toMatchObject({ code: 0, stdout: "Up to date.\n" });

  await writeFile(join(copy.folder, "db/migrations/current/1-current.sql"), CHANGE);
  const applied = await runFile("db/commands/watch.ts", env, ["--once"], copy.folder).ended;
  expect(applied).toMatchObject({ code: 0, stderr: "" });
  expect(applied.stdout).toMatch(
    /^graphile-migrate: Already up to date\ncurrent: applied in \d+ ms\n$/,
  );
  expect((await database.reader.query("select symbol from token_symbol")).rows).toEqual([]);
  // 2: the next change is not committed.
  expect(await status(env)).toMatchObject({ code: 2 });

  expect(await migrate(["commit", "--message", "token symbol"], env)).toMatchObject({
    code: 0,
    stderr: "",
  });
  const [added] = (await committed()).filter((name) => !before.includes(name));
  expect(added).toMatch(/^\d{6}-token-symbol\.sql$/);
  const file = join(copy.folder, "db/migrations/committed", added!);
  expect(await readFile(file, "utf8")).toContain(CHANGE);
  // A service of another account reads it.
  expect((await stat(file)).mode & 0o777).toBe(0o444);
  expect(await readFile(join(copy.folder, "db/migrations/current/1-current.sql"), "utf8")).toBe(
    BLANK,
  );
  const { rows } = await database.owner.query(
    "select tableowner from pg_tables where tablename = 'dex_trade'",
  );
  expect(rows).toEqual([{ tableowner: "dex_owner" }]);

  const after = await committed();
  const wrong = { DATABASE_OWNER_URL: "postgres://dba@127.0.0.1:1/market" };
  expect(await migrate(["uncommit"], wrong)).toMatchObject({ code: 1 });
  expect(await committed()).toEqual(after);
  expect(await migrate(["uncommit"], env)).toMatchObject({ code: 0, stderr: "" });
  expect(await committed()).toEqual(before);
});

it("refuses a change whose number the database has for another one", async () => {
  await using shared = await makeDatabase();
  await using another = await makeDatabase();
  const env = { DATABASE_OWNER_URL: shared.url };
  const elsewhere = { DATABASE_OWNER_URL: another.url };
  for (const owner of [env, elsewhere]) {
    const roles = await runFile("db/commands/roles.ts", owner, [], copy.folder).ended;
    expect(roles).toMatchObject({ code: 0 });
  }
  const before = await committed();
  const current = join(copy.folder, "db/migrations/current/1-current.sql");
  await writeFile(current, CHANGE);
  expect(await migrate(["commit", "-m", "one"], env)).toMatchObject({ code: 0 });
  const [own = ""] = (await committed()).filter((name) => !before.includes(name));
  const folder = join(copy.folder, "db/migrations/committed");
  const first = await readFile(join(folder, own), "utf8");

  // In another clone, which has not got that file.
  await rm(join(folder, own));
  await writeFile(current, CHANGE.replaceAll("token_symbol", "token_name"));
  expect(await migrate(["commit", "-m", "other"], env)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The database has the migration \d{6}\.sql, which .*lacks/),
  });
  expect(await committed()).toEqual(before);
  // Against a database without it, it gets the number.
  expect(await migrate(["commit", "-m", "other"], elsewhere)).toMatchObject({ code: 0 });
  const different = expect.stringMatching(
    /The database has a different migration of the number of \d{6}-other\.sql, which is not applied/,
  );
  expect(await migrate(["migrate"], env)).toMatchObject({ code: 1, stderr: different });
  expect(await status(env)).toMatchObject({ code: 4, stderr: different });

  const [other = ""] = (await committed()).filter((name) => !before.includes(name));
  await rm(join(folder, other));
  await writeFile(join(folder, own), first);
  expect(await migrate(["migrate"], env)).toMatchObject({ code: 0 });
  expect(await status(env)).toMatchObject({ code: 0, stdout: "Up to date.\n" });
  await rm(join(folder, own), { force: true });
});

it("finds the running embedded database and its shadow by default", async () => {
  const dataDirs = new DataDirs();
  const dataDir = await dataDirs.make();
  const embedded = await openEmbedded({ dataDir, log: () => undefined });
  try {
    const env = { DATA_DIR: dataDir };
    expect(await status(env)).toMatchObject({ code: 0, stdout: "Up to date.\n" });
    expect(await runFile("db/commands/roles.ts", env).ended).toMatchObject({ code: 0 });

    await writeFile(join(copy.folder, "db/migrations/current/1-current.sql"), CHANGE);
    expect(await migrate(["commit"], env)).toMatchObject({ code: 0, stderr: "" });
    for (const name of ["dex", "dex_shadow"]) {
      await using reader = await openClient(urlForDatabase(embedded.url, name), {
        role: "dex_reader",
      });
      expect((await reader.query("select symbol from token_symbol")).rows).toEqual([]);
    }
    expect(await migrate(["uncommit"], env)).toMatchObject({ code: 0 });
  } finally {
    await embedded.stop();
    await dataDirs.remove();
  }
});

it("leaves a service ready whose folder gets the migrations of the next release", async () => {
  await using migrated = await makeDatabase();
  const env = { ...PATIENT, DATABASE_URL: migrated.url, PORT: "0" };
  const service = runFile("server/main.ts", env, [], copy.folder);
  const next = join(copy.folder, "db/migrations/committed/000099.sql");
  try {
    const url = await service.url;
    await writeFile(next, "-- not applied yet");
    expect(await readinessOf(url)).toEqual({ status: 200, reasons: [] });
  } finally {
    await rm(next);
    service.signal("SIGTERM");
    await service.ended;
  }
});

it("names the remedy without a database", async () => {
  const ended = await status({ DATA_DIR: join(copy.folder, "nowhere") });

  expect(ended.code).toBe(4);
  expect(ended.stderr).toBe(
    `The status cannot be read: There is no embedded database in ${join(copy.folder, "nowhere")}. Start one with \`npm start\` and leave it running, or set DATABASE_OWNER_URL.\n`,
  );
});

it.each(["127.0.0.1", "localhost"])(
  "reports in one line that no database answers at %s",
  async (host) => {
    const env = { DATABASE_OWNER_URL: `postgres://dba@${host}:1/market` };
    const told = await status(env);
    expect(told).toMatchObject({ code: 4, stdout: "" });
    expect(told.stderr).toMatch(/^The status cannot be read: connect ECONNREFUSED .*\n$/);
    for (const command of ["migrate", "commit"]) {
      const { code, stderr } = await migrate([command], env);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^connect ECONNREFUSED .*\n$/);
    }
  },
);

it("names the remedy if the login may not create a shadow database", async () => {
  await using admin = await openClient(clusterUrl());
  const login = `owning_${process.pid}`;
  await admin.query(`create role ${login} login password 'secret' in role dex_owner`);
  try {
    const url = new URL(database.url);
    url.username = login;
    url.password = "secret";
    const env = { DATABASE_OWNER_URL: url.href };
    await writeFile(join(copy.folder, "db/migrations/current/1-current.sql"), CHANGE);
    const before = await committed();
    const commit = await migrate(["commit"], env);
    expect(commit.code).toBe(1);
    expect(commit.stderr).toMatch(
      new RegExp(
        `permission denied to create database\\. The shadow database is created with postgres://${login}@\\S+/postgres\\. ` +
          "Set SHADOW_DATABASE_URL and ROOT_DATABASE_URL to a login that may create databases, " +
          `or run: alter role ${login} createdb;\n$`,
      ),
    );
    expect(await committed()).toEqual(before);
    const check = await runFile("server/check-database.ts", env, [], copy.folder).ended;
    expect(check).toMatchObject({ code: 2, stdout: "" });
    expect(check.stderr).toContain("Set SHADOW_DATABASE_URL and ROOT_DATABASE_URL");
  } finally {
    await admin.query(`drop role ${login}`);
  }
});

describe("with a lock held for longer than lock_timeout", () => {
  const LOCKING = `set local lock_timeout = '100ms';
alter table dex_token add column if not exists note text;
`;
  const TRY_AGAIN = "lock_timeout expired before a lock was granted: try 2 of 20.\n";
  let holding: Client;
  beforeEach(async () => {
    await makeRoles(database.url);
    await applyMigrations(database.url, join(copy.folder, "db/migrations"));
    await writeFile(join(copy.folder, "db/migrations/current/1-current.sql"), LOCKING);
    holding = await openClient(database.url, { role: "dex_reader", applicationName: "a report" });
    await holding.query("begin; select count(*) from dex_token");
  });
  afterEach(async () => {
    await holding.end();
  });

  it.each([
    ["db/commands/watch.ts", ["--once"]],
    ["db/commands/migrate.ts", ["commit"]],
  ])("%s retries with a message, and continues", async (file, args) => {
    const env = { DATABASE_OWNER_URL: database.url };
    const running = runFile(file, env, args, copy.folder);
    await running.printed(/try 3 of 20/);
    await holding.query("rollback");
    const ended = await running.ended;

    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toContain(TRY_AGAIN);
    const { rowCount } = await database.owner.query(
      "select from pg_attribute where attrelid = 'dex_token'::regclass and attname = 'note'",
    );
    expect(rowCount).toBe(1);
    if (args[0] === "commit") await migrate(["uncommit"], env);
  });

  it("names the session that holds the lock when it gives up", async () => {
    const env = { DATABASE_OWNER_URL: database.url };
    const other = LOCKING.replace("note", "remark");
    await writeFile(join(copy.folder, "db/migrations/current/1-current.sql"), other);
    const { code, stdout } = await runFile("db/commands/watch.ts", env, ["--once"], copy.folder)
      .ended;

    expect(code).toBe(1);
    const { rows } = await holding.query<{ pid: number; login: string }>(
      "select pg_backend_pid() as pid, session_user as login",
    );
    const { pid, login } = rows[0]!;
    expect(stdout).toMatch(
      new RegExp(
        "\nlock_timeout expired before a lock was granted, in 20 tries\\. Blocking sessions:\n" +
          `  pid ${pid} \\(a report, login ${login}\\), by AccessExclusiveLock on dex_token, ` +
          "for \\d+\\.\\d s: begin; select count\\(\\*\\) from dex_token\n" +
          "Nothing was applied\\.\n$",
      ),
    );
  });
});

it.each(["DATABASE_OWNER_URL", "DATABASE_URL"])("names %s where it is no URL", async (name) => {
  for (const given of ["secret", "http://127.0.0.1/secret", "postgres://127.0.0.1:99999/secret"]) {
    const ended = await status({ [name]: given });
    expect(ended).toMatchObject({ code: 4, stdout: "" });
    expect(ended.stderr).toBe(
      `The status cannot be read: ${name}: what was given is not a URL such as postgres://user:password@host:5432/database.\n`,
    );
  }
});

it("shows the status of a database that cannot be written to, such as a standby", async () => {
  await using own = await makeDatabase({ migrated: false });
  await makeRoles(own.url);
  await using admin = await openClient(own.url);
  const name = new URL(own.url).pathname.slice(1);
  await admin.query(`alter database ${name} set default_transaction_read_only = on`);
  const told = await status({ DATABASE_OWNER_URL: own.url });
  const names = (await committed()).sort().join(", ");
  expect(told).toMatchObject({ code: 1, stdout: `Committed migrations wait: ${names}.\n` });
});

it("leaves no shadow database when a check is interrupted", async () => {
  await using admin = await openClient(clusterUrl());
  const login = `interrupted_${process.pid}`;
  await admin.query(`create role ${login} superuser login password 'secret'`);
  const own = Object.assign(new URL(database.url), { username: login, password: "secret" });
  const shadows = async (): Promise<number | null> => {
    const { rowCount } = await admin.query(
      "select from pg_database where datname like 'dex\\_check\\_%' and datdba = to_regrole($1)",
      [login],
    );
    return rowCount;
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const check = runFile(
      "server/check-database.ts",
      { DATABASE_OWNER_URL: own.href },
      [],
      copy.folder,
    );
    while ((await shadows()) === 0) await sleep(5);
    check.signal(signal);
    expect(await check.ended).toMatchObject({ code: 2, stdout: "" });
    expect(await shadows()).toBe(0);
  }
  await admin.query(`drop role ${login}`);
});

it("says which rights every login keeps where no superuser has made the roles", async () => {
  const own = await makeDatabase({ migrated: false });
  await using admin = await openClient(clusterUrl());
  const login = `creating_${process.pid}`;
  await admin.query(`create role ${login} createrole login password 'secret'`);
  await admin.query(`grant dex_owner, dex_writer, dex_reader to ${login} with admin option`);
  const name = new URL(own.url).pathname.slice(1);
  await admin.query(`alter database ${name} owner to ${login}`);
  const url = Object.assign(new URL(own.url), { username: login, password: "secret" }).href;
  const makeWith = async (ownerUrl: string): Promise<Ended> =>
    runFile("db/commands/roles.ts", { DATABASE_OWNER_URL: ownerUrl }).ended;

  const byCreator = await makeWith(url);
  expect(byCreator).toMatchObject({ code: 0, stderr: "" });
  expect(byCreator.stdout).toContain("Every login keeps the right to large objects, ");
  expect((await makeWith(own.url)).stdout).not.toContain("Every login keeps");
  expect((await makeWith(url)).stdout).not.toContain("Every login keeps");

  await own.drop();
  await admin.query(`drop role ${login}`);
});

it("names the login that may not create roles", async () => {
  await using admin = await openClient(clusterUrl());
  const login = `nobody_${process.pid}`;
  await admin.query(`create role ${login} login password 'secret'`);
  try {
    const url = new URL(database.url);
    url.username = login;
    url.password = "secret";
    const ended = await runFile("db/commands/roles.ts", { DATABASE_OWNER_URL: url.href }).ended;

    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/^The roles cannot be made: permission denied/);
  } finally {
    await admin.query(`drop role ${login}`);
  }
});

it.each([
  ["batch=0x10", "--batch is an integer from 1 to 9007199254740991"],
  ["batch=1e3", "--batch is an integer from 1 to 9007199254740991"],
  ["batch=0", "--batch is an integer from 1 to 9007199254740991"],
  ["batch=", "--batch is an integer from 1 to 9007199254740991"],
  ["pause=2147483648", "--pause is an integer from 0 to 2147483647"],
])("fills no column with --%s", async (option, message) => {
  const args = ["update.sql", `--${option}`];
  const ended = await runFile("db/commands/backfill.ts", {}, args, copy.folder).ended;
  expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
});

it.each([
  [{ FINALITY: "007" }, []],
  [{ FINALITY: "64" }, ["--finality", "007"]],
])("exports nothing with %j and %j, and names both", async (env, given) => {
  const args = ["--dir", copy.folder, ...given];
  const ended = await runFile("db/commands/export.ts", env, args).ended;
  const message = '--finality (or FINALITY) is an integer from 0 to 2147483647, not "007"';
  expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
});
