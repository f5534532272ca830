// What CoinMarketCap asks a spot exchange for: summary, assets, tickers, order books and trades.
import { z } from "zod";
import { bareEnvelope } from "../../http/envelope.ts";
import { endpoint, type Version } from "../endpoint.ts";
import type { PairName } from "../../market/queries/snapshot.ts";
import { bookOf, findBook } from "../../market/queries/book.ts";
import { everyListedMarket, type ListedMarket } from "../../market/queries/listed-markets.ts";
import {
  findListedTrades,
  listedTrades,
  MAX_TRADES,
  side,
} from "../../market/queries/listed-trades.ts";
import { decimal, signedDecimal } from "../../market/records.ts";
import {
  address,
  book,
  depthOfBothSides,
  levelsOfASide,
  listedBook,
  requiredText,
} from "./listing-params.ts";

/** A symbol may contain an underscore, which would make BASE_QUOTE ambiguous. */
const escaped = (symbol: string): string => symbol.replaceAll("%", "%25").replaceAll("_", "%5F");
const unescaped = (text: string): string => text.replaceAll(/%5F/gi, "_").replaceAll("%25", "%");

const marketPairOf = ({ base, quote }: ListedMarket): string =>
  `${escaped(base)}_${escaped(quote)}`;

function namedBy(marketPair: string): PairName {
  const [base = "", quote = ""] = marketPair.split("_");
  return { base: unescaped(base), quote: unescaped(quote) };
}

const assetsOf = (market: ListedMarket) => [
  { symbol: market.base, gem: market.baseGem, name: market.baseName },
  { symbol: market.quote, gem: market.quoteGem, name: market.quoteName },
];

/** The codes of assets: their symbols, with the address where several tokens have the symbol. */
function codesOf(markets: ListedMarket[]): (symbol: string, gem: string) => string {
  const gems = new Map<string, Set<string>>();
  for (const { symbol, gem } of markets.flatMap(assetsOf)) {
    gems.set(symbol, (gems.get(symbol) ?? new Set()).add(gem));
  }
  return (symbol, gem) => ((gems.get(symbol)?.size ?? 0) > 1 ? `${symbol}:${gem}` : symbol);
}

const marketPair = z
  .string()
  .regex(/^[^_]+_[^_]+$/)
  .meta({
    id: "CoinMarketCapPair",
    description:
      "The symbols of base and quote in upper case, joined by an underscore; one in a symbol is `%5F`, and " +
      "a `%` is `%25`.",
  });

const code = z
  .string()
  .describe(
    "The symbol in upper case; where the markets have several tokens of this symbol, with a colon and the " +
      "token's address.",
  );

const summary = z
  .object({
    trading_pairs: marketPair,
    base_currency: code,
    quote_currency: code,
    last_price: decimal.describe("The price of the newest trade, however old."),
    lowest_ask: decimal.describe("The lowest price of the open offers and pools that sell base."),
    highest_bid: decimal.describe("The highest price of the open offers and pools that buy base."),
    base_volume: decimal.describe("The volume of the last 24 hours, in base units."),
    quote_volume: decimal.describe("The volume of the last 24 hours, in quote units."),
    price_change_percent_24h: signedDecimal.describe(
      "What the last price is above the price that stood 24 hours ago, in percent of that.",
    ),
    highest_price_24h: decimal.describe("The highest price of a trade of the last 24 hours."),
    lowest_price_24h: decimal.describe("The lowest price of a trade of the last 24 hours."),
  })
  .meta({ id: "CoinMarketCapSummary" });

const asset = z
  .object({
    name: z.string().optional().describe("As the token gives it. Absent where it is not known."),
    contractAddress: address,
  })
  .meta({ id: "CoinMarketCapAsset" });

const ticker = z
  .object({
    last_price: decimal.describe("The price of the newest trade, however old."),
    base_volume: decimal.describe("The volume of the last 24 hours, in base units."),
    quote_volume: decimal.describe("The volume of the last 24 hours, in quote units."),
    isFrozen: z.union([z.literal(0), z.literal(1)]).describe("0 where trading is enabled, else 1."),
  })
  .meta({ id: "CoinMarketCapTicker" });

const orderbook = z.object(book).meta({ id: "CoinMarketCapOrderbook" });

