// `npm run soak -- --minutes 10`: a service under mixed load, with clients of its event stream, on a database that
// is written to and meets faults at random. Ends with what came of it, in docs/reliability.md.
import { readdir, readFile } from "node:fs/promises";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { readCommandLine, refuse } from "../../db/command-line.ts";
import { makeRandom } from "../../db/simulate/random.ts";
import { startLive } from "../../db/simulate/live-trading.ts";
import { exchange, graphql, type Asked } from "../exchange-http.ts";
import { startService } from "../service.ts";
import { writeSection } from "./reliability-page.ts";
import { GRAPHQL_AT_HEAD, readWritten, type Written } from "./right-answers.ts";
import { startFaultyServer, type FaultyServer } from "./server.ts";
import { CASES, wrongAnswers, type Seen } from "./soak-answers.ts";
import { SoakFollowers } from "./soak-followers.ts";
import { KEPT } from "../market/live/steady-followers.ts";
import { readTruth } from "../market/live/live-truth.ts";
import { isToldUnavailable } from "./told.ts";

const { values } = readCommandLine({
  usage: `Usage: npm run soak -- [options]

Runs a service under mixed load, on a database that is written to and meets random faults.

  --minutes N  for how long, above 0 and up to 1440; default 10
  --seed N     an integer, default 1
  --publish    write the result to docs/reliability.md
  --help       show this`,
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    publish: { type: "boolean", default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
if (!(minutes > 0 && minutes <= 1440) || !Number.isSafeInteger(seed)) {
  refuse("--minutes is a number above 0 and up to 1440, --seed an integer");
}

/** Asked as well: their bytes are the same for each Host. */
const DOCUMENTS = ["/openapi.json", "/docs"];
const ASKED: typeof CASES = [...CASES, ...DOCUMENTS.map((path) => ({ path }))];

/** Every tenth request is as of a past block: of the newest that were seen, or of some earlier ones. */
const PAST_EACH = 10;
const OF_PAST = CASES.filter(({ query }) => query === undefined || query === GRAPHQL_AT_HEAD);
const EARLIER = 50;

/** Answers after which the service is warm. */
const WARM_AFTER = 100 * ASKED.length;

const CLIENTS = 6;
const TRADES_A_SECOND = 3;
const SECOND = 1000;
/** How long the service waits for the database: longer than a busy machine has it wait, fault or not. */
const WAIT_MS = 5 * SECOND;
/** How long a fault lasts that has it wait in vain. */
const LONGER_MS = WAIT_MS + 2 * SECOND;

/** What a fault is, and how it is thrown in; it is over when this resolves. */
const FAULTS: Record<string, (server: FaultyServer) => Promise<unknown>> = {
  async stopped(server) {
    await server.stop();
    await sleep(2 * SECOND);
    await server.start();
  },
  async crashed(server) {
    await server.stop("immediate");
    await server.start();
  },
  async "connections ended"(server) {
    await server.asAdmin(async (client) => {
      for (let n = 0; n < 40; n += 1) {
        await client.query(
          `select pg_terminate_backend(pid)
          from pg_stat_activity
          where application_name = 'dex-market-data'
          order by random()
          limit 1`,
        );
        await sleep(20);
      }
    });
  },
  async locked(server) {
    await server.asAdmin(async (client) => {
      await client.query("begin");
      await client.query("lock table dex_pair in access exclusive mode");
      await sleep(LONGER_MS);
      await client.query("commit");
    });
  },
  async frozen(server) {
    const wake = await server.freeze();
    await sleep(LONGER_MS);
    wake();
  },
};

const tally = new Map<string, number>();
const count = (name: string): number => {
  const counted = (tally.get(name) ?? 0) + 1;
  tally.set(name, counted);
  return counted;
};
const seen = new Map<string, Seen>();
const documents = new Map<string, string>();
const others: string[] = [];
let asked = 0;
let isFaulty = false;
let isOver = false;
let slowestMs = 0;

let newest = 0;
let oldest = 0;
const randomPast = makeRandom(seed);

function askedAs(n: number): { path: string; query?: string } {
  if (n % PAST_EACH !== 0 || newest === 0) return ASKED[n % ASKED.length]!;
  const { path, query } = OF_PAST[(n / PAST_EACH) % OF_PAST.length]!;
  const earlier = oldest + Math.floor(((newest - oldest) * randomPast.below(EARLIER)) / EARLIER);
  const block =
    randomPast.below(2) === 0 ? earlier : Math.max(oldest, newest - randomPast.below(4));
  if (query !== undefined) return { path, query: `query @asOf(block: ${block}) ${query}` };
  return { path: `${path}${path.includes("?") ? "&" : "?"}block=${block}` };
}

async function ask(url: string, n: number, agent: Agent): Promise<void> {
  const { path, query } = askedAs(n);
  // Each is of another Host.
  const host = `host-${n}.example`;
  const given: Asked = query === undefined ? { path } : graphql({ query });
  const begunFaulty = isFaulty;
  const began = performance.now();
  asked += 1;
  try {
    const { status, headers, body } = await exchange(
      url,
      { ...given, headers: { ...given.headers, Host: host, "X-Forwarded-Host": `www.${host}` } },
      { agent },
    );
    slowestMs = Math.max(slowestMs, performance.now() - began);
    const text = body.toString("utf8");
    if (status === 200 && DOCUMENTS.includes(path)) {
      count("200");
      if ((documents.get(path) ?? text) !== text) others.push(`${path}: another one for ${host}`);
      documents.set(path, text);
    } else if (isToldUnavailable(status, headers, text)) {
      if (begunFaulty || isFaulty) count("unavailable during a fault");
      else others.push(`${path}: ${status} without a fault: ${text.slice(0, 200)}`);
    } else if (status !== 200 || text.includes('"errors"')) {
      others.push(`${path}: ${status} ${text.slice(0, 200)}`);
    } else {
      count("200");
      const isPast = path.includes("block=") || query?.includes("@asOf") === true;
      if (isPast) count("past");
      else {
        // GraphQL's answers have none.
        const at = headers.indexOf("X-Head-Block");
        newest = Math.max(newest, at < 0 ? 0 : Number(headers[at + 1]));
      }
      const key = `${path}\n${query ?? ""}\n${text}`;
      const known = seen.get(key) ?? { path, query, text, times: 0 };
      known.times += 1;
      seen.set(key, known);
    }
  } catch (error) {
    others.push(`${path}: ${String(error)}`);
  }
}

/** How many files and sockets the process has open. */
const openDescriptors = async (pid: number): Promise<number> =>
  (await readdir(`/proc/${pid}/fd`)).length;

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}

async function untilReady(url: string): Promise<void> {
  for (;;) {
    const { status } = await fetch(`${url}/ready`).catch(() => ({ status: 0 }));
    if (status === 200) return;
    await sleep(50);
  }
}

async function throwFaults(server: FaultyServer, url: string): Promise<string[]> {
  const random = makeRandom(seed);
  const thrown: string[] = [];
  const names = Object.keys(FAULTS);
  for (;;) {
    await sleep((8 + random.below(12)) * SECOND);
    if (isOver) return thrown;
    const name = names[random.below(names.length)]!;
    thrown.push(name);
    isFaulty = true;
    await FAULTS[name]!(server);
    await untilReady(url);
    // What was begun in it may have waited as long as it is let.
    await sleep(LONGER_MS);
    isFaulty = false;
  }
}

const server = await startFaultyServer(500);
const service = startService({
  DATABASE_URL: server.url,
  RATE_LIMIT: "0",
  MAX_REQUESTS_PER_CLIENT: "0",
  MAX_CONCURRENT: "0",
  // Less than the answers to all cases: some are evicted.
  CACHE_BYTES: "1000000",
  POOL_SIZE: "5",
  POOL_WAIT_MS: String(WAIT_MS),
  POOL_HOLD_MS: String(WAIT_MS),
});
const url = await service.url;
await untilReady(url);
oldest = await server.asAdmin(async (client) => {
  const { rows } = await client.query<{ first: number }>(
    "select min(number) as first from dex_block",
  );
  return rows[0]!.first;
});
const openBefore = await openDescriptors(service.pid);
const live = startLive(server.url, { seed, rate: TRADES_A_SECOND });
const agent = new Agent({ keepAlive: true });
const began = Date.now();
const clients = Array.from({ length: CLIENTS }, async (_, first) => {
  for (let n = first * 3; !isOver; n += 1) {
    await ask(url, n, agent);
    await sleep(5);
  }
});
const followers = new SoakFollowers(url, (line) => others.push(line));
followers.start();
const faults = throwFaults(server, url);
// What a service takes until it is warm is no leak: on a slow machine it has answered little after that time.
await sleep(Math.min(minutes * 60 * SECOND * 0.2, 60 * SECOND));
while (others.length === 0 && (tally.get("200") ?? 0) < WARM_AFTER) await sleep(SECOND);
const atStart = await residentMegabytes(service.pid);
let most = atStart;
while (Date.now() - began < minutes * 60 * SECOND) {
  await sleep(SECOND);
  most = Math.max(most, await residentMegabytes(service.pid));
}
const atEnd = await residentMegabytes(service.pid);
isOver = true;
await Promise.all(clients);
const thrown = await faults;
await live.stop();
await followers.stop();
const truth = await server.asAdmin((client) => readTruth(client, KEPT));
const ofFollowers = await followers.differences(truth);
agent.destroy();
// Pools and GraphQL's schema have opened some more.
const MAY_OPEN = 40;
let openAfter = await openDescriptors(service.pid);
for (let n = 0; n < 20 && openAfter > openBefore + MAY_OPEN; n += 1) {
  await sleep(SECOND);
  openAfter = await openDescriptors(service.pid);
}
service.signal("SIGTERM");
const ended = await service.ended;
const written: Written = await server.asAdmin(readWritten);
await server.remove();

console.log(`${asked} requests in ${minutes} minutes; checking ${seen.size} different answers …`);
const answers = [...seen.values()];
const wrong = wrongAnswers(answers, written);
const checked = answers.reduce((sum, { times }) => sum + times, 0);

const grouped = (n: number): string => n.toLocaleString("en");
const kinds = Object.keys(FAULTS)
  .map((name) => `${name} ${thrown.filter((one) => one === name).length}`)
  .join(", ");
const section = `\`npm run soak -- --minutes ${minutes} --seed ${seed}\`, on ${new Date().toISOString().slice(0, 10)} with Node ${process.version}:

| | |
| --- | --: |
| requests | ${grouped(asked)} |
| answered 200 | ${grouped(tally.get("200") ?? 0)} |
| of them as of a past block | ${grouped(tally.get("past") ?? 0)} |
| compared with the computation by brute force | ${grouped(checked)} |
| wrong | ${grouped(wrong.length)} |
| reported as unavailable, all during a fault | ${grouped(tally.get("unavailable during a fault") ?? 0)} |
| any other error | ${grouped(others.length)} |
| trades written during it | ${grouped(written.recording.trades.length - 500)} |
| events sent to the clients that followed all through | ${grouped(followers.tally.events)} |
| streams and subscriptions that went on from the place of an event | ${grouped(followers.tally.resumed)} |
| streams and subscriptions that began anew | ${grouped(followers.tally.resets)} |
| topics of a client's copy that differed from the tables in the end | ${grouped(ofFollowers.length)} |
| streams that were closed as soon as they were open | ${grouped(followers.tally.closed)} |
| WebSockets of floods, of them refused | ${grouped(followers.tally.flooded)}, ${grouped(followers.tally.refused)} |
| files and sockets that the service has open, before / after | ${openBefore} / ${openAfter} |
| faults thrown in | ${grouped(thrown.length)} |
| slowest answer | ${grouped(Math.round(slowestMs))} ms |
| memory, warm / at the end / at most | ${atStart} / ${atEnd} / ${most} MB |

Faults: ${kinds}.`;
console.log(section);
for (const line of [...wrong, ...ofFollowers, ...others].slice(0, 20)) console.log(line);
if (values.publish) await writeSection("soak", section);

/** Flat: not more at the end than when it was warm, but for what garbage there is at any moment. */
const isFlat = atEnd < atStart * 1.5;
if (!isFlat) console.log(`Memory has grown from ${atStart} to ${atEnd} MB.`);
const isGood =
  wrong.length + ofFollowers.length + others.length + followers.tally.resets === 0 &&
  ended.code === 0 &&
  followers.tally.refused > MAY_OPEN &&
  openAfter <= openBefore + MAY_OPEN &&
  isFlat;
process.exitCode = isGood ? 0 : 1;
