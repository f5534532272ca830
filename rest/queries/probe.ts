// Tries every statement of REST with a pair that does not exist.
import type { Database } from "../../db/connect.ts";
import { findBook } from "./book.ts";
import { findCandles } from "./candles.ts";
import { findHead } from "./head.ts";
import { findListedMarket, findValuedMarkets } from "./listed-markets.ts";
import { findListedTrades } from "./listed-trades.ts";
import { findMarket } from "./markets.ts";
import { findPair } from "./pairs.ts";
import { findPrice } from "./prices.ts";
import { findSummary } from "./summaries.ts";
import { findSwaps } from "./swaps.ts";
import { findToken } from "./tokens.ts";
import { findTrades } from "./trades.ts";
import { findVolume } from "./volumes.ts";

/** No symbol is empty. */
const NO_PAIR = { base: "", quote: "" };

const PROBES: Record<string, (db: Database) => Promise<unknown>> = {
  markets: (db) => findMarket(db, NO_PAIR),
  pairs: (db) => findPair(db, NO_PAIR),
  prices: (db) => findPrice(db, NO_PAIR),
  volumes: (db) => findVolume(db, NO_PAIR),
  trades: (db) => findTrades(db, NO_PAIR, { limit: 1, fromId: 1 }),
  summary: (db) => findSummary(db, NO_PAIR),
  book: (db) => findBook(db, NO_PAIR, { depth: 1 }),
  candles: (db) => findCandles(db, NO_PAIR, { interval: "1m", limit: 1, empty: "omit" }),
  head: (db) => findHead(db),
  "listed markets": (db) => findListedMarket(db, NO_PAIR),
  liquidity: (db) => findValuedMarkets(db, [""]),
  "listed trades": (db) => findListedTrades(db, NO_PAIR, { window: "day", limit: 1 }),
  swaps: (db) => findSwaps(db, 0, 0),
  tokens: (db) => findToken(db, ""),
};

export interface Unreadable {
  figures: string;
  error: unknown;
}

/** Tries one after the other, on one connection. Throws an error that concerns all statements. */
export async function findUnreadable(
  db: Database,
  concernsAll: (error: unknown) => boolean,
): Promise<Unreadable[]> {
  const unreadable: Unreadable[] = [];
  for (const [figures, probe] of Object.entries(PROBES)) {
    await probe(db).catch((error: unknown) => {
      if (concernsAll(error)) throw error;
      unreadable.push({ figures, error });
    });
  }
  return unreadable;
}
