// What CoinGecko asks a decentralized exchange for: tickers, pairs, order books and trades.
import { z } from "zod";
import { bareEnvelope } from "../../http/envelope.ts";
import { endpoint, type Version } from "../endpoint.ts";
import { integerAccepted, integerIn, type Parameter } from "../params.ts";
import { bookOf, findBook } from "../../market/queries/book.ts";
import { everyListedMarket, findValuedMarkets } from "../../market/queries/listed-markets.ts";
import type { ListedMarket } from "../../market/queries/listed-markets.ts";
import {
  findListedTrades,
  listedTrades,
  MAX_TRADES,
  side,
  type Side,
} from "../../market/queries/listed-trades.ts";
import { decimal } from "../../market/records.ts";
import {
  address,
  addressesOf,
  book,
  byAddresses,
  depthOfBothSides,
  levelsOfASide,
  listedBook,
  marketByAddresses,
  sideAsked,
  tradesAsked,
} from "./listing-params.ts";

const tickerId = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}_0x[0-9a-fA-F]{40}$/)
  .describe("The addresses of base and target token, joined by an underscore.");
const poolId = tickerId.describe(
  "The market's id, which is `ticker_id`: a market is one book, also where several pools trade its pair.",
);

const ticker = z
  .object({
    ticker_id: tickerId,
    base_currency: address.describe("The address of the base token."),
    target_currency: address.describe("The address of the target token, in which prices are."),
    pool_id: poolId,
    last_price: decimal.describe("The price of the newest trade, however old."),
    base_volume: decimal.describe("The volume of the last 24 hours, in base units."),
    target_volume: decimal.describe("The volume of the last 24 hours, in target units."),
    liquidity_in_usd: decimal
      .optional()
      .describe(
        "What is left of the open offers that have a price, the base that they sell at the last price. Absent " +
          "where none of the market's tokens is in `USD_TOKENS`, or there is no price.",
      ),
    bid: decimal
      .optional()
      .describe("The highest price of the open offers and pools that buy base."),
    ask: decimal
      .optional()
      .describe("The lowest price of the open offers and pools that sell base."),
    high: decimal.optional().describe("The highest price of a trade of the last 24 hours."),
    low: decimal.optional().describe("The lowest price of a trade of the last 24 hours."),
  })
  .meta({ id: "CoinGeckoTicker" });

const pair = z
  .object({ ticker_id: tickerId, base: address, target: address, pool_id: poolId })
  .meta({ id: "CoinGeckoPair" });

const orderbook = z.object({ ticker_id: tickerId, ...book }).meta({ id: "CoinGeckoOrderbook" });

const trade = z
  .object({
    trade_id: z.int().min(1).describe("Grows with recency, with gaps."),
    price: decimal.describe("In target units per base."),
    base_volume: decimal,
    target_volume: decimal,
    trade_timestamp: z.int().describe("The time of its block, in seconds since the Unix epoch."),
    type: side.describe("`buy` where the taker got base."),
  })
  .meta({ id: "CoinGeckoTrade" });

const tickerOf = (market: ListedMarket, last: string): z.infer<typeof ticker> => ({
  ticker_id: addressesOf(market),
  base_currency: market.baseGem,
  target_currency: market.quoteGem,
  pool_id: addressesOf(market),
  last_price: last,
  base_volume: market.vol ?? "0",
  target_volume: market.quoteVol ?? "0",
  ...(market.liquidityInUsd !== null && { liquidity_in_usd: market.liquidityInUsd }),
  ...(market.bid !== null && { bid: market.bid }),
  ...(market.ask !== null && { ask: market.ask }),
  ...(market.high !== null && { high: market.high }),
  ...(market.low !== null && { low: market.low }),
});

/** The last second of the year 9999. */
const MAX_SECONDS = 253_402_300_799;