const trade = z
  .object({
    trade_id: z.int().min(1).describe("Grows with recency, with gaps."),
    price: decimal.describe("In quote per base."),
    base_volume: decimal,
    quote_volume: decimal,
    timestamp: z.int().describe("The time of its block, in milliseconds since the Unix epoch."),
    type: side.describe("`buy` where an offer that sells base was taken."),
  })
  .meta({ id: "CoinMarketCapTrade" });

const marketPairAsked = requiredText(/^[^_\0]+_[^_\0]+$/, {
  description: "The market, as `trading_pairs` of `/coinmarketcap/summary`, in any case.",
  accepted: "BASE_QUOTE, with an underscore of a symbol as %5F",
  example: "WETH_DAI",
});

export const coinmarketcap: Version = {
  name: "coinmarketcap",
  description: "What CoinMarketCap asks a spot exchange for. Answers are the data alone.",
  envelope: bareEnvelope,
  endpoints: [
    endpoint({
      id: "coinmarketcapSummary",
      path: "/summary",
      summary: "The last 24 hours of each registered market, with the best prices",
      description: "In the order of the markets' `BASE/QUOTE` by code point, active or not.",
      ...everyListedMarket,
      shape: (markets) => {
        const codeOf = codesOf(markets);
        return markets.map((market) => ({
          trading_pairs: marketPairOf(market),
          base_currency: codeOf(market.base, market.baseGem),
          quote_currency: codeOf(market.quote, market.quoteGem),
          last_price: market.last ?? "0",
          lowest_ask: market.ask ?? "0",
          highest_bid: market.bid ?? "0",
          base_volume: market.vol ?? "0",
          quote_volume: market.quoteVol ?? "0",
          price_change_percent_24h: market.percent ?? "0",
          highest_price_24h: market.high ?? "0",
          lowest_price_24h: market.low ?? "0",
        }));
      },
      data: z.array(summary),
    }),
    endpoint({
      id: "coinmarketcapAssets",
      path: "/assets",
      summary: "Each token of a registered market",
      description: "By its code, which is what `base_currency` and `quote_currency` have.",
      ...everyListedMarket,
      shape: (markets) => {
        const codeOf = codesOf(markets);
        return Object.fromEntries(
          markets
            .flatMap(assetsOf)
            .map(({ symbol, gem, name }) => [
              codeOf(symbol, gem),
              { ...(name !== null && { name }), contractAddress: gem },
            ]),
        );
      },
      data: z.record(z.string(), asset),
    }),
    endpoint({
      id: "coinmarketcapTicker",
      path: "/ticker",
      summary: "The price and the volumes of each registered market",
      description: "By `BASE_QUOTE`, active or not.",
      ...everyListedMarket,
      shape: (markets) =>
        Object.fromEntries(
          markets.map((market) => [
            marketPairOf(market),
            {
              last_price: market.last ?? "0",
              base_volume: market.vol ?? "0",
              quote_volume: market.quoteVol ?? "0",
              isFrozen: market.active ? (0 as const) : (1 as const),
            },
          ]),
        ),
      data: z.record(marketPair, ticker),
    }),
    endpoint({
      id: "coinmarketcapOrderbook",
      path: "/orderbook",
      summary: "The book of a market, by price",
      description:
        "At the head: what is left of the open offers, and what pools trade up to each level.",
      query: {
        market_pair: marketPairAsked,
        depth: depthOfBothSides,
        level: {
          description: "1 for the best price of each side, 2 for the book by price.",
          accepted: "one of 1, 2, given once",
          schema: z.enum(["1", "2"]).default("2"),
          example: "2",
        },
      },
      find: (db, _pair, { market_pair, depth, level }) =>
        findBook(db, namedBy(market_pair), { depth: level === "1" ? 1 : levelsOfASide(depth) }),
      shape: (rows, { time }) => listedBook(bookOf(rows), time),
      data: orderbook,
    }),
    endpoint({
      id: "coinmarketcapTrades",
      path: "/trades",
      summary: "The trades of a market in the last 24 hours, newest first",
      description: `Those that have a price; the newest ${MAX_TRADES} where there are more.`,
      query: { market_pair: marketPairAsked },
      find: (db, _pair, { market_pair }) =>
        findListedTrades(db, namedBy(market_pair), { window: "day", limit: MAX_TRADES }),
      shape: (rows) =>
        listedTrades(rows).map((traded) => ({
          trade_id: traded.id,
          price: traded.price,
          base_volume: traded.base,
          quote_volume: traded.quote,
          timestamp: traded.ms,
          type: traded.side,
        })),
      data: z.array(trade),
    }),
  ],
};
