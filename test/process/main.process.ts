// The service as a process: what it starts, what it refuses, and that it leaves nothing behind.
import { execFile } from "node:child_process";
import { access, mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Client } from "../../db/connect.ts";
import { isAlive } from "../../db/embedded/process.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { identifierOf } from "../../graphql/persisted/documents.ts";
import { release } from "../../http/release.ts";
import { clusterUrl, makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { exchange, graphql } from "../exchange-http.ts";
import { aTrade, write } from "../factories.ts";
import {
  DataDirs,
  embeddedUrl,
  PATIENT,
  readinessOf,
  runScript,
  serverPid,
  startService,
  type Ended,
  type Service,
} from "../service.ts";

const execute = promisify(execFile);
const dataDirs = new DataDirs();
const kept = new DataDirs();
/** Of a service that has stopped, without data: to make a database takes longer than most tests do. */
let stopped: string;
const running: Service[] = [];

function start(env: Record<string, string>, args: string[] = []): Service {
  const service = startService({ ...PATIENT, ...env }, args);
  running.push(service);
  return service;
}

async function stop(service: Service): Promise<Ended> {
  service.signal("SIGTERM");
  return service.ended;
}

beforeAll(async () => {
  stopped = await kept.make();
  const service = startService({ ...PATIENT, DATA_DIR: stopped, SEED_TRADES: "0" });
  await service.url;
  expect((await stop(service)).code).toBe(0);
});
afterAll(() => kept.remove());
afterEach(async () => {
  for (const service of running.splice(0)) {
    service.signal("SIGKILL");
    await service.ended;
  }
  await dataDirs.remove();
});

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever came over the wire
const get = async (service: Service, path: string): Promise<{ status: number; body: any }> => {
  const response = await fetch(`${await service.url}${path}`);
  return { status: response.status, body: await response.json() };
};

async function asSuperuser<T>(dataDir: string, ask: (client: Client) => Promise<T>): Promise<T> {
  await using client = await openClient(await embeddedUrl(dataDir));
  return await ask(client);
}

/** A DATA_DIR that was used before; cp keeps its owners. */
async function makeUsed(): Promise<string> {
  const dataDir = await dataDirs.make();
  await execute("cp", ["-a", stopped, dataDir]);
  return dataDir;
}

/** PostgreSQL deletes the file with its number, for which its stop waits, a moment before it ends. */
async function untilEnded(pid: number): Promise<void> {
  while (await isAlive(pid)) await sleep(20);
}

const countTrades = (dataDir: string): Promise<number> =>
  asSuperuser(dataDir, async (client) => {
    const { rows } = await client.query("select count(*)::int as trades from dex_trade");
    return rows[0].trades as number;
  });

describe("without DATABASE_URL", () => {
  it("fills a new database, serves it, and finds it again at the next start", async () => {
    const dataDir = await dataDirs.make();
    const first = start({ DATA_DIR: dataDir });
    const markets = await get(first, "/v1/markets/");
    const ready = await readinessOf(await first.url);
    const filled = await countTrades(dataDir);
    // More statements than an emitter has listeners without a warning, which would be in stderr.
    const fields = Array.from(
      { length: 12 },
      (_, n) => `f${n}: allDexTrades(first: ${n + 1}) { nodes { id } }`,
    );
    const pages = await fetch(`${await first.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: `{ ${fields.join(" ")} }` }),
    });
    const ended = await stop(first);

    expect(markets.status).toBe(200);
    expect(Object.keys(markets.body.data)).toContain("WETH/DAI");
    expect(ready.status).toBe(200);
    expect(pages.status).toBe(200);
    expect(filled).toBe(500);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(ended.stdout.split("\n")[0]!)).toMatchObject({
      msg: `dex-market-data ${release()}, Node.js ${process.versions.node}`,
    });

    const second = start({ DATA_DIR: dataDir });
    expect((await get(second, "/v1/markets/")).status).toBe(200);
    // What was traded is there, and the time between the starts is made up for.
    expect(await countTrades(dataDir)).toBeGreaterThanOrEqual(filled);
    expect((await stop(second)).stdout).not.toContain("Filling");
  });

  it("finishes the first fill that was interrupted", async () => {
    const dataDir = await dataDirs.make();
    const env = { DATA_DIR: dataDir, SEED_TRADES: "20000" };
    const interrupted = start(env);
    await interrupted.printed(/Filling/);
    while ((await countTrades(dataDir)) === 0) await sleep(10);
    interrupted.signal("SIGINT");
    expect(await interrupted.ended).toMatchObject({ code: 0, stderr: "" });

    const again = start(env);
    await again.url;

    expect(await countTrades(dataDir)).toBe(20_000);
    expect((await stop(again)).code).toBe(0);
    const finished = start(env);
    await finished.url;
    expect(finished.output()).not.toContain("Filling");
  });

  it("warns of a name like a setting, and where SEED_TRADES=0 finds the simulated exchange", async () => {
    const dataDir = await dataDirs.make();
    const simulated = start({ DATA_DIR: dataDir });
    await simulated.url;
    await stop(simulated);

    const own = start({ DATA_DIR: dataDir, SEED_TRADES: "0", RATELIMIT: "100" });
    await own.url;

    const warnings = own
      .output()
      .split("\n")
      .filter((line) => line.includes('"level":40'));
    expect(warnings).toEqual([
      expect.stringContaining("RATELIMIT is no setting, and is ignored: did you mean RATE_LIMIT?"),
      expect.stringContaining(`DATA_DIR ${dataDir} holds the simulated exchange`),
    ]);
  });

  it("goes on trading at SIMULATE_RATE", async () => {
    const dataDir = await dataDirs.make();
    const service = start({ DATA_DIR: dataDir, SIMULATE_RATE: "20" });
    await service.url;
    const before = await countTrades(dataDir);

    let after = before;
    while (after <= before) {
      await sleep(50);
      after = await countTrades(dataDir);
    }

    expect(after).toBeGreaterThan(before);
    expect(await stop(service)).toMatchObject({ code: 0, stderr: "" });
  });

  it("never trades into what was loaded under SEED_TRADES=0", async () => {
    const dataDir = await dataDirs.make();
    const unfilled = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    expect((await get(unfilled, "/v1/markets/")).body.data).toEqual({});
    await asSuperuser(dataDir, (client) => write(client, { trades: [aTrade()] }));
    await stop(unfilled);

    const again = start({ DATA_DIR: dataDir, SIMULATE_RATE: "20" });
    expect((await get(again, "/v1/markets/")).body.data).toEqual({});
    const { code, stdout } = await stop(again);

    expect(code).toBe(0);
    expect(stdout).toContain("holds data that this service did not simulate");
    const later = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    await later.url;
    expect(await countTrades(dataDir)).toBe(1);
  });

  it("refuses a DATA_DIR that another service has, and names its process", async () => {
    const dataDir = await makeUsed();
    const first = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    await first.url;

    const second = await start({ DATA_DIR: dataDir, SEED_TRADES: "0" }).ended;

    expect(second).toEqual({
      code: 1,
      // The log's first line names the version.
      stdout: expect.stringMatching(/^[^\n]*"msg":"dex-market-data \d[^\n]*\n$/) as string,
      stderr: `DATA_DIR ${dataDir} is in use by the service that runs as process ${first.pid}. Stop that one first, or give this one another DATA_DIR.\n`,
    });
    expect((await readinessOf(await first.url)).status).toBe(200);
  });

  it("takes over the server that a killed service left", async () => {
    const dataDir = await makeUsed();
    const killed = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    await killed.url;
    const server = await serverPid(dataDir);
    await asSuperuser(dataDir, (client) => write(client, { trades: [aTrade()] }));
    killed.signal("SIGKILL");
    await killed.ended;

    const next = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    await next.url;

    expect(await serverPid(dataDir)).toBe(server);
    expect(await countTrades(dataDir)).toBe(1);
    expect((await stop(next)).code).toBe(0);
    await untilEnded(server!);
  });

  it("starts again where service and server were both killed", async () => {
    const dataDir = await makeUsed();
    const killed = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    await killed.url;
    await asSuperuser(dataDir, (client) => write(client, { trades: [aTrade()] }));
    killed.signal("SIGKILL");
    process.kill((await serverPid(dataDir))!, "SIGKILL");
    await killed.ended;

    const next = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    await next.url;

    expect(await countTrades(dataDir)).toBe(1);
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "answers at %s what it has begun, and leaves nothing running",
    async (signal) => {
      const dataDir = await makeUsed();
      const service = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
      const url = await service.url;
      const server = await serverPid(dataDir);
      const { answer } = await asSuperuser(dataDir, async (client) => {
        // The request waits for the table.
        await client.query("begin");
        await client.query(
          "lock table dex_pair, dex_private.market_figure in access exclusive mode",
        );
        const begun = fetch(`${url}/v1/markets/`);
        await untilSomebodyWaits(client);
        service.signal(signal);
        service.signal(signal);
        await service.printed(/Stopping/);
        await expect(fetch(`${url}/health`)).rejects.toThrow();
        await client.query("commit");
        // In an object: a promise would be awaited after the connection is closed.
        return { answer: begun };
      });

      expect((await answer).status).toBe(200);
      expect(await service.ended).toMatchObject({ code: 0, stderr: "" });
      await untilEnded(server!);
    },
  );

  it("is not ready while it finishes what it has begun, where a balancer asks for that", async () => {
    const dataDir = await makeUsed();
    const service = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    while ((await get(service, "/ready")).status !== 200) await sleep(100);
    const { answer, meanwhile } = await asSuperuser(dataDir, async (client) => {
      await client.query("begin");
      await client.query("lock table dex_pair, dex_private.market_figure in access exclusive mode");
      const begun = get(service, "/v1/markets/");
      await untilSomebodyWaits(client);
      service.signal("SIGTERM");
      await service.printed(/Stopping/);
      // Longer than a balancer needs to notice.
      await sleep(1500);
      const ready = await get(service, "/ready");
      const other = await get(service, "/health");
      await client.query("commit");
      return { answer: begun, meanwhile: [ready, other.status] };
    });

    expect(meanwhile).toEqual([
      { status: 503, body: { status: "not ready", reasons: ["The service is stopping"] } },
      200,
    ]);
    expect((await answer).status).toBe(200);
    expect(await service.ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("gives up at a second signal what it has begun, and leaves nothing running", async () => {
    const dataDir = await makeUsed();
    const service = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    const url = await service.url;
    const server = await serverPid(dataDir);
    const client = await openClient(await embeddedUrl(dataDir));
    await client.query("begin");
    await client.query("lock table dex_pair, dex_private.market_figure in access exclusive mode");
    const begun = fetch(`${url}/v1/markets/`).catch((error: unknown) => error);
    await untilSomebodyWaits(client);
    service.signal("SIGTERM");
    await service.printed(/Stopping …/);
    // One Ctrl-C may come twice at once; this is another.
    await sleep(300);
    service.signal("SIGTERM");

    // While the lock is still held.
    const { code, stdout } = await service.ended;
    expect(code).toBe(0);
    // What was asked for is no fault.
    expect(stdout).not.toContain('"level":50');
    expect(await begun).toHaveProperty("message", "fetch failed");
    await untilEnded(server!);
  });

  it("stops by npm's SIGTERM, as where npm is what a container runs", async () => {
    const dataDir = await makeUsed();
    const npm = runScript("start", {
      DATA_DIR: dataDir,
      SEED_TRADES: "0",
      PORT: "0",
    });
    running.push(npm);
    const url = await npm.url;
    const server = await serverPid(dataDir);

    npm.signal("SIGTERM");

    expect(await npm.ended).toMatchObject({ code: 0 });
    await expect(fetch(`${url}/health`)).rejects.toThrow();
    await untilEnded(server!);
  });

  it("starts its database again when that was killed, and says so once", async () => {
    const dataDir = await makeUsed();
    const service = start({ DATA_DIR: dataDir, SEED_TRADES: "0", CACHE_BYTES: "0" });
    await service.url;
    const killed = (await serverPid(dataDir))!;
    process.kill(killed, "SIGKILL");
    await service.printed(/ended unexpectedly/);
    while ((await get(service, "/v2/prices")).status !== 200) await sleep(100);

    expect(await serverPid(dataDir)).not.toBe(killed);
    const { code, stdout } = await stop(service);
    expect(code).toBe(0);
    expect(stdout.match(/The embedded PostgreSQL has ended unexpectedly\./g)).toHaveLength(1);
    expect(await serverPid(dataDir)).toBeUndefined();
  });

  it("ends with the reason where its database cannot be started again", async () => {
    const dataDir = await makeUsed();
    const service = start({ DATA_DIR: dataDir, SEED_TRADES: "0" });
    await service.url;
    await writeFile(join(dataDir, "postgres", "postgresql.conf"), "nonsense = 1\n");
    process.kill((await serverPid(dataDir))!, "SIGKILL");

    const { code, stderr } = await service.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/PostgreSQL did not start in .*nonsense/s);
  });

  it.each(["PORT", "METRICS_PORT"])("seeds nothing where %s is in use", async (setting) => {
    const dataDir = await dataDirs.make();
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as { port: number };

    const ended = await start({ DATA_DIR: dataDir, [setting]: String(port) }).ended;
    await new Promise((resolve) => taken.close(resolve));

    expect(ended.code).toBe(1);
    expect(ended.stderr).toBe(
      `${setting} ${port} of 127.0.0.1 is in use. Give another ${setting}, or 0 for any that is free.\n`,
    );
    expect(ended.stdout).not.toContain("Filling");
    expect(await serverPid(dataDir)).toBeUndefined();
  });

  it("goes on where it was killed while it filled", async () => {
    const dataDir = await dataDirs.make();
    const killed = start({ DATA_DIR: dataDir, SEED_TRADES: "100000" });
    await killed.printed(/Filling/);
    while ((await countTrades(dataDir)) === 0) await sleep(20);
    killed.signal("SIGKILL");
    await killed.ended;
    const filled = await countTrades(dataDir);
    expect(filled).toBeLessThan(100_000);

    const next = start({ DATA_DIR: dataDir });
    const summary = await get(next, "/v2/summary/weth/dai");
    const { stdout } = await stop(next);

    expect(summary.body.data.trades).toBeGreaterThan(0);
    expect(stdout).not.toContain("Filling");
    expect(stdout).toMatch(/The simulated exchange has made \d+ trade\(s\) since/);
  });

  it("can be stopped while it starts", async () => {
    const dataDir = await dataDirs.make();
    const service = start({ DATA_DIR: dataDir, SEED_TRADES: "100000" });
    await service.printed(/Filling/);

    const ended = await stop(service);

    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(await serverPid(dataDir)).toBeUndefined();
  });
});

it("names every wrong setting at once", async () => {
  const { code, stderr } = await start({ PORT: "eighty", POOL_SIZE: "0" }).ended;

  expect(code).toBe(1);
  expect(stderr).toBe(
    'PORT: "eighty" is not an integer from 0 (any free port) to 65535.\n' +
      'POOL_SIZE: "0" is not an integer from 1 to 1000.\n',
  );
});

async function untilSomebodyWaits(client: Client): Promise<void> {
  for (;;) {
    const { rowCount } = await client.query("select from pg_locks where not granted");
    if (rowCount !== 0) return;
  }
}

describe("with files of settings, and a folder of files", () => {
  const NOWHERE = { DATABASE_URL: "postgres://app:secret@127.0.0.1:1/market" };
  const HEAD = "{ dexHead { block } }";
  let folder: string;
  beforeEach(async () => {
    folder = await dataDirs.make();
    await mkdir(folder);
  });

  it("refuses wrong ones at the start, by file and line", async () => {
    await writeFile(join(folder, "keys"), "# none\nacme short\n");
    await writeFile(join(folder, "wrong.graphql"), "{");
    const keys = await start({ ...NOWHERE, API_KEYS_FILE: join(folder, "keys") }).ended;
    expect(keys.code).toBe(1);
    expect(keys.stderr).toMatch(/^API_KEYS_FILE: .*keys: line 2: behind the name must be a key/);
    const documents = await start({ ...NOWHERE, PERSISTED_DIR: folder }).ended;
    expect(documents.code).toBe(1);
    expect(documents.stderr).toMatch(/^PERSISTED_DIR: .*wrong\.graphql is no GraphQL document/);
    for (const [dir, code] of [
      [join(folder, "keys"), "EEXIST"],
      ["/proc/files/of/ours", "ENOENT"],
    ] as const) {
      const files = await start({ ...NOWHERE, FILES_DIR: dir }).ended;
      expect([files.code, files.stderr]).toEqual([
        1,
        expect.stringMatching(new RegExp(`^FILES_DIR ${dir} cannot be made: ${code}`)),
      ]);
    }
  });

  it("refuses a folder in that of its database by any path, and makes nothing there", async () => {
    const dataDir = join(folder, "data");
    await mkdir(dataDir);
    await symlink(dataDir, join(folder, "link"));
    const files = join(dataDir, "postgres", "files");
    const { code, stderr } = await start({
      ...{ DATA_DIR: join(folder, "link"), FILES_DIR: files, SEED_TRADES: "0" },
    }).ended;
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`${files} is a folder of a database`) as string,
    ]);
    await expect(access(files)).rejects.toThrow("ENOENT");
    const corrected = { DATA_DIR: dataDir, FILES_DIR: join(dataDir, "files"), SEED_TRADES: "0" };
    expect((await readinessOf(await start(corrected).url)).status).toBe(200);
  });

  it("refuses a wrong file of markets by its setting, before it makes a database", async () => {
    const dataDir = join(folder, "data");
    const list = join(folder, "list.json");
    await writeFile(list, "{}");
    const indexing = {
      ...{ DATA_DIR: dataDir, RPC_URL: "http://127.0.0.1:1", FROM_BLOCK: "0" },
      EXCHANGE: "0x5fbdb2315678afecb367f032d93f642f64180aa3",
    };
    for (const [setting, file, problem, accepted] of [
      ["PAIRS", "/nonexistent", "cannot be read: ENOENT: ", "a CSV file as pairs.csv"],
      ["TOKEN_LIST", list, "is no token list: ", "a JSON file by the Token Lists standard, or "],
    ] as const) {
      const { code, stderr } = await start({ ...indexing, [setting]: file }).ended;
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`^${setting}: ${file} ${problem}`));
      expect(stderr).toContain(`Accepted is the path of ${accepted}`);
      await expect(access(dataDir)).rejects.toThrow("ENOENT");
    }
  });

  it("runs the documents and knows the keys", async () => {
    const key = "a-key-of-twenty-letters";
    await writeFile(join(folder, "keys"), `acme ${key} rate=7\n`);
    await writeFile(join(folder, "head.graphql"), HEAD);
    await using database = await makeDatabase();
    const service = start({
      ...{ DATABASE_URL: database.url, PERSISTED_DIR: folder, PERSISTED_ONLY: "1" },
      API_KEYS_FILE: join(folder, "keys"),
    });
    const path = `/graphql?documentId=${identifierOf(HEAD)}`;
    const answer = await fetch(`${await service.url}${path}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect([answer.status, answer.headers.get("ratelimit-policy")]).toEqual([
      200,
      '"requests";q=7;w=60',
    ]);
    expect((await stop(service)).stdout).not.toContain(key);
  });
});

describe("with DATABASE_URL", () => {
  let database: TestDatabase | undefined;
  afterEach(async () => {
    await database?.drop();
    database = undefined;
  });

  it("serves it as a reader who cannot write, and leaves it as empty as it is", async () => {
    database = await makeDatabase();
    const service = start({ DATABASE_URL: database.url, SIMULATE_RATE: "20" });

    expect((await get(service, "/v1/markets/")).body.data).toEqual({});
    const { rows } = await database.owner.query(
      "select distinct usename from pg_stat_activity where datname = current_database() and application_name = 'dex-market-data'",
    );
    expect(rows.length).toBeGreaterThan(0);
    const { code, stdout } = await stop(service);
    expect(code).toBe(0);
    // The tests' own login is one.
    expect(stdout).toMatch(/The login \w+ is a superuser\. Give the service a DATABASE_URL whose/);
    await expect(write(database.reader, { trades: [aTrade()] })).rejects.toThrow(
      /permission denied|read-only transaction/,
    );
  });

  it("warns where its pools are above what the database accepts", async () => {
    database = await makeDatabase();
    const service = start({ DATABASE_URL: database.url, POOL_SIZE: "1000" });
    await service.url;
    expect(service.output()).toMatch(
      /"level":40.*POOL_SIZE 1000, GRAPHQL_POOL_SIZE \d+ and 4 more are above the \d+ connections/,
    );
  });

  it("waits for a database that is behind, names what it lacks, and serves it once it has", async () => {
    database = await makeDatabase({ migrated: false });

    const waiting = start({ DATABASE_URL: database.url });
    await waiting.printed(
      /The database lacks \d+ migration\(s\): 000001-baseline\.sql[.,] .*npm start -- --migrate/,
    );
    const before = await get(waiting, "/v1/markets/");
    const ready = await readinessOf(await waiting.url);
    await makeRoles(database.url);
    await applyMigrations(database.url);
    await waiting.printed(/it is served from now on/);

    expect(before.status).toBe(503);
    expect(before.body.message).toBe("The database is not ready to be served");
    expect(ready.status).toBe(503);
    expect(ready.reasons).toContain("The database lacks the migration 000001-baseline.sql");
    expect((await get(waiting, "/v1/markets/")).status).toBe(200);
    expect((await readinessOf(await waiting.url)).status).toBe(200);
    expect(await stop(waiting)).toMatchObject({ code: 0, stderr: "" });
  });

  it("reads what there is to show in its own time, however short that of its clients is", async () => {
    database = await makeDatabase();
    const env = { DATABASE_URL: database.url, STATEMENT_TIMEOUT_MS: "1" };
    const service = start(env, ["--watch"]);
    const url = await service.url;
    const typeNamed = async (name: string): Promise<unknown> => {
      const query = `{ __type(name: "${name}") { name } }`;
      const { body } = await exchange(url, graphql({ query }));
      return (JSON.parse(body.toString()) as { data: unknown }).data;
    };
    expect(await typeNamed("DexTrade")).toEqual({ __type: { name: "DexTrade" } });

    await database.owner.query(
      "create table note (id integer primary key); grant select on note to dex_reader",
    );
    await service.printed(/The database's schema has changed: GraphQL shows it as it is now/);
    expect(await typeNamed("Note")).toEqual({ __type: { name: "Note" } });
    expect(await stop(service)).toMatchObject({ code: 0, stderr: "" });
  });

  it("migrates a database that is behind when asked", async () => {
    database = await makeDatabase({ migrated: false });
    await makeRoles(database.url);
    const migrated = start({ DATABASE_URL: database.url }, ["--migrate"]);
    // A slow machine gives up its first look at the figures.
    while ((await readinessOf(await migrated.url)).status !== 200) await sleep(100);
  });

  it("refuses a login that cannot become the reader, and shows no password", async () => {
    database = await makeDatabase();
    await using admin = await openClient(clusterUrl());
    const login = `stranger_${process.pid}`;
    await admin.query(`create role ${login} login password 'secret'`);
    const url = new URL(database.url);
    url.username = login;
    url.password = "secret";
    try {
      await admin.query(`grant connect on database ${url.pathname.slice(1)} to ${login}`);
      const { code, stderr } = await start({ DATABASE_URL: url.href }).ended;

      expect(code).toBe(1);
      expect(stderr).toContain(
        `cannot become dex_reader: permission denied to set role "dex_reader"`,
      );
      expect(stderr).toContain("npm run db:roles");
      expect(stderr).not.toContain("secret");
    } finally {
      await admin.query(`drop owned by ${login}`);
      await admin.query(`revoke connect on database ${url.pathname.slice(1)} from ${login}`);
      await admin.query(`drop role ${login}`);
    }
  });

  it("says in a line that no database answers, and answers 503 until one does", async () => {
    const service = start({ DATABASE_URL: "postgres://app:secret@127.0.0.1:1/market" });
    const markets = await get(service, "/v1/markets/");
    const ready = await readinessOf(await service.url);
    const { code, stdout, stderr } = await stop(service);

    expect(markets.status).toBe(503);
    expect(ready.reasons).toEqual(["The database cannot be reached"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(
      "postgres://app@127.0.0.1:1/market does not answer: connect ECONNREFUSED 127.0.0.1:1.",
    );
    expect(stdout).not.toContain("secret");
    // It is for the operator to mend, like a wrong password or a refused certificate.
    expect(stdout).toMatch(/"level":40,.*does not answer/);
  });
});