const unixSeconds = (description: string, example: string): Parameter<number | undefined> => ({
  description,
  accepted: `${integerAccepted(0, MAX_SECONDS)}: seconds since the Unix epoch`,
  schema: integerIn(0, MAX_SECONDS).optional(),
  example,
});

/** `usdTokens` are worth a dollar: symbols in upper case, and addresses in lower case. */
export const coingecko = (usdTokens: readonly string[]): Version => ({
  name: "coingecko",
  description: "What CoinGecko asks a decentralized exchange for. Answers are the data alone.",
  envelope: bareEnvelope,
  endpoints: [
    endpoint({
      id: "coingeckoTickers",
      path: "/tickers",
      summary: "The last 24 hours of each active market that was ever traded",
      description:
        "In the order of the markets' `BASE/QUOTE` by code point. A market that was never traded has no " +
        "price: it is in `/coingecko/pairs` alone.",
      find: (db) => findValuedMarkets(db, usdTokens),
      // Without tokens of a dollar it would read no liquidity.
      probe: (db) => findValuedMarkets(db, [""]),
      shape: (markets) =>
        markets.flatMap((market) =>
          market.active && market.last !== null ? [tickerOf(market, market.last)] : [],
        ),
      data: z.array(ticker),
    }),
    endpoint({
      id: "coingeckoPairs",
      path: "/pairs",
      summary: "Each active market",
      description: "In the order of the markets' `BASE/QUOTE` by code point.",
      ...everyListedMarket,
      shape: (markets) =>
        markets
          .filter(({ active }) => active)
          .map((market) => ({
            ticker_id: addressesOf(market),
            base: market.baseGem,
            target: market.quoteGem,
            pool_id: addressesOf(market),
          })),
      data: z.array(pair),
    }),
    endpoint({
      id: "coingeckoOrderbook",
      path: "/orderbook",
      summary: "The book of a market",
      description:
        "At the head, by price: what is left of the open offers, and what pools trade up to each level.",
      query: {
        ticker_id: marketByAddresses("The market, as `ticker_id` of `/coingecko/pairs`."),
        depth: depthOfBothSides,
      },
      find: async (db, _pair, { ticker_id, depth }) => {
        const found = await findBook(db, byAddresses(ticker_id), { depth: levelsOfASide(depth) });
        return { ...found, rows: [{ ticker_id, ...bookOf(found.rows) }] };
      },
      shape: ([found], { time }) => ({
        ticker_id: found?.ticker_id ?? "",
        ...listedBook(found ?? { bids: [], asks: [] }, time),
      }),
      data: orderbook,
    }),
    endpoint({
      id: "coingeckoHistoricalTrades",
      path: "/historical_trades",
      summary: "The trades of a market, by the side of the taker",
      description: "The newest ones of the time that is asked for, newest first.",
      query: {
        ticker_id: marketByAddresses("The market, as `ticker_id` of `/coingecko/pairs`."),
        type: sideAsked,
        limit: tradesAsked(500),
        start_time: unixSeconds("No trade is before this second.", "1767225600"),
        end_time: unixSeconds("No trade is after this second.", "1767312000"),
      },
      find: (db, _pair, { ticker_id, type, limit, start_time: from, end_time: to }) =>
        findListedTrades(db, byAddresses(ticker_id), {
          window: { from, to },
          side: type,
          limit: limit === 0 ? MAX_TRADES : limit,
        }),
      shape: (rows) => {
        const trades = listedTrades(rows).map((traded) => ({
          trade_id: traded.id,
          price: traded.price,
          base_volume: traded.base,
          target_volume: traded.quote,
          trade_timestamp: Math.floor(traded.ms / 1000),
          type: traded.side,
        }));
        const ofSide = (type: Side) => trades.filter((traded) => traded.type === type);
        return { buy: ofSide("buy"), sell: ofSide("sell") };
      },
      data: z.object({ buy: z.array(trade), sell: z.array(trade) }),
    }),
  ],
});
