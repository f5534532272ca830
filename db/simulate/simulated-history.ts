// Writes history into a database: the exchange's first days, or what happens after its head.
import { connect } from "../connect.ts";
import type { BlockPlan } from "./simulated-exchange.ts";
import { Ledger, type MadeBlock, type Turn } from "./next-blocks.ts";
import {
  findActiveMarkets,
  findDensity,
  findHead,
  findHoldings,
  type Head,
  type Holdings,
} from "./restore.ts";
import {
  firstStretch,
  isoTime,
  schedule,
  secondsOf,
  type HistoryOptions,
  type Stretch,
} from "./schedule.ts";

/** What was written. */
export interface HistoryReport {
  trades: number;
  /** The new head. */
  block: number;
  /** ISO 8601; `to` is the head's. */
  from: string;
  to: string;
}

export interface HistoryRun {
  /** When the history ends; the clock's time unless given. Never later than that. */
  until?: Date | undefined;
  /** Receives how many trades of how many are written. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  /** Stops between two batches; what was written stays. */
  signal?: AbortSignal | undefined;
}

/** As many trades as are written at once, about. */
const BATCH_TRADES = 5000;
/** `catchUp` writes no more, however long the exchange stood still. */
const CATCH_UP_TRADES = 50_000;

/**
 * Writes so many trades over so many days. In an empty database they end at `until`, or now; in one
 * that has a simulated exchange they follow its head, for that many days but not beyond `until`:
 * where little time is left, blocks follow each other fast. `url` must let its login become
 * dex_writer. Throws OtherDataError for a database with other data, and for an `until` before the head
 * or in the future.
 */
export async function simulateHistory(
  url: string,
  { seed, days, trades, until, ...run }: HistoryOptions & HistoryRun,
): Promise<HistoryReport> {
  const now = new Date();
  const end = until ?? now;
  if (end > now) throw new Error("history cannot end in the future");
  const plan = async ({ head, client }: Turn, left: number): Promise<Stretch> => {
    if (head === null) return firstStretch({ seed, days, trades: left, until: end });
    if (head.time > secondsOf(end)) {
      throw new Error(
        `the exchange's head, block ${head.block}, is of ${isoTime(head.time)}: ` +
          `history after it cannot end at ${isoTime(secondsOf(end))}`,
      );
    }
    return {
      seed,
      head: head.block,
      from: head.time,
      to: Math.min(head.time + days * 86_400, secondsOf(end)),
      trades: left,
      markets: await findActiveMarkets(client),
      first: false,
    };
  };
  return write(url, seed, trades, plan, run);
}

export interface CatchUpOptions extends HistoryRun {
  seed: number;
  /** Trades a second, where the history is too short to show how dense it is. */
  rate?: number | undefined;
  /** How many trades it writes at most; 50,000 unless given. */
  max?: number | undefined;
}

/**
 * Brings a simulated exchange from its head up to now, as densely as it was traded before, and at
 * most with so many trades. Null where there is nothing to do: the database is empty, or its head
 * is of this second, or of a later one. Throws OtherDataError for a database with other data.
 */
export async function catchUp(
  url: string,
  { seed, rate = 0, max = CATCH_UP_TRADES, until = new Date(), ...run }: CatchUpOptions,
): Promise<HistoryReport | null> {
  const gap = await findGap(url, secondsOf(until));
  if (gap === null) return null;
  const { head, density } = gap;
  const seconds = secondsOf(until) - head.time;
  const expected =
    density.seconds < 3600
      ? Math.round(seconds * rate)
      : Math.round((seconds * density.trades) / density.seconds);
  const trades = Math.max(1, Math.min(max, expected));
  return simulateHistory(url, {
    seed,
    trades,
    days: Math.ceil(seconds / 86_400),
    until,
    ...run,
  });
}

/** What a database holds: only an empty one, or one with a simulated exchange, can be traded in. */
export async function holdingsOf(url: string): Promise<Holdings> {
  await using client = await connect(url, { role: "dex_writer" });
  return await findHoldings(client);
}

async function findGap(
  url: string,
  end: number,
): Promise<{ head: Head; density: { trades: number; seconds: number } } | null> {
  await using client = await connect(url, { role: "dex_writer" });
  const head = await findHead(client);
  if (head === null || head.time >= end) return null;
  return { head, density: await findDensity(client) };
}

/** Writes batch by batch; whenever the head was moved by others, the rest is planned anew. */
async function write(
  url: string,
  seed: number,
  trades: number,
  plan: (turn: Turn, left: number) => Promise<Stretch>,
  { onProgress, signal }: HistoryRun,
): Promise<HistoryReport> {
  const ledger = await Ledger.open(url, seed);
  let done = 0;
  let from: number | undefined;
  let last: Head | undefined;
  let blocks: Iterator<BlockPlan, void, undefined> | undefined;
  try {
    while (done < trades && !(signal?.aborted ?? false)) {
      await ledger.turn(async (turn) => {
        if (blocks === undefined || turn.head?.block !== last?.block) {
          const stretch = await plan(turn, trades - done);
          from ??= stretch.from;
          blocks = schedule(stretch);
        }
        const made: MadeBlock[] = [];
        for (let batch = 0; batch < BATCH_TRADES;) {
          const next = blocks.next();
          if (next.done === true) break;
          const events = turn.exchange.make(next.value);
          made.push({ ...next.value, ...events });
          batch += events.trades.length;
          done += events.trades.length;
          last = { block: next.value.number, time: Date.parse(next.value.time) / 1000 };
        }
        return made;
      });
      onProgress?.(done, trades);
    }
  } finally {
    await ledger.close();
  }
  if (from === undefined || last === undefined) throw new Error("stopped before the first block");
  return { trades: done, block: last.block, from: isoTime(from), to: isoTime(last.time) };
}
