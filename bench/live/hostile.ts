// Measures a price from the database alone, beside each kind of hostile client, and beside the same clients of a bare
// server, in alternating turns; and the memory of the service with them.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect } from "../../db/connect.ts";
import { openDatabase, type BenchServer } from "../data/server.ts";
import { askFor } from "../load/client.ts";
import { median } from "../load/statistics.ts";
import { PROGRAMS, startServer, type RunningServer } from "../servers/start.ts";
import { callFor, fill, register } from "../write/door.ts";
import { Exchange, FULL, MARKETS } from "../write/exchange.ts";
import {
  BEHAVIOURS,
  bytesFor,
  KINDS,
  SUBSCRIPTIONS,
  type HostileTarget,
  type Kind,
  type Tally,
} from "./hostile-clients.ts";
import type { Order } from "./hostile-process.ts";

const PROGRAM = fileURLToPath(new URL("hostile-process.ts", import.meta.url));

export interface HostileSize {
  /** Streams of the kinds that are measured at the greatest number. */
  followers: number;
  turns: number;
  /** Of each turn, alone and beside. */
  seconds: number;
}

export interface BesideHostile {
  kind: Kind;
  clients: number;
  /** The most streams that the service had open. */
  streams: number;
  /** Connections that came, that were refused, and that were closed, in all turns. */
  tally: Tally;
  /** Milliseconds of a price: the medians of all turns. */
  alone: number;
  beside: number;
  /** Beside clients of a bare server, which take the same bytes. */
  besideBare: number;
  /** Kilobytes of resident memory before the first turn, at most, and at the end, when all clients are gone. */
  memory: { before: number; peak: number; after: number };
}

/** Clients of each kind. */
function clientsOf(kind: Kind, followers: number): number {
  const { transport, reading } = BEHAVIOURS[kind];
  if (kind.startsWith("follows")) {
    return transport === "SSE" ? followers : Math.ceil(followers / SUBSCRIPTIONS);
  }
  if (reading !== "all") return transport === "SSE" ? 500 : 50;
  return kind.startsWith("has many topics") ? 50 : 10;
}

const HISTORY_TRADES = 20_000;
const BLOCK_MS = 1000;
const ASKING = { connections: 2 };
const PRICE = { method: "GET", path: "/v1/prices/base0/quote" } as const;

export async function measureHostile(
  server: BenchServer,
  { followers, turns, seconds }: HostileSize,
  log: (line: string) => void,
  kinds: readonly Kind[] = KINDS,
): Promise<BesideHostile[]> {
  const url = await openDatabase(server, "dex_hostile");
  const writer = await connect(url, { role: "dex_writer" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => writer.end());
  await register(writer);
  const exchange = new Exchange(1);
  await fill(writer, exchange, HISTORY_TRADES);

  const results: BesideHostile[] = [];
  for (const kind of kinds) {
    const service = await startServer(PROGRAMS.service, {
      ...{ DATABASE_URL: url, CACHE: "off", RATE_LIMIT: "0", MAX_CONCURRENT: "0", METRICS: "on" },
      ...{ MAX_CONNECTIONS: "100000", MAX_STREAMS: String(followers + 1000) },
      MAX_STREAMS_PER_CLIENT: "100000",
    });
    const isOver = new AbortController();
    const writing = (async () => {
      while (!isOver.signal.aborted) {
        await writer.query(callFor(exchange.next(FULL)));
        await sleep(BLOCK_MS, undefined, { signal: isOver.signal }).catch(() => undefined);
      }
    })();
    try {
      const target = await targetOf(service.url);
      results.push(
        await measureKind(kind, clientsOf(kind, followers), { service, target, turns, seconds }),
      );
    } finally {
      isOver.abort();
      await writing;
      await service.stop();
    }
    log(`  ${shown(results.at(-1))}`);
  }
  return results;
}

const shown = (result: BesideHostile | undefined): string =>
  result === undefined
    ? ""
    : `${result.clients} × ${result.kind}: ${result.beside.toFixed(2)} ms beside, ` +
      `${result.alone.toFixed(2)} ms alone, ${(result.beside / result.alone).toFixed(2)} ×; ` +
      `${result.besideBare.toFixed(2)} ms beside those of a bare server; ` +
      `${result.streams} streams, ${Object.entries(result.tally).join(" ")}; ` +
      `${Object.values(result.memory)
        .map((kilobytes) => Math.round(kilobytes / 1024))
        .join(" → ")} MB`;

interface Scene {
  service: RunningServer;
  target: HostileTarget;
  turns: number;
  seconds: number;
}

async function measureKind(kind: Kind, clients: number, scene: Scene): Promise<BesideHostile> {
  const { service, target, turns, seconds } = scene;
  const askPrice = async (): Promise<number[]> =>
    (await askFor(service.url, PRICE, { ...ASKING, seconds })).latencies;
  /** Returns the tally, and how many have come a second. */
  const askBeside = async (url: string, latencies: number[][]): Promise<[Tally, number]> => {
    const hostile = fork(PROGRAM, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    try {
      const ask = async (order: Order): Promise<Tally> => {
        const told = once(hostile, "message");
        hostile.send(order);
        return (await told)[0] as Tally;
      };
      const { opened } = await ask({ start: kind, target: { ...target, url }, clients });
      latencies.push(await askPrice());
      streams = Math.max(streams, await openStreams(service.url));
      const tally = await ask({ tell: true });
      return [tally, (tally.opened - opened) / seconds];
    } finally {
      hostile.kill("SIGKILL");
    }
  };
  await askPrice();
  const { first, next } = await bytesFor(kind, target);
  const before = (await service.memory())?.now ?? 0;
  const [alone, beside, besideBare]: [number[][], number[][], number[][]] = [[], [], []];
  const total: Tally = { opened: 0, refused: 0, closed: 0 };
  let streams = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    alone.push(await askPrice());
    const [tally, rate] = await askBeside(service.url, beside);
    for (const [name, count] of Object.entries(tally)) {
      total[name as keyof Tally] += count as number;
    }
    while ((await openStreams(service.url)) > 0) await sleep(100);

    const leaves = "leaves" in BEHAVIOURS[kind];
    const bare = await startServer(PROGRAMS.bareLive, {
      ...{ FIRST_BYTES: String(first), NEXT_BYTES: String(next), EVERY_MS: String(BLOCK_MS) },
      // As many come and go as at the service.
      DELAY_MS: String(leaves ? (1000 * clients) / Math.max(rate, 1) : 0),
    });
    try {
      await askBeside(bare.url, besideBare);
    } finally {
      await bare.stop();
    }
  }
  const { now: after, peak } = (await service.memory()) ?? { now: 0, peak: 0 };
  return {
    ...{ kind, clients, streams, tally: total },
    ...{ alone: median(alone.flat()), beside: median(beside.flat()) },
    besideBare: median(besideBare.flat()),
    memory: { before, peak, after },
  };
}

async function targetOf(url: string): Promise<HostileTarget> {
  const [{ base, quote } = { base: "", quote: "" }] = MARKETS;
  const response = await fetch(`${url}/v2/stream?topics=head`);
  let text = "";
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    const place = /^id: (\w+\.\w+)\..*$/m.exec(text)?.[1];
    if (place !== undefined) return { url, base, quote, oldPlace: `${place}.0.-1.0` };
  }
  throw new Error("the stream has told no place");
}

/** Streams, subscriptions and WebSocket connections that are open. */
async function openStreams(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const values = [...text.matchAll(/^(?:dex_streams|dex_graphql_subscriptions) (\d+)$/gm)];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}
