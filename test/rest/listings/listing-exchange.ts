// An exchange with all that a listing format may trip over: symbols of two tokens, odd characters, tiny and
// huge amounts, trades without a price, several trades in a transaction, markets never traded or inactive.
import type { Database } from "../../../db/connect.ts";
import { bookOf, bruteForce, type Figures, type Level, type Recording } from "../../brute-force.ts";
import {
  aHash,
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  GENESIS,
  MKR,
  registerPair,
  registerTokens,
  WETH,
  write,
} from "../../factories.ts";

/** Another token that calls itself DAI. */
export const OTHER_DAI = anAddress("another DAI");
const gemOf = (symbol: string): string => anAddress(`listed ${symbol}`);

const TOKENS = [
  { address: WETH, symbol: "WETH", name: "Wrapped Ether" },
  { address: DAI, symbol: "DAI", name: "Dai Stablecoin" },
  { address: MKR, symbol: "MKR", name: "" },
  { address: OTHER_DAI, symbol: "DAI", name: "Dai" },
  ...["A_B", "C", "A", "B_C", "X/Y", "Ωmega-1.5", "50%", "GONE", "שקל"].map((symbol) => ({
    address: gemOf(symbol),
    symbol,
    name: null,
  })),
];

interface Pair {
  base: string;
  quote: string;
  base_gem: string;
  quote_gem: string;
  active: boolean;
}

const pair = (base: string, quote: string, active = true): Pair => ({
  base: base.toUpperCase(),
  quote: quote.toUpperCase(),
  base_gem: TOKENS.find(({ symbol }) => symbol === base)?.address ?? "",
  quote_gem: TOKENS.find(({ symbol }) => symbol === quote)?.address ?? "",
  active,
});

export const PAIRS: Pair[] = [
  pair("WETH", "DAI"),
  pair("MKR", "WETH"),
  { ...pair("MKR", "DAI"), quote_gem: OTHER_DAI },
  pair("A_B", "C"),
  pair("A", "B_C"),
  pair("X/Y", "Ωmega-1.5"),
  pair("50%", "WETH"),
  pair("GONE", "DAI", false),
  pair("שקל", "DAI"),
];

const tiny = "0.000000000000000001";
const huge = "100000000000000000000";
const inMarket = (n: number) => ({ baseGem: PAIRS[n]!.base_gem, quoteGem: PAIRS[n]!.quote_gem });
const one = aHash("one transaction");
const other = aHash("another transaction");

/** The offer of every trade but the first. */
const NOT_RECORDED = 999;

export const HEAD_HOUR = 30;
export const TRADES = [
  aTrade({ hour: 1, base: "3", quote: "400", ...inMarket(0) }),
  // Exactly 24 hours before the head, and a second later.
  aTrade({ hour: 6, base: "2", quote: "250", ...inMarket(0) }),
  aTrade({ hour: 6 + 1 / 3600, base: "2", quote: "251", ...inMarket(0) }),
  // One block: two trades of one transaction around one of another, and of a market that is not registered.
  aTrade({ hour: 20, tx: one, idx: 7, base: "1", quote: "130", ...inMarket(0) }),
  aTrade({ hour: 20, tx: other, idx: 9, side: "buy", base: "7", quote: "900", ...inMarket(0) }),
  aTrade({ hour: 20, tx: other, idx: 11, base: huge, quote: tiny, ...inMarket(1) }),
  aTrade({ hour: 20, tx: aHash("a third"), idx: 12, baseGem: WETH, quoteGem: OTHER_DAI }),
  aTrade({ hour: 20, tx: aHash("a fourth"), idx: 13, base: tiny, quote: huge, ...inMarket(2) }),
  // Half a second after a full one.
  aTrade({ hour: 20 + 2.5 / 3600, base: "1", quote: "131", ...inMarket(0) }),
  // Without a price, and at a price of nothing.
  aTrade({ hour: 21, base: "0", quote: "5", ...inMarket(0) }),
  aTrade({ hour: 21, idx: 1, base: "5", quote: "0", ...inMarket(0) }),
  aTrade({ hour: 22, side: "buy", base: "3", quote: "1", ...inMarket(3) }),
  aTrade({ hour: 23, base: "7", quote: "2000.000000000000000001", ...inMarket(4) }),
  aTrade({ hour: 24, base: "1.5", quote: "2.25", ...inMarket(5) }),
  aTrade({ hour: 25, base: "9", quote: "1", ...inMarket(6) }),
  aTrade({ hour: 26, base: "1", quote: "2", ...inMarket(7) }),
  aTrade({ hour: 29, base: "4", quote: "520", ...inMarket(0) }),
].map((row) => ({ ...row, offer_id: row.block === blockAt(1) ? 1 : NOT_RECORDED }));

