// The service behind PgBouncer in transaction mode, with the login that docs/deployment.md sets up.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../db/connect.ts";
import { serverAccount } from "../../db/embedded/account.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { clusterUrl, makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { aTrade, blockAt, registerMarkets, write } from "../factories.ts";
import { freePort } from "../free-port.ts";
import { PATIENT, readinessOf, startService, type Service } from "../service.ts";

const PROGRAM = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].find((path) => existsSync(path));
const PAGE = readFileSync(new URL("../../docs/deployment.md", import.meta.url), "utf8");
const STATEMENTS = (/```sql\n([^]*?)```/.exec(PAGE)?.[1] ?? "").trim();
const SETTINGS = (/```ini\n[^]*?\[pgbouncer\]\n([^]*?)```/.exec(PAGE)?.[1] ?? "").trim();

const LOGIN = `pooled_${process.pid}`;
const PASSWORD = "secret";

let database: TestDatabase;
let folder: string;
let pooler: ChildProcess;
/** The URLs of the login: of PostgreSQL itself, and of the pooler. */
let direct: URL;
let pooled: URL;
const running: Service[] = [];

const describeWithPgBouncer =
  PROGRAM === undefined
    ? (what: string, tests: () => void) =>
        describe.skip(
          `${what}: not tested, since this machine has none (apt-get install pgbouncer)`,
          tests,
        )
    : describe;

async function startPooler(ignored: string): Promise<void> {
  const port = await freePort();
  await writeFile(join(folder, "users.txt"), `"${LOGIN}" "${PASSWORD}"\n`);
  await writeFile(
    join(folder, "pgbouncer.ini"),
    `[databases]
* = host=127.0.0.1 port=${direct.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, "users.txt")}
${SETTINGS}
default_pool_size = 3
ignore_startup_parameters = ${ignored}
`,
  );
  // PgBouncer refuses to run as root.
  const account = await serverAccount(join(folder, "postgres"));
  if (account !== undefined) await chown(folder, account.uid, account.gid);
  pooler = spawn(PROGRAM ?? "", [join(folder, "pgbouncer.ini")], { stdio: "ignore", ...account });
  pooled = new URL(direct);
  pooled.port = String(port);
  for (;;) {
    const client = await connect(pooled.href, { prepare: false }).catch(() => undefined);
    if (client !== undefined) return client.end();
    if (pooler.exitCode !== null) throw new Error(`PgBouncer ended with ${pooler.exitCode}`);
    await sleep(50);
  }
}

async function stopPooler(): Promise<void> {
  const ended = once(pooler, "exit");
  pooler.kill("SIGKILL");
  await ended;
}

function start(url: URL, env: Record<string, string>): Service {
  const service = startService({
    DATABASE_URL: url.href,
    ...PATIENT,
    CACHE_BYTES: "0",
    MAX_CONCURRENT: "0",
    ...env,
  });
  running.push(service);
  return service;
}

