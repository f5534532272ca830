// A service on a hot standby: clients never go back to an older block, and /ready knows the lag. A service on a primary
// that another one has replaced.
import { setTimeout as sleep } from "node:timers/promises";
import { checkDatabase } from "../../db/check/check.ts";
import { shadowUrls } from "../../db/locate.ts";
import { connect, makePool, urlForDatabase, type Client, type Pool } from "../../db/connect.ts";
import { Fence, standbyNames } from "../../db/fence.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { makeDatabase, openClient, openPool } from "../database.ts";
import { aTrade, blockAt, registerMarkets, write } from "../factories.ts";
import { connectWriter } from "../market/live/live-histories.ts";
import { startReplicated, type Replicated } from "../standby.ts";

const fenceOf = (): Fence => new Fence({ info: () => undefined, warn: () => undefined });

let servers: Replicated;
let writer: Client;
let primary: Pool;
let standby: Pool;
let fence: Fence;
let onPrimary: TestApp;
let onStandby: TestApp;
beforeAll(async () => {
  servers = await startReplicated();
  writer = await connectWriter(servers.primary);
  fence = fenceOf();
  primary = makePool(servers.primary, { role: "dex_reader", poolSize: 5, fence });
  standby = makePool(servers.standby, { role: "dex_reader", poolSize: 5 });
  const options = { maxReplicaLag: 1 };
  onPrimary = await makeTestApp(primary, options);
  // A lagging standby answers nothing in place of waiting.
  onStandby = await makeTestApp(standby, { ...options, minBlockWaitMs: 0 });
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade({ hour: 1 })] });
  await servers.untilReplayed();
});
afterAll(async () => {
  await Promise.all([onPrimary.close(), onStandby.close()]);
  await Promise.all([writer.end(), primary.end(), standby.end()]);
  await servers.remove();
});

it("a standby is checked with a shadow database on another server, which db:check asks for", async () => {
  const check = (root: string) =>
    checkDatabase({
      ...{ url: servers.standby, shadow: shadowUrls(root, {}), exposed: ["public"] },
      checkMade: () => Promise.resolve([]),
    });
  await expect(check(servers.standby)).rejects.toThrow(
    /which is a standby\. Set SHADOW_DATABASE_URL and ROOT_DATABASE_URL to a server that can be written to\.$/,
  );
  expect((await check(servers.primary)).findings).toEqual([]);
});

it("a client that hands back its block gets none before it from a standby that lags", async () => {
  const path = "/v2/trades/weth/dai";
  const resume = await servers.pauseReplay();
  await write(writer, { trades: [aTrade({ hour: 2 })] });
  const { headers } = await onPrimary.request.get(path).expect(200);
  const seen = headers["x-head-block"]!;
  expect(seen).toBe(String(blockAt(2)));

  const behind = await onStandby.request.get(path).set("x-min-block", seen).expect(503);
  expect(behind.headers["x-head-block"]).toBe(String(blockAt(1)));
  // A client that asks for no block gets the older answer, which says so.
  const older = await onStandby.request.get(path).expect(200);
  expect(older.headers["x-head-block"]).toBe(String(blockAt(1)));

  await resume();
  await servers.untilReplayed();
  const { body } = await onStandby.request.get(path).set("x-min-block", seen).expect(200);
  expect(body.data).toHaveLength(2);
});

it("a standby answers as of a past block what the primary does", async () => {
  await servers.untilReplayed();
  const path = `/v2/trades/weth/dai?block=${blockAt(1)}`;
  const { body } = await onPrimary.request.get(path).expect(200);
  expect(body.data).toHaveLength(1);
  expect((await onStandby.request.get(path).expect(200)).body).toEqual(body);

  const query = `query @asOf(block: ${blockAt(1)}) {
    dexHead { block }
    dexMarket(pair: "WETH/DAI") { last vol }
    allDexTrades(first: 1, orderBy: TIME_DESC, condition: { market: "WETHDAI" }) {
      totalCount
      nodes { id price }
      pageInfo { endCursor hasNextPage }
    }
  }`;
  // One after the other: each service builds its schemas for the first operation that asks.
  const first = await onPrimary.request.post("/graphql").send({ query }).expect(200);
  expect(first.body.data).toMatchObject({
    dexHead: { block: blockAt(1) },
    allDexTrades: { totalCount: 1, pageInfo: { hasNextPage: false } },
  });
  const second = await onStandby.request.post("/graphql").send({ query }).expect(200);
  expect(second.body).toEqual(first.body);
});