export const OFFERS = [
  anOffer({ id: 1, side: "sell", base: "10", quote: "1333", ...inMarket(0) }),
  anOffer({ id: 2, side: "sell", base: "5", quote: "700", ...inMarket(0) }),
  anOffer({ id: 3, side: "buy", base: "7", quote: "600", ...inMarket(0) }),
  anOffer({ id: 4, side: "buy", base: "1", quote: "99.5", ...inMarket(0) }),
  anOffer({ id: 5, side: "sell", base: tiny, quote: huge, ...inMarket(1) }),
  anOffer({ id: 6, side: "buy", base: "11", quote: "3", ...inMarket(2) }),
  // Sells a token that has no price yet.
  anOffer({ id: 7, side: "sell", base: "11", quote: "3", ...inMarket(8) }),
];

export async function fillListings(db: Database): Promise<void> {
  await registerTokens(db, ...TOKENS);
  for (const { base_gem, quote_gem, active } of PAIRS) {
    await registerPair(db, base_gem, quote_gem, active);
  }
  await write(db, { trades: TRADES, offers: OFFERS, head: HEAD_HOUR });
}

/** A record that came over the wire. */
export type Fields = Record<string, string>;

const asText = (rows: readonly object[]) =>
  rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])),
  );

export const HEAD_MS = GENESIS + HEAD_HOUR * 3_600_000;
const MOMENT = { block: blockAt(HEAD_HOUR), time: HEAD_MS };
const RECORDING: Recording = {
  tokens: asText(TOKENS),
  pairs: asText(PAIRS),
  offers: asText(OFFERS),
  trades: asText(TRADES),
};

/** By BASE/QUOTE, computed without SQL. */
export const FIGURES = new Map<string, Figures>(
  bruteForce(RECORDING, MOMENT).map((figures) => [figures.pair, figures]),
);

export const levelsOf = (pairRow: Pair): Level[] =>
  bookOf(asText([pairRow])[0]!, RECORDING, MOMENT, 1000);

/** As REST writes a decimal: without trailing zeros. */
export const plain = (value: string | null): string | null =>
  value === null ? null : value.includes(".") ? value.replace(/\.?0+$/, "") : value;

export const idOf = ({ base_gem, quote_gem }: Pair): string => `${base_gem}_${quote_gem}`;
export const keyOf = ({ base, quote }: Pair): string => `${base}/${quote}`;

/** Base amount, quote amount and the taker's side of a trade of the pair; undefined for another's. */
export function dealtIn(
  { base_gem, quote_gem }: Pair,
  row: (typeof TRADES)[number],
): { base: string; quote: string; side: "buy" | "sell" } | undefined {
  if (row.lot_gem === base_gem && row.bid_gem === quote_gem) {
    return { base: row.lot_amt, quote: row.bid_amt, side: "buy" };
  }
  if (row.lot_gem === quote_gem && row.bid_gem === base_gem) {
    return { base: row.bid_amt, quote: row.lot_amt, side: "sell" };
  }
  return undefined;
}
