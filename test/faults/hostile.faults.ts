// Hostile clients of live data: those that never read, read a byte a second, come in thousands, open and close
// without a pause, follow as many topics as they may, or come back from old places. REST answers beside them, memory is
// bounded, and nothing is left when they are gone.
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  BEHAVIOURS,
  KINDS,
  startHostile,
  SUBSCRIPTIONS,
  type Hostile,
  type HostileTarget,
  type Kind,
} from "./hostile-clients.ts";
import { connect, type Client } from "../../db/connect.ts";
import { aTrade, write } from "../factories.ts";
import { PATIENT, startService, type Service } from "../service.ts";
import { followStream } from "../stream-client.ts";
import { startLoad } from "./load.ts";
import { recordOutcome } from "./outcomes.ts";
import { casesAt, readWritten } from "./right-answers.ts";
import { startFaultyServer, type FaultyServer } from "./server.ts";

const COLLECTED = fileURLToPath(new URL("./collected-memory.js", import.meta.url));

const BUFFER_BYTES = 100_000;
const MAX_STREAMS = 640;
const MB = 1024 * 1024;
/** Of caches that a first use fills. */
const MAX_LEFT = 25 * MB;
/** Sockets and timers: connections of the pools and of this test come and go. */
const MAX_RESOURCES_LEFT = 25;

let server: FaultyServer;
let writer: Client;
beforeAll(async () => {
  server = await startFaultyServer(600);
  writer = await connect(server.url, { role: "dex_writer" });
});
afterAll(async () => {
  await writer.end();
  await server.remove();
});

let service: Service;
let target: HostileTarget;
beforeEach(async () => {
  service = startService({
    DATABASE_URL: server.url,
    MAX_REQUESTS_PER_CLIENT: "0",
    ...{ CACHE_BYTES: "0", RATE_LIMIT: "0", MAX_CONCURRENT: "0", METRICS: "on" },
    ...PATIENT,
    MAX_CONNECTIONS: "10000",
    MAX_STREAMS: String(MAX_STREAMS),
    MAX_STREAMS_PER_CLIENT: String(MAX_STREAMS),
    STREAM_BUFFER_BYTES: String(BUFFER_BYTES),
    NODE_OPTIONS: `--expose-gc --import ${COLLECTED}`,
  });
  const url = await service.url;
  const first = await followStream(`${url}/v2/stream?topics=head`);
  const place = (await first.next())?.id ?? "";
  first.close();
  const [origin = "", epoch = ""] = place.split(".");
  target = { url, base: "WETH", quote: "DAI", oldPlace: `${origin}.${epoch}.0.-1.0` };
});
const playing: Hostile[] = [];
afterEach(async () => {
  await Promise.all(playing.splice(0).map((each) => each.stop()));
  service.signal("SIGKILL");
  await service.ended;
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${target.url}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return Number(line?.split(" ").at(-1));
}

const openStreams = async (): Promise<number> =>
  (await metric("dex_streams")) + (await metric("dex_graphql_subscriptions"));

async function untilNothingIsOpen(): Promise<void> {
  while ((await openStreams()) + (await metric("dex_websockets")) > 0) await sleep(20);
}

interface Held {
  bytes: number;
  /** Sockets, timers and others that keep the process alive. */
  resources: number;
}

let collections = 0;
async function collected(): Promise<Held> {
  collections += 1;
  service.signal("SIGUSR2");
  const line = new RegExp(`collected ${collections} times: (\\d+) bytes, (\\d+) resources`);
  const [, bytes, resources] = (await service.printed(line)) as RegExpExecArray;
  return { bytes: Number(bytes), resources: Number(resources) };
}
beforeEach(() => (collections = 0));

const SELECT_NEXT = `
  select
    head.block + 1 as block,
    head.time + interval '12 seconds' as time,
    pair.base_gem as "baseGem",
    pair.quote_gem as "quoteGem"
  from dex_head as head
  join dex_pair as pair on pair.base = 'WETH' and pair.quote = 'DAI'
`;

/** An offer that was never written. */
const UNKNOWN = 1_000_000_000;

async function writeBlock(): Promise<void> {
  const { rows } = await writer.query<{ block: number; time: Date }>(SELECT_NEXT);
  const next = { ...rows[0]!, time: rows[0]!.time.toISOString() };
  await write(writer, {
    trades: Array.from({ length: 100 }, (_, idx) => aTrade({ ...next, idx, offer_id: UNKNOWN })),
  });
}

const CLIENTS: Record<"SSE" | "WebSocket", number> = { SSE: 200, WebSocket: 8 };

function clientsOf(kind: Kind): number {
  const { transport, reading } = BEHAVIOURS[kind];
  // More than MAX_STREAMS.
  if (kind.startsWith("follows")) {
    return transport === "SSE" ? MAX_STREAMS + 100 : MAX_STREAMS / SUBSCRIPTIONS + 5;
  }
  return reading === "all" ? 8 : CLIENTS[transport];
}

/** The clients come, blocks are written, and REST is asked beside them; then they leave. */
async function play(kind: Kind): Promise<{ hostile: Hostile; held: Held }> {
  const hostile = startHostile(kind, target, clientsOf(kind));
  playing.push(hostile);
  await hostile.begun;
  for (let n = 0; n < 5; n += 1) await writeBlock();
  const cases = casesAt(await server.asAdmin(readWritten));
  const load = startLoad(target.url, cases, 2);
  while (load.counts.right < 2 * cases.length) await sleep(20);
  // More come than may stay.
  while (kind.startsWith("follows") && (await openStreams()) < MAX_STREAMS) await sleep(20);
  const held = await collected();
  expect(await openStreams()).toBeLessThanOrEqual(MAX_STREAMS);
  const counts = await load.stop();
  await hostile.stop();
  await untilNothingIsOpen();
  await recordOutcome({ fault: `${clientsOf(kind)} clients: ${kind}`, counts, ready: "ready" });
  expect(counts).toMatchObject({ wrong: [], other: [], unanswered: 0, unavailable: 0 });
  return { hostile, held };
}

it.each(KINDS)("REST answers beside a client that %s, and nothing is left of it", async (kind) => {
  // The first time fills caches.
  await play(kind);
  const before = await collected();
  const { hostile, held } = await play(kind);
  const after = await collected();
  const shown = [before, held, after].map(
    ({ bytes, resources }) => `${(bytes / MB).toFixed()} MB, ${resources} resources`,
  );
  process.stdout.write(`${kind}: ${shown.join(" → ")}, ${JSON.stringify(hostile.tally)}\n`);
  expect(hostile.tally.opened).toBeGreaterThan(0);
  expect(after.bytes - before.bytes).toBeLessThan(MAX_LEFT);
  expect(after.resources - before.resources).toBeLessThan(MAX_RESOURCES_LEFT);
  // What waits for a client, and some kilobytes of its own.
  const most = MAX_LEFT + MAX_STREAMS * (BUFFER_BYTES + 50_000);
  expect(held.bytes - before.bytes).toBeLessThan(most);
});
