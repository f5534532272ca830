// The service as a whole: its health, and what it says when the database does not serve it.
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { makePool, type Pool } from "../../db/connect.ts";
import { makeApp } from "../../server/compose.ts";
import { isUnreachable } from "../../db/failure.ts";
import { DatabaseGate } from "../../http/known-database.ts";
import { waitBehindOwn } from "../../http/behind-own.ts";
import { currentClient } from "../../http/request.ts";
import { makeTestApp, OF_ONE_VERSION, type TestApp } from "../app.ts";
import { makeDatabase, openClient } from "../database.ts";
import { registerMarkets, setHead } from "../factories.ts";
import { useApp, useDatabase } from "../served.ts";
import { recordStatements } from "../statements.ts";

const database = useDatabase();
const app = useApp(database);
beforeEach(async () => {
  await database.empty();
  app.logged.length = 0;
});

/** What a test has opened, to be closed after it however it ends, the last first. */
const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** A service of the test's own. */
async function anApp(...made: Parameters<typeof makeTestApp>): Promise<TestApp> {
  const app = await makeTestApp(...made);
  opened.push(app.close);
  return app;
}

/** A pool of the test's own. */
function aPool(...made: Parameters<typeof makePool>): Pool {
  const pool = makePool(...made);
  opened.push(() => pool.end());
  return pool;
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A service whose database answered at first, and then is gone. */
async function withoutDatabase(): Promise<TestApp> {
  const door = await openDoor(database.url);
  opened.push(door.shut);
  const deserted = await anApp(aPool(door.url, { role: "dex_reader" }));
  // GraphQL has read its schema when it answers.
  await deserted.request.post("/graphql").send({ query: "{ __typename }" });
  await door.shut();
  return deserted;
}

/** A way to the database's server that can be shut: what is open breaks, and nothing gets in. */
async function openDoor(url: string): Promise<{ url: string; shut: () => Promise<void> }> {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  const door = createServer((outside) => {
    const inside = createConnection(Number(port), hostname);
    for (const [socket, other] of [
      [outside, inside],
      [inside, outside],
    ] as const) {
      open.add(socket);
      socket.on("close", () => other.destroy());
      socket.on("error", () => other.destroy());
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  const through = new URL(url);
  through.host = `127.0.0.1:${(door.address() as AddressInfo).port}`;
  return {
    url: through.href,
    async shut() {
      const shut = new Promise((resolve) => door.close(resolve));
      for (const socket of open) socket.destroy();
      await shut;
    },
  };
}

it("does not listen until it is given an address", async () => {
  const { server, close } = await makeApp({ pools: { rest: database.reader } });
  opened.push(close);
  expect(server.listening).toBe(false);
});

describe("/health", () => {
  it("is 200 while the process lives, with or without a database", async () => {
    const answer = await app.request.get("/health");
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: "ok", version: expect.any(String) });
    expect(answer.headers["cache-control"]).toBe("no-store");

    const { request } = await withoutDatabase();
    expect((await request.get("/health/")).status).toBe(200);
  });

  it.each(["/health", "/ready"])("like /ready can only be read: %s", async (path) => {
    const answer = await app.request.post(path);
    expect(answer.status).toBe(405);
    expect(answer.headers["allow"]).toBe("GET, HEAD, OPTIONS");
    expect(answer.body).toEqual({
      time: expect.stringMatching(ISO),
      message: "POST is not allowed here, only GET, HEAD, OPTIONS",
    });
  });
});

describe("/ready", () => {
  it("is 200 when the database answers and has every migration", async () => {
    const answer = await app.request.get("/ready");
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: "ready" });
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  it("is 503 and names the migrations that the database lacks", async () => {
    const bare = await makeDatabase({ migrated: false });
    opened.push(() => bare.drop());
    // As the service does: GraphQL builds no schema of a database without migrations.
    const gate = new DatabaseGate({ kind: "not ready", line: "The database lacks migrations." });
    const behind = await anApp(bare.reader, { gate });

    const answer = await behind.request.get("/ready");

    expect(answer.status).toBe(503);
    expect(answer.headers["retry-after"]).toBe("5");
    expect(answer.body.status).toBe("not ready");
    expect(answer.body.reasons).toContain("The database lacks the migration 000001-baseline.sql");
    expect(behind.logged).toEqual([]);
  });

  it("is 503 when the database cannot be reached", async () => {
    const { request } = await withoutDatabase();
    const answer = await request.get("/ready");
    expect(answer.status).toBe(503);
    expect(answer.headers["retry-after"]).toBe("5");
    expect(answer.body).toEqual({
      status: "not ready",
      reasons: ["The database cannot be reached"],
    });
  });
});

describe("/ready with MAX_HEAD_AGE", () => {
  const writeBlock = (number: number, { secondsAgo }: { secondsAgo: number }) =>
    database.writer.query(
      "select ingest.write_block($1, clock_timestamp() - make_interval(secs => $2))",
      [number, secondsAgo],
    );

  it("is 503 while the head is older, and says by how much", async () => {
    const strict = await anApp(database.reader, { maxHeadAge: 300 });
    const ask = async () => {
      const { status, body } = await strict.request.get("/ready");
      return [status, body.reasons];
    };
    const without = await ask();
    await writeBlock(5, { secondsAgo: 4000 });
    const old = await ask();
    const other = await app.request.get("/ready");
    await writeBlock(6, { secondsAgo: 100 });
    const young = await ask();

    expect(without).toEqual([503, ["No block is written"]]);
    expect(old).toEqual([
      503,
      [
        expect.stringMatching(
          /^The head, block 5, is 40\d\d seconds old, and MAX_HEAD_AGE is 300$/,
        ),
      ],
    ]);
    expect(other.status).toBe(200);
    expect(young).toEqual([200, undefined]);
  });

  it("reports within seconds that the database hangs, and asks it once for all who ask", async () => {
    const hung = database.pool({ role: "dex_reader" });
    const sent = recordStatements(hung);
    const asked = () => sent.filter(({ text }) => text.includes("applied_migration"));
    const waiting = await anApp(hung, { cache: "off", readyWithinMs: 2000 });
    const locking = await openClient(database.url);
    opened.push(() => locking.end());
    await locking.query("begin");
    await locking.query("lock table dex_private.applied_migration in access exclusive mode");
    const answers = await Promise.all([1, 2, 3].map(() => waiting.request.get("/ready")));
    // A slow machine may take longer than that to open a connection.
    while (asked().length === 0) await new Promise(setImmediate);
    expect(asked()).toHaveLength(1);
    await locking.end();

    for (const { status, body } of answers) {
      expect(status).toBe(503);
      expect(body.reasons).toEqual(["The database has not answered within 2 seconds"]);
    }
    // It may also take longer than that to answer.
    while ((await waiting.request.get("/ready")).status !== 200);
  });
});

/** Asks as a proxy does for a client. */
const askingBehind =
  ({ request }: TestApp) =>
  (client: string, path: string): Promise<number> =>
    request
      .get(path)
      .set("X-Forwarded-For", client)
      .then(({ status }) => status);

it("answers a client before the many requests of another, one of which is refused for it", async () => {
  await setHead(database.writer, 100);
  const { rows } = await database.reader.query<{ block: number }>("select block from dex_head");
  const greedy = "192.0.2.1";
  // It holds what the test takes.
  const askedBy = (): string => currentClient() ?? greedy;
  const bounds = { queue: 20, holdMs: 60_000, askedBy };
  const pool = aPool(database.url, { role: "dex_reader", poolSize: 2, waitMs: 60_000, bounds });
  const statements = recordStatements(pool);
  const busy = await anApp(pool, { trustedProxies: 1, cache: "off" });
  const held = [await pool.connect(), await pool.connect()];
  const ask = askingBehind(busy);
  const many = Array.from({ length: 20 }, () => ask(greedy, "/v2/prices"));
  while (pool.waitingCount < 20) await sleep(1);

  const one = ask("192.0.2.2", `/v2/prices?block=${rows[0]?.block}`);
  expect(await Promise.race(many)).toBe(503);
  held[0]?.release();
  expect(await one).toBe(200);
  expect((await Promise.all(many)).filter((status) => status === 200)).toHaveLength(19);
  // Those as of the head are read without a transaction.
  expect(statements.findIndex(({ text }) => text.startsWith("begin"))).toBe(0);
  held[1]?.release();
});

it("answers a client before the many requests of another, the last of which asks the same", async () => {
  await setHead(database.writer, 100);
  const [greedy, other] = ["192.0.2.1", "192.0.2.2"];
  const askedBy = (): string => currentClient() ?? greedy;
  const bounds = { queue: 20, holdMs: 60_000, askedBy, behindOwn: waitBehindOwn };
  const pool = aPool(database.url, { role: "dex_reader", poolSize: 2, waitMs: 60_000, bounds });
  const busy = await anApp(pool, { trustedProxies: 1, cache: OF_ONE_VERSION });
  const held = [await pool.connect(), await pool.connect()];
  const ask = askingBehind(busy);
  const locking = await openClient(database.url);
  opened.push(() => locking.end());
  await locking.query("begin");
  await locking.query("lock table dex_pair in access exclusive mode");
  const many: Promise<number>[] = [];
  for (const path of ["/v1/pairs/", "/v1/pairs/weth/dai", "/v2/head"]) {
    many.push(ask(greedy, path));
    while (pool.waitingCount < many.length) await sleep(1);
  }

  const one = ask(other, "/v2/head");
  while (pool.waitingCount === many.length) await sleep(1);
  held.pop()?.release();
  expect(await one).toBe(200);
  await locking.query("rollback");
  held.pop()?.release();
  expect(await Promise.all(many)).toEqual([200, 400, 200]);
});

describe("a database that cannot be reached", () => {
  it("is 503 in the envelope of the version, and logged", async () => {
    const { request, logged } = await withoutDatabase();
    const first = await request.get("/v1/markets/weth/dai");
    const second = await request.get("/v2/trades/weth/dai?limit=0");

    expect(first.status).toBe(503);
    expect(first.headers).toMatchObject({ "retry-after": "5", "cache-control": "no-store" });
    expect(first.body).toEqual({
      data: {},
      time: expect.any(Number),
      message: "The database cannot be reached",
    });
    expect(Number.isInteger(first.body.time)).toBe(true);
    expect(second.status).toBe(503);
    expect(second.headers["retry-after"]).toBe("5");
    expect(second.body).toEqual({
      time: expect.stringMatching(ISO),
      message: "The database cannot be reached",
    });
    expect(logged).toHaveLength(2);
    for (const error of logged) expect(isUnreachable(error)).toBe(true);
  });

  it("is 503 with the head that was seen last when it goes down under a request", async () => {
    await registerMarkets(database.writer);
    await setHead(database.writer, 24);
    await app.request.get("/v1/markets/");

    // The request waits for a locked table, and its connection is shut meanwhile.
    const locking = await database.owner.connect();
    opened.push(async () => {
      await locking.query("rollback");
      locking.release();
    });
    await locking.query("begin");
    await locking.query("lock table dex_pair, dex_private.market_figure in access exclusive mode");
    const [answer] = await Promise.all([
      app.request.get("/v2/prices/weth/dai"),
      shutWaitingConnection(),
    ]);
    await locking.query("rollback");
    const after = await app.request.get("/v2/prices/weth/dai");

    expect(answer.status).toBe(503);
    expect(answer.headers["retry-after"]).toBe("5");
    expect(answer.body).toEqual({
      time: "2026-01-02T00:00:00.000Z",
      message: "The database cannot be reached",
    });
    expect(after.status).toBe(200);
  });
});

/** Shuts the connection that waits for a lock, as soon as there is one. */
async function shutWaitingConnection(): Promise<void> {
  await using admin = await openClient(database.url);
  for (;;) {
    const { rowCount } = await admin.query(
      `select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'`,
    );
    if (rowCount === 1) break;
  }
}

describe("a database whose schema is another one", () => {
  it("is 503 until it is mended, and logged whole", async () => {
    await registerMarkets(database.writer);
    await database.owner.query("alter view dex_volume rename to dex_volume_away");
    const broken = await app.request.get("/v2/volumes/weth/dai");
    await database.owner.query("alter view dex_volume_away rename to dex_volume");
    const mended = await app.request.get("/v2/volumes/weth/dai");

    expect(broken.status).toBe(503);
    expect(broken.headers["retry-after"]).toBe("5");
    expect(broken.body).toEqual({
      time: expect.stringMatching(ISO),
      message: "The database is not ready to be served",
    });
    expect(app.logged.map((error) => (error as Error).message)).toEqual([
      'relation "dex_volume" does not exist',
    ]);
    expect(mended.status).toBe(200);
  });
});

describe("a fault of the service's own", () => {
  it("is 500 with nothing of its insides, and logged whole; then all is well again", async () => {
    await registerMarkets(database.writer);
    await setHead(database.writer, 24);
    const before = await app.request.get("/v2/volumes");
    await database.owner.query(`
      alter view dex_volume rename to dex_volume_away;
      create function fail_inside() returns boolean language plpgsql as
        $$ begin raise 'the insides of dex_volume'; end $$;
      grant execute on function fail_inside to dex_reader;
      create view dex_volume as
      select *
      from dex_volume_away
      where fail_inside();
      grant select on dex_volume to dex_reader;
    `);

    const first = await app.request.get("/v1/volumes/weth/dai");
    const second = await app.request.get("/v2/volumes");

    await database.owner.query(`
      drop view dex_volume;
      drop function fail_inside;
      alter view dex_volume_away rename to dex_volume;
    `);
    const after = await app.request.get("/v2/volumes");

    expect(first.status).toBe(500);
    expect(first.text).toBe(
      JSON.stringify({ data: {}, time: 1_767_312_000, message: "Internal error" }),
    );
    expect(second.status).toBe(500);
    expect(second.text).toBe(
      JSON.stringify({ time: "2026-01-02T00:00:00.000Z", message: "Internal error" }),
    );
    expect(app.logged.map((error) => (error as Error).message)).toEqual([
      "the insides of dex_volume",
      "the insides of dex_volume",
    ]);
    expect(after.status).toBe(200);
    expect(after.text).toBe(before.text);
  });

  it("is none when a migration changes a view under prepared statements", async () => {
    await registerMarkets(database.writer);
    await setHead(database.writer, 24);
    // PostgreSQL plans anew for the first five times of a prepared statement.
    for (let n = 0; n < 10; n += 1) await app.request.get("/v2/volumes");
    const before = await app.request.get("/v2/volumes");

    const { rows } = await database.owner.query<{ definition: string }>(
      "select pg_get_viewdef('dex_volume') as definition",
    );
    await database.owner.query(`
      drop view dex_volume;
      create view dex_volume as
      select
        1 as another_column,
        volume.*
      from (${rows[0]!.definition.replace(/;\s*$/, "")}) as volume;
      grant select on dex_volume to dex_reader;
    `);
    const after = await app.request.get("/v2/volumes");

    expect(after.status).toBe(200);
    expect(after.text).toBe(before.text);
  });
});

it("is not ready where the database has two things with one name in GraphQL", async () => {
  await using twice = await makeDatabase();
  await twice.owner.query(`
    create function all_dex_trades() returns integer language sql stable as 'select 1';
    grant execute on function all_dex_trades() to dex_reader`);
  const statements = recordStatements(twice.reader);
  const app = await anApp(twice.reader, { catalogs: twice.reader });
  while ((await app.request.get("/ready")).status === 200) await sleep(10);
  const { body } = await app.request.post("/graphql").send({ query: "{ __typename }" }).expect(503);
  expect(body).toMatchObject({
    errors: [{ message: "The database is not ready to be served" }],
  });
  const ready = await app.request.get("/ready").expect(503);
  expect(JSON.stringify(ready.body)).toContain("GraphQL cannot be made of the database: A naming");
  await app.request.get("/v1/pairs/").expect(200);

  // Each build holds up the process, and /ready with it: after two, the same catalogs are not tried again.
  const isLook = (text: string): boolean => text.includes("md5(regexp_replace((catalogs");
  while (statements.filter(({ text }) => isLook(text)).length < 4) await sleep(100);
  const builds = statements.filter(
    ({ text }) => text.includes("as introspection") && !isLook(text),
  );
  expect(builds).toHaveLength(2);

  await twice.owner.query("drop function all_dex_trades()");
  while ((await app.request.get("/ready")).status !== 200) await sleep(100);
  await app.request.post("/graphql").send({ query: "{ __typename }" }).expect(200);
});