it("the page of the state says which is the standby, how old it is, and how many follow", async () => {
  const databaseIn = async ({ request }: TestApp): Promise<string | undefined> => {
    const { text } = await request.get("/state").accept("text/html").expect(200);
    return /<dt>Database<\/dt>\s*<dd>([^<]*)/.exec(text)?.[1];
  };
  expect(await databaseIn(onPrimary)).toBe("a primary; replicas that follow it: 1");
  expect(await databaseIn(onStandby)).toMatch(
    /^a standby; the last transaction that it replayed is \d+ seconds? old; replicas that follow it: none$/,
  );
});

it("/ready of a standby is 503 while its last transaction is older than MAX_REPLICA_LAG", async () => {
  const readiness = async (app: TestApp): Promise<[number, string[] | undefined]> => {
    const { status, body } = await app.request.get("/ready");
    return [status, body.reasons];
  };
  const resume = await servers.pauseReplay();
  while ((await readiness(onStandby))[0] === 200) await sleep(20);
  expect(await readiness(onStandby)).toEqual([
    503,
    [
      expect.stringMatching(
        /^The last transaction that the standby replayed is \d+ seconds old, and MAX_REPLICA_LAG is 1$/,
      ),
    ],
  ]);
  expect(await readiness(onPrimary)).toEqual([200, undefined]);
  await resume();
  let hour = 3;
  while ((await readiness(onStandby))[0] === 503) {
    await write(writer, { trades: [aTrade({ hour: (hour += 1) })] });
    await servers.untilReplayed();
  }
});

/** Has the primary require other standbys; "" for none. */
const requireStandbys = async (names: string): Promise<void> => {
  await using admin = await openClient(servers.primary);
  await admin.query("set synchronous_commit = off");
  await admin.query(`alter system set synchronous_standby_names = ${admin.escapeLiteral(names)}`);
  await admin.query("select pg_reload_conf()");
};

/** What the fence finds at its next look: a message, or undefined. */
const look = async (url: string, looking = fence): Promise<string | undefined> => {
  const reader = await connect(url, { role: "dex_reader" });
  return looking
    .check(reader)
    .then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    )
    .finally(() => reader.end());
};

it("a primary that requires a standby is refused while none of those streams from it", async () => {
  const path = "/v2/trades/weth/dai";
  await requireStandbys('ANY 1 (gone, "walReceiver")');
  while ((await look(servers.primary)) !== undefined) await sleep(20);
  await onPrimary.request.get(path).expect(200);
  const graphql = () =>
    onPrimary.request.post("/graphql").send({ query: "{ allDexTrades { totalCount } }" });
  // It has its schema then.
  await graphql().expect(200);

  await requireStandbys("FIRST 1 (gone, lost)");
  while ((await look(servers.primary)) === undefined) await sleep(20);
  const reason =
    "The primary requires a standby (synchronous_standby_names is FIRST 1 (gone, lost)), and none streams from it: " +
    "another primary may have replaced it";
  expect((await onPrimary.request.get("/ready").expect(503)).body.reasons).toEqual([reason]);
  const { body, headers } = await onPrimary.request.get(path).expect(503);
  expect(body.message).toBe(
    "The database may have been replaced by another: ask again in a moment",
  );
  expect(headers["retry-after"]).toBe("5");
  expect(JSON.stringify((await graphql()).body)).toContain(body.message);

  await requireStandbys("");
  while ((await look(servers.primary)) !== undefined) await sleep(20);
  await onPrimary.request.get("/ready").expect(200);
  await onPrimary.request.get(path).expect(200);
});