describeWithPgBouncer("behind PgBouncer in transaction mode", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "dex-pgbouncer-"));
    await chmod(folder, 0o755);
    database = await makeDatabase();
    await registerMarkets(database.writer);
    await write(database.writer, {
      trades: Array.from({ length: 50 }, (_, n) => aTrade({ id: n + 1, base: "2", quote: "250" })),
    });
    // A later head, of another price.
    await write(database.writer, {
      trades: [aTrade({ id: 51, hour: 2, base: "2", quote: "300" })],
    });
    await using admin = await openClient(clusterUrl());
    await admin.query(`create role ${LOGIN} login password '${PASSWORD}'`);
    await makeRoles(database.url, LOGIN);
    direct = new URL(database.url);
    direct.username = LOGIN;
    direct.password = PASSWORD;
  });
  afterAll(async () => {
    await database.drop();
    await using admin = await openClient(clusterUrl());
    await admin.query(`drop role ${LOGIN}`);
    await rm(folder, { recursive: true });
  });
  afterEach(async () => {
    for (const service of running.splice(0)) {
      service.signal("SIGTERM");
      await service.ended;
    }
    await stopPooler();
  });

  it("says that PREPARE=off is needed, and which settings the login lacks", async () => {
    await startPooler("options");
    const { code, stderr } = await start(pooled, {}).ended;
    expect(code).toBe(1);
    expect(stderr).toContain("give PREPARE=off: docs/deployment.md");

    const unset = await start(pooled, { PREPARE: "off" }).ended;
    expect(unset.code).toBe(1);
    expect(unset.stderr).toContain("lacks role = dex_reader, TimeZone = UTC, search_path = public");
    expect(unset.stderr).not.toContain("give PREPARE=off");

    await using admin = await openClient(database.url);
    await admin.query(`alter role ${LOGIN} in database ${name()} set role = 'dex_reader'`);
    await stopPooler();
    await startPooler("options");
    const half = await start(pooled, { PREPARE: "off" }).ended;
    expect(half.stderr).toContain("lacks TimeZone = UTC, search_path = public, jit = off");
  });

  it("answers as it does without, however many ask at once", async () => {
    await using admin = await openClient(database.url);
    await admin.query(STATEMENTS.replaceAll("app", LOGIN).replaceAll("market", name()));
    // As a cluster has it whose locale has the day first.
    await admin.query(`alter role ${LOGIN} in database ${name()} set datestyle = 'ISO, DMY'`);
    // Without `options` among what it ignores, as PgBouncer comes.
    await startPooler("");
    const plain = await start(direct, {}).url;
    const behind = await start(pooled, { PREPARE: "off" }).url;
    const selection = `{
      dexHead { block time }
      allDexTrades(first: 2, orderBy: TIME_DESC, condition: { market: "WETHDAI" }) {
        totalCount
        nodes { id time price }
      }
    }`;
    const post = (query: string): RequestInit => ({
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query }),
    });
    // The setting of a past block must not reach another request by the connection.
    const past = `block=${blockAt(1)}`;
    const asked: [string, RequestInit?][] = [
      ["graphql", post(selection)],
      ["graphql", post(`query @asOf(block: ${blockAt(1)}) ${selection}`)],
      ["v1/markets/"],
      ["v2/trades/weth/dai?limit=1"],
      [`v1/markets/?${past}`],
      [`v2/trades/weth/dai?limit=1&${past}`],
    ];
    const ask = async (url: string, n: number): Promise<unknown> => {
      const [path, init] = asked[n % asked.length]!;
      return (await fetch(`${url}/${path}`, init)).json();
    };

    const expected = await Promise.all(asked.map((_, n) => ask(plain, n)));
    expect(expected.slice(0, 2)).toMatchObject([
      { data: { dexHead: { block: blockAt(2) }, allDexTrades: { totalCount: 51 } } },
      { data: { dexHead: { block: blockAt(1) }, allDexTrades: { totalCount: 50 } } },
    ]);
    expect([expected[3], expected[5]]).toMatchObject([
      { data: [{ id: 51, price: "150" }] },
      { data: [{ id: 50, price: "125" }] },
    ]);
    // Nor by another program of the login, which sets it, and others, for its sessions.
    const others = await Promise.all([1, 2, 3].map(() => connect(pooled.href, { prepare: false })));
    const set = `begin; set dex.as_of_block = '${blockAt(1)}'; set timezone = 'Asia/Tokyo'; reset role`;
    for (const other of others) await other.query(set);
    for (const other of others) await other.query("commit");
    await Promise.all(others.map((other) => other.end()));
    const answers = await Promise.all(Array.from({ length: 120 }, (_, n) => ask(behind, n)));

    for (const [n, answer] of answers.entries()) expect(answer).toEqual(expected[n % asked.length]);
    expect((await readinessOf(behind)).status).toBe(200);
  });
});

const name = (): string => new URL(database.url).pathname.slice(1);
