// Measures event streams and subscriptions: from a commit to each follower's line, beside a bare server of the same
// bytes and beside the subscriptions of the plain PostGraphile.
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../db/connect.ts";
import { BUSIEST, Exchange, FULL, type Block } from "../data/constant-exchange.ts";
import { callFor, register } from "../data/fill.ts";
import { makeDatabase, type BenchServer } from "../data/server.ts";
import { log, whole } from "../harness.ts";
import { channelOf, NOTIFY } from "../servers/listen-notify.ts";
import { PROGRAMS, startServer, type RunningServer } from "../servers/start.ts";
import { startFollowers, type Followers } from "./followers.ts";
import type { Followed } from "./followers-process.ts";

export interface Measured {
  /** Milliseconds from the commit, or from the post, to each follower's line. */
  latencies: number[];
  /** Lines a second in each block, from the first follower's line to the last's. */
  rates: number[];
  /** Bytes of memory of the server for each follower. */
  memoryOfFollower: number;
  /** Microseconds of the server's processor for each line. */
  processorOfLine: number;
}

/** `repeated`: how often a turn began again, because a follower had lost its stream. */
export type Results = Record<Contender, Measured> & { repeated: number };

/** What is compared: by event streams, then by WebSocket. */
export const CONTENDERS = ["service", "bare", "serviceWebSocket", "plainPostgraphile"] as const;
export type Contender = (typeof CONTENDERS)[number];

export interface LiveSize {
  followers: number;
  /** Followers of those that are followed by WebSocket. */
  webSocketFollowers: number;
  blocks: number;
  /** How often the contenders alternate. */
  rounds: number;
}

const MARKET = `${BUSIEST.base}/${BUSIEST.quote}`;
const STREAM = { path: `/v2/stream?topics=trades:${MARKET}` };
/** With the fields of the event stream's records. The block is first: its number is looked for. */
export const subscriptionTo = (market: string): string =>
  `subscription { dexTrades(market: "${market}") { nodes { block id offerId market act pair maker taker ` +
  "lotGem lotTkn lotAmt bidGem bidTkn bidAmt price time tx idx } } }";
const SUBSCRIPTION = { query: subscriptionTo(MARKET) };
const PAUSE_MS = 300;
/** Turns that begin again, at most: on a busy machine a server gives up on a follower that cannot read. */
const REPEATS = 3;

const now = (): number => performance.timeOrigin + performance.now();

/** The text of the next block, and what tells the server of it and returns when that was. */
type Tell = () => { expect: string; at: () => Promise<number> };

