// Faults around the service: a database that comes later, clients that do not do their part, signals
// in the middle of answers, a defect in a handler, and a clock that jumps.
import { request, type ClientRequest } from "node:http";
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Client, Pool } from "../../db/connect.ts";
import { makeTestApp } from "../app.ts";
import { openPool } from "../database.ts";
import { PATIENT, startService, type Service } from "../service.ts";
import { askOnce, noCounts, startLoad, total, type Counts } from "./load.ts";
import { recordOutcome } from "./outcomes.ts";
import { casesAt, readWritten, type Case } from "./right-answers.ts";
import { fillExchange, startFaultyServer, type FaultyServer } from "./server.ts";

const CLOCK = fileURLToPath(new URL("./jumping-clock.js", import.meta.url));

let server: FaultyServer;
let cases: Case[];
beforeAll(async () => {
  server = await startFaultyServer(600);
  cases = casesAt(await server.asAdmin(readWritten));
});
const running: Service[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) {
    service.signal("SIGKILL");
    await service.ended;
  }
});
afterAll(() => server.remove());

function start(env: Record<string, string> = {}): Service {
  const service = startService({
    DATABASE_URL: server.url,
    CACHE_BYTES: "0",
    RATE_LIMIT: "0",
    MAX_REQUESTS_PER_CLIENT: "0",
    MAX_CONCURRENT: "0",
    ...env,
  });
  running.push(service);
  return service;
}

async function readyOf(url: string): Promise<{ status: number; reasons?: string[] }> {
  const response = await fetch(`${url}/ready`);
  const { reasons } = (await response.json()) as { reasons?: string[] };
  return { status: response.status, ...(reasons && { reasons }) };
}

async function untilReady(url: string): Promise<void> {
  while ((await readyOf(url)).status !== 200) await sleep(20);
}

/** Asks every case once. */
async function askAll(url: string, asked: Case[], counts: Counts): Promise<void> {
  await Promise.all(asked.map((one) => askOnce(url, one, counts)));
}

/** Waits until the database sees no connection of a service's any more. */
async function untilNoConnection(): Promise<void> {
  await server.asAdmin(async (client) => {
    while ((await servicesAt(client)) > 0) await sleep(20);
  });
}

