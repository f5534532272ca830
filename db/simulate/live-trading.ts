// Trades on a simulated exchange as time goes by, a block a second.
import { setTimeout as sleep } from "node:timers/promises";
import { startTask, type RunningTask } from "../running-task.ts";
import { MARKETS } from "./simulated-tokens.ts";
import { Ledger } from "./next-blocks.ts";
import { makeRandom } from "./random.ts";
import { findActiveMarkets } from "./restore.ts";
import { GENESIS_BLOCK, isoTime } from "./schedule.ts";

export interface LiveOptions {
  /** A whole number. */
  seed: number;
  /** Trades a second, on the average; 0 makes blocks without trades. */
  rate: number;
  /** Is called for each failure. The exchange then tries again, after a while that grows to 30 s. */
  onError?: ((error: Error) => void) | undefined;
  /** Is called for each block that is written. */
  onBlock?: ((block: LiveBlock) => void) | undefined;
  /** Milliseconds from block to block; 1000 unless given. */
  interval?: number | undefined;
}

export interface LiveBlock {
  block: number;
  time: string;
  trades: number;
}

const FIRST_RETRY = 500;
const LAST_RETRY = 30_000;
/** More than a history has, whose offers would be most of its rows. */
const DEPTH = 20;
/** After a pause, trades are made up for so many seconds. */
const MADE_UP_SECONDS = 10;

/** Starts trading; it stops with the block that is being written. In an empty database, it opens the exchange first. */
export const startLive = (url: string, options: LiveOptions): RunningTask =>
  startTask((signal) => run(url, options, signal));

async function run(url: string, options: LiveOptions, signal: AbortSignal): Promise<void> {
  const { interval = 1000 } = options;
  let retry = FIRST_RETRY;
  let ledger: Ledger | undefined;
  const due = dueTrades(options.rate);

  while (!signal.aborted) {
    const started = performance.now();
    try {
      ledger ??= await Ledger.open(url, options.seed);
      await makeBlock(ledger, due, options);
      retry = FIRST_RETRY;
      await pause(interval - (performance.now() - started), signal);
    } catch (error) {
      options.onError?.(error as Error);
      await ledger?.close();
      ledger = undefined;
      await pause(retry, signal);
      retry = Math.min(retry * 2, LAST_RETRY);
    }
  }
  await ledger?.close();
}

async function makeBlock(
  ledger: Ledger,
  due: (block: number) => number,
  { onBlock }: LiveOptions,
): Promise<void> {
  let made: LiveBlock | undefined;
  await ledger.turn(async ({ exchange, head, client }) => {
    const now = Math.floor(Date.now() / 1000);
    // Block times never go back, so there is none before the head's.
    if (head !== null && head.time > now) {
      const time = isoTime(head.time);
      throw new Error(
        `the exchange's head, block ${head.block}, is of ${time}, which is still to come`,
      );
    }
    const number = (head?.block ?? GENESIS_BLOCK) + 1;
    const registered = head === null ? MARKETS : await findActiveMarkets(client);
    const markets = registered.filter(({ course }) => course === "traded");
    const trades = markets.length === 0 ? 0 : due(number);
    const time = isoTime(now);
    made = { block: number, time, trades };
    const plan = { number, time, trades, markets, closing: [], depth: DEPTH };
    return [{ number, time, ...exchange.make(plan) }];
  });
  if (made !== undefined) onBlock?.(made);
}

/** How many trades a block has, so that they come to the rate: some blocks none, others several. */
function dueTrades(rate: number): (block: number) => number {
  let counted = performance.now();
  let owed = 0;
  return (block) => {
    const now = performance.now();
    owed = Math.min(owed + ((now - counted) / 1000) * rate, MADE_UP_SECONDS * rate + 1);
    counted = now;
    if (makeRandom(block).chance(30)) return 0;
    const trades = Math.floor(owed);
    owed -= trades;
    return trades;
  };
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  // Rejects when it is to stop, which the loop sees by itself.
  await sleep(Math.max(0, milliseconds), undefined, { signal }).catch(() => undefined);
}