export async function measureLive(
  server: BenchServer,
  { followers, webSocketFollowers, blocks, rounds }: LiveSize,
): Promise<Results> {
  const url = await makeDatabase(server, "dex_live");
  const writer = await connect(url, { role: "dex_writer" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => writer.end());
  await register(writer);
  const exchange = new Exchange(1);
  /** Writes blocks up to the next one that has a trade of the followed market. */
  const writing =
    (isNotified: boolean): (() => Promise<void>) =>
    async () => {
      let block: Block;
      do {
        block = exchange.next(FULL);
        const values = [channelOf(MARKET), block.number, BUSIEST.market];
        if (isNotified) await writer.query("begin");
        await writer.query(callFor(block));
        if (isNotified) await writer.query({ ...NOTIFY, values });
        if (isNotified) await writer.query("commit");
      } while (!isFollowed(block));
    };
  const write = writing(false);
  const writeAndNotify = writing(true);
  const tellOf =
    (writeNext: () => Promise<void>): Tell =>
    () => ({
      expect: `"block":${nextNumber(exchange)},`,
      at: async () => {
        await writeNext();
        return now();
      },
    });
  await write();

  const events = { followers, blocks, followed: STREAM, write };
  const messages = { followers: webSocketFollowers, blocks, followed: SUBSCRIPTION, write };
  const startService = (): Promise<RunningServer> =>
    startServer(PROGRAMS.service, {
      MAX_REQUESTS_PER_CLIENT: "0",
      ...{ DATABASE_URL: url, RATE_LIMIT: "0", MAX_CONNECTIONS: "100000" },
      ...{ MAX_STREAMS: "100000", MAX_STREAMS_PER_CLIENT: "100000" },
    });
  let sample = "";
  const turns: Record<Contender, () => Promise<Measured>> = {
    async service() {
      const service = await startService();
      sample = await firstUpdate(service.url, write);
      return measure(service, { ...events, tell: tellOf(write) });
    },
    async bare() {
      const bare = await startServer(PROGRAMS.bareStream, {});
      return measure(bare, { ...events, tell: tellBare(bare.url, sample) });
    },
    async serviceWebSocket() {
      return measure(await startService(), { ...messages, tell: tellOf(write) });
    },
    async plainPostgraphile() {
      const env = { DATABASE_URL: url, SUBSCRIPTIONS: "on" };
      const plain = await startServer(PROGRAMS.plainPostgraphile, env);
      const tell = tellOf(writeAndNotify);
      return measure(plain, { ...messages, write: writeAndNotify, tell });
    },
  };

  let repeated = 0;
  const results: Measured[][] = CONTENDERS.map(() => []);
  for (let round = 1; round <= rounds; round += 1) {
    for (const [n, name] of CONTENDERS.entries()) {
      const measured = await turns[name]().catch((error: unknown) => {
        if ((repeated += 1) > REPEATS) throw error;
        log(`  ${name}: ${(error as Error).message}; the turn begins again`);
        return turns[name]();
      });
      results[n]?.push(measured);
      log(
        `  ${name}, round ${round}: ${whole(Math.min(...measured.rates))} lines a second at least`,
      );
    }
  }
  const all = CONTENDERS.map((name, n) => [name, together(results[n] ?? [])]);
  return { ...Object.fromEntries(all), repeated } as Results;
}

/** The bare server gets the event's bytes, with another number of the block each time. */
function tellBare(url: string, sample: string): Tell {
  let number = 1_000_000;
  return () => {
    const expect = `"block":${(number += 1)},`;
    const post = { method: "POST", body: sample.replace(/"block":\d+,/, expect) };
    const at = async (): Promise<number> => {
      const before = now();
      await fetch(url, post);
      return before;
    };
    return { expect, at };
  };
}

interface Turn {
  followers: number;
  blocks: number;
  followed: Followed;
  write: () => Promise<void>;
  tell: Tell;
}

async function measure(
  server: RunningServer,
  { followers, blocks, followed, write, tell }: Turn,
): Promise<Measured> {
  const memoryBefore = await server.memory();
  let streams: Followers | undefined;
  try {
    streams = await startFollowers(followers, server.url, followed, write);
    // The first block is not counted: a slow server may still be sending what was written until all had begun.
    await send(streams, tell);
    const memory = (await server.memory()) - memoryBefore;
    const processorBefore = await server.processorTime();
    const latencies: number[] = [];
    const rates: number[] = [];
    for (let n = 0; n < blocks; n += 1) {
      const { from, times } = await send(streams, tell);
      for (const time of times) latencies.push(Math.max(0, time - from));
      times.sort((one, other) => one - other);
      rates.push((followers * 1000) / ((times.at(-1) ?? 0) - (times[0] ?? 0)));
    }
    const processor = (await server.processorTime()) - processorBefore;
    return {
      ...{ latencies, rates, memoryOfFollower: memory / followers },
      processorOfLine: processor / (followers * blocks),
    };
  } finally {
    await streams?.stop();
    await server.stop();
  }
}

/** Sends a block; returns when that was, and when each follower got it. */
async function send(streams: Followers, tell: Tell): Promise<{ from: number; times: number[] }> {
  const { expect, at } = tell();
  const received = streams.expect(expect);
  const from = await at();
  const times = await received;
  await sleep(PAUSE_MS);
  return { from, times };
}

/** The rounds as one: all latencies and rates, the means of the rest. */
function together(rounds: Measured[]): Measured {
  const mean = (values: number[]): number => values.reduce((sum, n) => sum + n, 0) / rounds.length;
  return {
    latencies: rounds.flatMap(({ latencies }) => latencies),
    rates: rounds.flatMap(({ rates }) => rates),
    memoryOfFollower: mean(rounds.map(({ memoryOfFollower }) => memoryOfFollower)),
    processorOfLine: mean(rounds.map(({ processorOfLine }) => processorOfLine)),
  };
}

const isFollowed = ({ trades }: Block): boolean =>
  trades.some(({ market }) => market.base === BUSIEST.base);

/** The number of the next block that has a trade of the followed market. */
function nextNumber(exchange: Exchange): number {
  const restore = exchange.save();
  let block: Block;
  do block = exchange.next(FULL);
  while (!isFollowed(block));
  restore();
  return block.number;
}

/** An event as the service sends it. */
async function firstUpdate(url: string, write: () => Promise<void>): Promise<string> {
  const { body } = await fetch(url + STREAM.path, { headers: { "Accept-Encoding": "identity" } });
  let text = "";
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    // The stream has begun when it has told its first head.
    if (!text.includes("event: update") && piece.includes("event: update")) await write();
    text += piece;
    const update = /event: update\nid: .*\ndata: .*"trades:.*\n\n/.exec(text)?.[0];
    if (update !== undefined) return update;
  }
  throw new Error("the stream has ended");
}
