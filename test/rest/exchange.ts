// The exchange that the REST tests read, with every figure worked by hand.
import type { Database } from "../../db/connect.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  DAI,
  registerMarkets,
  registerPair,
  registerTokens,
  write,
  type TradeRow,
} from "../factories.ts";

export const WSTETH = anAddress("wstETH");

/** The head: 24 hours after genesis, 2026-01-02T00:00:00Z. */
export const HEAD = { seconds: 1_767_312_000, iso: "2026-01-02T00:00:00.000Z" };

/**
 * MKR/WETH never traded; WETH/DAI has trades in every window and a book; WSTETH/DAI is inactive,
 * and its one trade is exactly 24 hours old at the head. `more` are trades beside these.
 */
export async function fillExchange(db: Database, more: readonly TradeRow[] = []): Promise<void> {
  await registerMarkets(db);
  await registerTokens(db, { address: WSTETH, symbol: "wstETH", decimals: 6 });
  await registerPair(db, WSTETH, DAI, false);
  await write(db, {
    offers: [
      anOffer({ id: 101, side: "sell", base: "10", quote: "1300" }),
      anOffer({ id: 102, side: "sell", base: "10", quote: "1400" }),
      anOffer({ id: 103, side: "buy", base: "10", quote: "1200" }),
      anOffer({ id: 104, side: "buy", base: "10", quote: "1100" }),
    ],
    trades: [
      aTrade({ id: 10, hour: 0, base: "3", quote: "7.5", baseGem: WSTETH, quoteGem: DAI }),
      aTrade({ id: 20, hour: 1, base: "1", quote: "100" }),
      aTrade({ id: 30, hour: 13, base: "2", quote: "300" }),
      aTrade({ id: 40, hour: 19, base: "1", quote: "120" }),
      aTrade({ id: 50, hour: 23.5, side: "buy", base: "4", quote: "500" }),
      ...more,
    ],
    head: 24,
  });
}

/** The next trade of WETH/DAI, an hour after the head, in the block that is then the head. */
export const dealAnHourLater = (db: Database): Promise<void> =>
  write(db, { trades: [aTrade({ id: 60, hour: 25, base: "1", quote: "999" })] });

// Σ quote ÷ Σ base of WETH/DAI:
// 24 h: (100 + 300 + 120 + 500) ÷ (1 + 2 + 1 + 4) = 1020 ÷ 8
// 12 h: (300 + 120 + 500) ÷ (2 + 1 + 4) = 920 ÷ 7
//  6 h: (120 + 500) ÷ (1 + 4) = 620 ÷ 5
//  1 h: 500 ÷ 4
export const WETH_DAI = {
  market: {
    pair: "WETH/DAI",
    price: "124",
    last: "125",
    vol: "8",
    ask: "130",
    bid: "120",
    low: "100",
    high: "150",
    active: true,
  },
  pair: { base: "WETH", quote: "DAI", basePrecision: "18", quotePrecision: "18", active: true },
  price: {
    "24hrvwap": "127.5",
    "12hrvwap": "131.428571428571428571",
    "6hrvwap": "124",
    "1hrvwap": "125",
    last: "125",
  },
  volume: { vol: "8" },
  // No trade is 24 hours old, so nothing stood then. The spread is 130 - 120.
  summary: {
    pair: "WETH/DAI",
    last: "125",
    lastTime: "2026-01-01T23:30:00.000Z",
    open: "0",
    change: "0",
    percent: "0",
    low: "100",
    high: "150",
    vwap: "127.5",
    vol: "8",
    quoteVol: "1020",
    trades: 4,
    bid: "120",
    ask: "130",
    spread: "10",
  },
};

export const MKR_WETH = {
  market: {
    pair: "MKR/WETH",
    price: "0",
    last: "0",
    vol: "0",
    ask: "0",
    bid: "0",
    low: "0",
    high: "0",
    active: true,
  },
  pair: { base: "MKR", quote: "WETH", basePrecision: "18", quotePrecision: "18", active: true },
  price: { "24hrvwap": "0", "12hrvwap": "0", "6hrvwap": "0", "1hrvwap": "0", last: "0" },
  volume: { vol: "0" },
  summary: {
    pair: "MKR/WETH",
    last: "0",
    lastTime: null,
    open: "0",
    change: "0",
    percent: "0",
    low: "0",
    high: "0",
    vwap: "0",
    vol: "0",
    quoteVol: "0",
    trades: 0,
    bid: "0",
    ask: "0",
    spread: "0",
  },
};

// Its trade at 24 hours before the head, 7.5 ÷ 3, is in no window; it is the last all the same.
export const WSTETH_DAI = {
  market: { ...MKR_WETH.market, pair: "WSTETH/DAI", last: "2.5", active: false },
  pair: { base: "WSTETH", quote: "DAI", basePrecision: "6", quotePrecision: "18", active: false },
  price: { ...MKR_WETH.price, last: "2.5" },
  volume: { vol: "0" },
  // That trade's is the price that stood when the 24 hours began.
  summary: {
    ...MKR_WETH.summary,
    pair: "WSTETH/DAI",
    last: "2.5",
    lastTime: "2026-01-01T00:00:00.000Z",
    open: "2.5",
  },
};