async function servicesAt(client: Client, state = "%"): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count
    from pg_stat_activity
    where application_name = 'dex-market-data'
      and state like $1`,
    [state],
  );
  return rows[0]?.count ?? 0;
}

/** Asks each case until it has an answer: on a slow machine one may take longer than the service waits. */
async function answerAll(url: string, asked: Case[]): Promise<Counts> {
  const all = asked.map(async (one) => {
    const counts = noCounts();
    const hasAnswer = ({ right, wrong, other }: Counts): boolean =>
      right + wrong.length + other.length > 0;
    while (!hasAnswer(counts)) await askOnce(url, one, counts);
    return counts;
  });
  return total(await Promise.all(all));
}

function expectGood(counts: Counts): void {
  expect(counts.wrong).toEqual([]);
  expect(counts.other).toEqual([]);
}

describe("the database", () => {
  it("is started after the service", async () => {
    await server.stop();
    const service = start();
    const url = await service.url;
    const counts = noCounts();
    await askAll(url, cases, counts);
    const { status, reasons } = await readyOf(url);
    expect(counts.unavailable).toBe(cases.length);

    await server.start();
    await untilReady(url);
    const after = await answerAll(url, cases);
    const both = total([counts, after]);
    await recordOutcome({
      fault: "started after the service",
      counts: both,
      ready: String(reasons),
    });

    expect(status).toBe(503);
    expect(after.right).toBe(cases.length);
    expectGood(both);
  });

  it("is migrated after the service has started", async () => {
    const later = await server.makeDatabase("later");
    const service = start({ DATABASE_URL: later });
    const url = await service.url;
    const counts = noCounts();
    await askAll(url, cases, counts);
    const { reasons } = await readyOf(url);
    expect(counts.unavailable).toBe(cases.length);

    await fillExchange(later, 100);
    await using there = openPool(later, { poolSize: 1 });
    const client = await there.connect();
    const laterCases = casesAt(await readWritten(client));
    client.release();
    await untilReady(url);
    const after = await answerAll(url, laterCases);
    const both = total([counts, after]);
    await recordOutcome({
      fault: "behind its migrations at the start",
      counts: both,
      ready: `${reasons?.[0] ?? ""}, …`,
    });

    expect(reasons).toContain("The database lacks the migration 000001-baseline.sql");
    expect(after.right).toBe(laterCases.length);
    expectGood(both);
  });
});

it("refuses at once who is one too many to wait, and answers the others", async () => {
  const service = start({ ...PATIENT, POOL_SIZE: "2", POOL_QUEUE: "5" });
  const url = await service.url;
  await untilReady(url);
  const counts = noCounts();
  const rest = cases.filter(({ path }) => path === "/v1/prices/");
  const said = await server.asAdmin(async (client) => {
    await client.query("begin");
    await client.query("lock table dex_pair, dex_private.market_figure in access exclusive mode");
    const asked = Array.from({ length: 100 }, () => askOnce(url, rest[0]!, counts));
    // 2 hold a connection, 5 wait for one; the others have their answers while the lock is held.
    while (counts.unavailable < 93) await sleep(5);
    const { reasons } = await readyOf(url);
    await client.query("commit");
    await Promise.all(asked);
    return String(reasons);
  });
  await recordOutcome({ fault: "a full pool, 5 may wait, 100 come", counts, ready: said });

  expect(said).toBe("The database has not answered within 2 seconds");
  expect(counts).toMatchObject({ asked: 100, right: 7, unavailable: 93, unanswered: 0 });
  expectGood(counts);
});

describe("a client", () => {
  let url: string;
  beforeEach(async () => {
    const service = start({
      ...PATIENT,
      REQUEST_TIMEOUT_MS: "4000",
      IDLE_TIMEOUT_MS: "4000",
    });
    url = await service.url;
    await untilReady(url);
  });

  const open = (): Socket => {
    const socket = createConnection(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => undefined);
    return socket;
  };

  /**
   * What the server says before it closes the connection; "reset" where the answer is lost, as TCP loses it
   * if bytes arrive that the server does not read any more.
   */
  async function untilClosed(socket: Socket): Promise<string> {
    let said = "";
    const errors: (string | undefined)[] = [];
    socket.on("data", (bytes: Buffer) => (said += bytes.toString()));
    socket.on("error", ({ code }: NodeJS.ErrnoException) => errors.push(code));
    await new Promise((resolve) => socket.once("close", resolve));
    const isReset = errors.includes("ECONNRESET") || errors.includes("EPIPE");
    return said === "" && isReset ? "reset" : said;
  }

  /** So many clients misbehave while others ask as they should. */
  async function misbehave(
    fault: string,
    clients: number,
    one: () => Promise<void>,
  ): Promise<Counts> {
    const load = startLoad(url, cases, 3, false);
    await Promise.all(Array.from({ length: clients }, one));
    while (load.counts.right < cases.length) await sleep(20);
    const counts = await load.stop();
    await recordOutcome({ fault: `${clients} clients ${fault}`, counts, ready: "ready" });
    await server.asAdmin(async (client) => {
      while ((await servicesAt(client)) > (await servicesAt(client, "idle"))) await sleep(20);
    });
    // What was begun for clients that left may hold up a slow machine for a while.
    while ((await readyOf(url)).status !== 200) await sleep(20);
    expect(counts).toMatchObject({ unavailable: 0, unanswered: 0 });
    expectGood(counts);
    return counts;
  }

  it("sends slowly", async () => {
    await misbehave("send a header a byte at a time", 50, async () => {
      const socket = open();
      const closed = untilClosed(socket);
      const drip = setInterval(() => socket.writable && socket.write("G"), 50);
      const said = await closed;
      clearInterval(drip);
      expect(said).toMatch(/^(?:HTTP\/1\.1 (?:408|400) |reset$)/);
    });
  });

  it("sends half a body", async () => {
    await misbehave("send half a body", 50, async () => {
      const socket = open();
      socket.write(
        "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
      );
      expect(await untilClosed(socket)).toMatch(/^(?:HTTP\/1\.1 408 |reset$)/);
    });
  });

  const LARGE = JSON.stringify({
    query: `{ allDexTrades(first: 600, orderBy: ID_ASC) {
      nodes { id offerId market act pair maker taker lotGem lotTkn lotAmt bidGem bidTkn bidAmt price tx
        offer { id pair maker lotGem lotAmt bidGem bidAmt tx } }
    } }`,
  });
  const largeRequest =
    "POST /graphql HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n" +
    `Content-Type: application/json\r\nContent-Length: ${LARGE.length}\r\n\r\n${LARGE}`;

  it("goes away in the middle of a large answer", async () => {
    await misbehave("go away in the middle of a large answer", 50, async () => {
      const socket = open();
      socket.write(largeRequest);
      // A busy machine may take longer for it than a connection may rest.
      await Promise.race([once(socket, "data"), once(socket, "close")]);
      socket.destroy();
    });
  });

  it("goes away before its answer", async () => {
    await misbehave("go away before their answer", 50, async () => {
      const socket = open();
      await once(socket, "connect");
      await new Promise((resolve) => socket.write(largeRequest, resolve));
      socket.destroy();
    });
  });

  it("does not read its answer", async () => {
    await misbehave("do not read their answers", 5, async () => {
      const socket = open();
      socket.pause();
      // More than any buffer on the way holds.
      for (let n = 0; n < 12; n += 1) socket.write(largeRequest);
      await sleep(8000);
      // What was buffered comes, and then the end of a connection that was closed.
      await untilClosed(socket.resume());
    });
  });
});

describe("a signal in the middle of 100 requests", () => {
  /** Begins 100 requests that wait for a lock; resolves when the service has them all. */
  async function begin(url: string, client: Client, counts: Counts): Promise<Promise<void>[]> {
    await client.query("begin");
    await client.query("lock table dex_pair, dex_private.market_figure in access exclusive mode");
    const [prices] = cases.filter(({ path }) => path === "/v1/prices/");
    const begun: Promise<void>[] = [];
    const answers = Array.from({ length: 100 }, () => {
      counts.asked += 1;
      // Node tells that it goes on with the request, and hands it to the service.
      const asking = request(new URL(prices!.path, url), {
        agent: false,
        headers: { Expect: "100-continue" },
      });
      begun.push(new Promise((resolve) => asking.once("continue", resolve)));
      return answerOf(asking, prices!, counts);
    });
    await Promise.all(begun);
    return answers;
  }

  function answerOf(asking: ClientRequest, { right }: Case, counts: Counts): Promise<void> {
    return new Promise((resolve) => {
      const lost = (): void => {
        counts.unanswered += 1;
        resolve();
      };
      asking.once("error", lost);
      asking.once("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (more: string) => (text += more));
        response.once("end", () => {
          if (response.statusCode === 200 && text === JSON.stringify(right)) counts.right += 1;
          else counts.other.push(`${response.statusCode ?? 0} ${text}`);
          resolve();
        });
      });
      asking.end();
    });
  }

  /** Starts a service, and signals it in the middle of them. */
  async function signalled(
    fault: string,
    then: (service: Service, client: Client, answers: Promise<void>[]) => Promise<unknown>,
  ): Promise<{ service: Service; counts: Counts }> {
    const service = start(PATIENT);
    const url = await service.url;
    await untilReady(url);
    const counts = noCounts();
    await server.asAdmin(async (client) => {
      const answers = await begin(url, client, counts);
      service.signal("SIGTERM");
      await then(service, client, answers);
    });
    await recordOutcome({ fault, counts, ready: "" });
    return { service, counts };
  }

  it("has them all answered, while the service says that it is not ready, and no other", async () => {
    const fault = "SIGTERM in the middle of 100 requests";
    const { service, counts } = await signalled(fault, async (stopping, client, answers) => {
      await stopping.printed(/Stopping …/);
      const ready = async (): Promise<unknown> =>
        (await fetch(`${await stopping.url}/ready`)).json();
      while (!JSON.stringify(await ready()).includes("The service is stopping")) await sleep(10);
      await client.query("commit");
      await Promise.all(answers);
    });

    expect(counts).toMatchObject({ right: 100, unanswered: 0, other: [] });
    expect(await service.ended).toMatchObject({ code: 0, stderr: "" });
    await untilNoConnection();
  });

  it("has them given up when it comes again", async () => {
    const fault = "a second SIGTERM in the middle of 100";
    const { counts } = await signalled(fault, async (stopping, client, answers) => {
      await stopping.printed(/Stopping …/);
      await sleep(300);
      stopping.signal("SIGTERM");
      // While the lock is held.
      expect(await stopping.ended).toMatchObject({ code: 0 });
      await Promise.all(answers);
      await client.query("commit");
    });

    expect(counts).toMatchObject({ unanswered: 100, right: 0, other: [] });
    await untilNoConnection();
  });
});

it("answers what it can while a handler throws, and all of it afterwards", async () => {
  await using pool = openPool(server.url, { role: "dex_reader" });
  let isThrowing = false;
  let thrown = 0;
  const throwing: Pool = new Proxy(pool, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        if (isThrowing && (name === "query" || name === "connect") && ++thrown % 3 === 0) {
          throw new TypeError(`the insides of ${name}`);
        }
        return (value as (...args: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  await using app = await makeTestApp(throwing, { cache: "off" });
  const counts = noCounts();
  await askAll(app.url, cases, counts);
  isThrowing = true;
  for (let n = 0; n < 20; n += 1) await askAll(app.url, cases, counts);
  isThrowing = false;
  const faulty = counts.other.splice(0);
  const before = counts.right;
  await askAll(app.url, cases, counts);
  const after = counts.right - before;
  const refused = faulty.length;
  await recordOutcome({ fault: `a handler that throws: ${refused} times 500`, counts, ready: "" });

  // A GraphQL request may meet it more than once.
  expect(app.logged).toHaveLength(Math.floor(thrown / 3));
  expect(refused).toBeGreaterThan(thrown / 6);
  for (const text of faulty) {
    expect(text).toMatch(/: 500 .*"Internal error"|"The service has failed to answer this\."/);
    expect(text).not.toContain("insides");
  }
  expect(after).toBe(cases.length);
  expectGood(counts);
});

it("goes by a clock that jumps as by any other", async () => {
  const service = start({
    CACHE_BYTES: "67108864",
    NODE_OPTIONS: `--import ${CLOCK} --disable-warning=ExperimentalWarning`,
  });
  const url = await service.url;
  await untilReady(url);
  const load = startLoad(url, cases);
  for (const jump of [1, 2, 3, 4, 5, 6]) {
    service.signal("SIGUSR2");
    await service.printed(new RegExp(`jumped ${jump} time`));
    const before = load.counts.right;
    while (load.counts.right < before + 50) await sleep(20);
  }
  const counts = await load.stop();
  await recordOutcome({ fault: "a clock that jumps by years, six times", counts, ready: "" });

  expect(counts).toMatchObject({ unavailable: 0, unanswered: 0 });
  expectGood(counts);
});