it("every connection is judged before it is used", async () => {
  await requireStandbys("gone");
  while ((await look(servers.primary)) === undefined) await sleep(20);
  const fresh = fenceOf();
  await using pool = openPool(servers.primary, { role: "dex_reader", fence: fresh });
  await expect(pool.query("select 1")).rejects.toThrow("none streams from it");
  await requireStandbys("");
  while ((await look(servers.primary)) !== undefined) await sleep(20);
});

it("a primary is refused that is behind what was read of its timeline, until the right one is back", async () => {
  const known = fenceOf();
  await write(writer, { trades: [aTrade({ hour: 200 })] });
  await servers.untilReplayed();
  const fork = await servers.startFork();
  // A whole file of the log: the fork writes a few records of its start.
  await using admin = await openClient(servers.primary);
  await admin.query("select pg_switch_wal()");
  await write(writer, { trades: [aTrade({ hour: 201 })] });
  expect(await look(servers.primary, known)).toBeUndefined();
  expect(await look(fork, known)).toMatch(
    /^The primary's log ends at byte \d+, and the service has read timeline 1 up to byte \d+: another primary has replaced it/,
  );
  // Its log goes beyond what was read, which it lacks all the same.
  await using writing = await openClient(fork);
  await writing.query("select pg_logical_emit_message(true, 'fork', repeat('x', 40000000))");
  expect(await look(fork, known)).toMatch(
    /^There were two primaries on timeline 1, and this is not/,
  );
  expect(await look(servers.primary, known)).toBeUndefined();
  expect(await look(fork, known)).toMatch(/^There were two primaries/);
  // A service that starts has read nothing of the other.
  expect(await look(fork, fenceOf())).toBeUndefined();
});

it("another server is refused that lacks the last final block, until it has it", async () => {
  await using other = await makeDatabase();
  const maintenance = urlForDatabase(other.url, "postgres");
  const known = fenceOf();
  expect(await look(servers.primary, known)).toBeUndefined();
  const { rows } = await primary.query<{ block: number }>(
    "select max(block) as block from dex_trade where block <= $1",
    [blockAt(201) - 64],
  );
  expect(rows).toEqual([{ block: blockAt(200) }]);
  const lacks = `The database lacks block ${blockAt(200)}, which the service has read from another server`;
  expect(await look(maintenance, known)).toContain(lacks);
  expect(await look(other.url, known)).toContain(lacks);
  await registerMarkets(other.writer);
  await write(other.writer, { trades: [aTrade({ hour: 201 })] });
  expect(await look(other.url, known)).toContain(lacks);

  await using copy = await makeDatabase();
  await registerMarkets(copy.writer);
  await write(copy.writer, { trades: [aTrade({ hour: 200 })] });
  expect(await look(copy.url, known)).toBeUndefined();
});

it("names of standbys are read as PostgreSQL reads them", () => {
  expect(standbyNames("")).toBeUndefined();
  expect(standbyNames("two")).toEqual(["two"]);
  expect(standbyNames("two, three")).toEqual(["two", "three"]);
  expect(standbyNames("2 (two,three)")).toEqual(["two", "three"]);
  expect(standbyNames('any 1 ("two ""b"", c", *)')).toEqual(['two "b", c', "*"]);
});

// The last: it makes the standby a primary.
it("a primary of an older timeline than one that was served is refused, until a restart", async () => {
  await using promoted = await openClient(servers.standby);
  await promoted.query("select pg_promote()");
  expect(await look(servers.standby)).toBeUndefined();
  const reason =
    "The primary is on timeline 1, and the service has read timeline 2: another primary has replaced it, " +
    "or an old backup was restored, which a restart of the service accepts";
  expect(await look(servers.primary)).toBe(reason);
  expect((await onPrimary.request.get("/ready").expect(503)).body.reasons).toEqual([reason]);

  fence = new Fence({ info: () => undefined, warn: () => undefined });
  expect(await look(servers.primary)).toBeUndefined();
});
