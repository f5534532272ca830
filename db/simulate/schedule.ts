// When what happens in a history: its blocks, and how many trades each has.
import { MARKETS, type Market } from "./simulated-tokens.ts";
import type { BlockPlan } from "./simulated-exchange.ts";
import { makeRandom } from "./random.ts";

/** A stretch of history; times in whole seconds since 1970. */
export interface Stretch {
  seed: number;
  /** The block before the first. */
  head: number;
  from: number;
  /** The time of the last block. */
  to: number;
  /** How many trades, exactly; at least one, which the last block has. */
  trades: number;
  /** The markets that are active. */
  markets: readonly Market[];
  /** Whether this is the first stretch of all, in which a market is delisted. */
  first: boolean;
}

const BLOCK_SECONDS = 12;
/** Beyond this, blocks come faster than every twelve seconds. */
const TRADES_PER_BLOCK = 40;
const QUIET_SECONDS = 2 * 86_400;

/** ISO 8601 of whole seconds since 1970. */
export const isoTime = (seconds: number): string =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;

/** The blocks of a stretch in which something happens: always the first and the last. */
export function* schedule(stretch: Stretch): Generator<BlockPlan, void, undefined> {
  const { seed, head, from, to, trades, first } = stretch;
  const span = to - from;
  const blocks = Math.max(
    1,
    Math.floor(span / BLOCK_SECONDS),
    Math.ceil(trades / TRADES_PER_BLOCK),
  );
  const random = makeRandom(seed, head, trades);
  // A short first history is quiet in its second half, so that there is something before it.
  const quietFrom = to - (first ? Math.min(QUIET_SECONDS, Math.floor(span / 2)) : QUIET_SECONDS);
  const delistedFrom = from + Math.floor(span / 2);
  const delisted = first ? MARKETS.filter(({ course }) => course === "delisted") : [];
  let toDelist = delisted;
  let done = 0;

  for (let block = 1; block <= blocks; block += 1) {
    const time = from + Math.floor((span * block) / blocks);
    const due = Math.floor((trades * block) / blocks);
    let count = 0;
    if (block === blocks) count = trades - done;
    else if (done < due && random.chance(50)) {
      count = Math.min(due - done + random.below(4), trades - 1 - done);
    }
    const closing = block > 1 && time > delistedFrom ? toDelist : [];
    if (count === 0 && closing.length === 0 && block > 1) continue;

    const traded = (market: Market): boolean => {
      switch (market.course) {
        case "traded":
          return true;
        case "quiet":
          return time <= quietFrom;
        case "delisted":
          return first && time <= delistedFrom;
        case "untouched":
          return false;
      }
    };
    yield {
      number: head + block,
      time: isoTime(time),
      trades: count,
      markets: (first ? MARKETS : stretch.markets).filter(traded),
      closing,
    };
    if (closing.length > 0) toDelist = [];
    done += count;
  }
}

/** What a first history is to be. */
export interface HistoryOptions {
  /** A whole number; the same seed, days, trades and end give the same history. */
  seed: number;
  /** How many days it spans. */
  days: number;
  /** How many trades it has. */
  trades: number;
}

/** The block before the first of a new exchange. */
export const GENESIS_BLOCK = 20_000_000;

/** The stretch that starts an exchange: so many days up to `until`. */
export function firstStretch({
  seed,
  days,
  trades,
  until,
}: HistoryOptions & { until: Date }): Stretch {
  const to = secondsOf(until);
  return {
    seed,
    head: GENESIS_BLOCK,
    from: to - days * 86_400,
    to,
    trades,
    markets: MARKETS,
    first: true,
  };
}

/** Whole seconds since 1970, rounded down. */
export const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000);
