// TradingView's Universal Data Feed: symbols and bars for its charting library.
//
// UDF has prices and volumes as JSON numbers, so this is the one place where a decimal is rounded: `Number` gives
// the double that is nearest to the exact decimal. /v2/candles has every digit.
import { z } from "zod";
import { BadParameter } from "../../http/errors.ts";
import { UnknownPair } from "../../market/absent.ts";
import { udfEnvelope } from "../../http/envelope.ts";
import { endpoint, type Version } from "../endpoint.ts";
import type { PairName } from "../../market/queries/snapshot.ts";
import { integerAccepted, integerIn, limitUpTo, type Parameter } from "../params.ts";
import type { Interval } from "../../market/candle-intervals.ts";
import { candleRecords, findCandles } from "../../market/queries/candles.ts";
import { findHead } from "../../market/queries/head.ts";
import { everyListedMarket, findListedMarket } from "../../market/queries/listed-markets.ts";
import type { ListedMarket } from "../../market/queries/listed-markets.ts";
import { requiredText } from "./listing-params.ts";
import { udfBars, udfConfig, udfFound, udfSymbol } from "./udf-records.ts";

const RESOLUTIONS = {
  "1": { interval: "1m", seconds: 60 },
  "5": { interval: "5m", seconds: 300 },
  "15": { interval: "15m", seconds: 900 },
  "30": { interval: "30m", seconds: 1800 },
  "60": { interval: "1h", seconds: 3600 },
  "240": { interval: "4h", seconds: 14_400 },
  "1D": { interval: "1d", seconds: 86_400 },
} as const satisfies Record<string, { interval: Interval; seconds: number }>;

type Resolution = keyof typeof RESOLUTIONS;
// A list, as the keys of an object have another order.
const NAMES: Resolution[] = ["1", "5", "15", "30", "60", "240", "1D"];
const INTRADAY = NAMES.filter((name) => name !== "1D");

/** The greatest number of candles that dex_candles gives. The library asks for more where it needs them. */
const MAX_BARS = 1000;
const MAX_COUNTBACK = 1_000_000;

const MAX_DIGITS = 18;
const SHOWN_DIGITS = 8;
const MIN_DIGITS = 2;

/** How many fractional digits a price is shown with. */
export function shownDigits(price: string | null): number {
  const [whole = "0", fraction = ""] = (price ?? "0").split(".");
  if (whole !== "0") return Math.max(MIN_DIGITS, SHOWN_DIGITS - whole.length);
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0;
  return Math.min(MAX_DIGITS, zeros + SHOWN_DIGITS);
}

const descriptionOf = ({ base, quote, baseName, quoteName }: ListedMarket): string =>
  `${baseName ?? base} / ${quoteName ?? quote}`;

/** A symbol may contain a slash; wherever it is split, the pair is the same. */
function namedBy(symbol: string): PairName {
  const slash = symbol.indexOf("/");
  return { base: symbol.slice(0, slash), quote: symbol.slice(slash + 1), by: "key" };
}

const symbolAsked = requiredText(/^[^\0]*[/][^\0]*$/, {
  description: "The market, as `ticker` of `/udf/search`, in any case.",
  accepted: "BASE/QUOTE",
  example: "WETH/DAI",
});

// From the year 1, since the library asks for times before 1970 where it needs many bars.
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;
const secondsIn = z
  .string()
  .regex(/^-?\d{1,12}$/)
  .transform(Number)
  .pipe(z.int().min(MIN_SECONDS).max(MAX_SECONDS));
const SECONDS_ACCEPTED = `an integer from ${MIN_SECONDS} to ${MAX_SECONDS}: seconds since the Unix epoch, given once`;

const anyText = (description: string, example: string): Parameter<string> => ({
  description,
  accepted: "a text of at most 100 characters, given once",
  schema: z.string().max(100).default(""),
  example,
});

const resolutionNamed = (name: string): Resolution =>
  NAMES.find((known) => known === name || (known === "1D" && name === "D")) ?? "1D";

/** How many bars there can be from `from` up to `to`. */
const barsBetween = (from: number, to: number, seconds: number): number =>
  Math.min(MAX_BARS, Math.ceil((to - from) / seconds) + 1);

const secondsOf = (time: string): number => Date.parse(time) / 1000;

export const udf = (exchangeName: string): Version => ({
  name: "udf",
  description:
    "TradingView's Universal Data Feed. Answers are the data alone; errors are `s` and `errmsg`.",
  envelope: udfEnvelope,
  endpoints: [
    endpoint({
      id: "udfConfig",
      path: "/config",
      summary: "What the data feed supports",
      description: "It does not depend on the data.",
      find: findHead,
      shape: () => ({
        supported_resolutions: NAMES,
        supports_search: true as const,
        supports_group_request: false as const,
        supports_marks: false as const,
        supports_timescale_marks: false as const,
        supports_time: true as const,
        exchanges: [{ value: exchangeName, name: exchangeName, desc: exchangeName }],
        symbols_types: [{ name: "Crypto", value: "crypto" }],
      }),
      data: udfConfig,
    }),
    endpoint({
      id: "udfSymbols",
      path: "/symbols",
      summary: "How a market is shown",
      description: "Active or not.",
      query: { symbol: symbolAsked },
      find: (db, _pair, { symbol }) => findListedMarket(db, namedBy(symbol)),
      shape: ([market]) => {
        if (market === undefined) throw new UnknownPair();
        return {
          name: market.key,
          ticker: market.key,
          description: descriptionOf(market),
          type: "crypto" as const,
          session: "24x7" as const,
          timezone: "Etc/UTC" as const,
          "exchange-traded": exchangeName,
          "exchange-listed": exchangeName,
          minmov: 1 as const,
          pricescale: Number(`1e${shownDigits(market.last)}`),
          volume_precision: Math.min(market.basePrecision, SHOWN_DIGITS),
          has_intraday: true as const,
          has_daily: true as const,
          intraday_multipliers: INTRADAY,
          supported_resolutions: NAMES,
        };
      },
      data: udfSymbol,
    }),
    endpoint({
      id: "udfSearch",
      path: "/search",
      summary: "The markets whose name has a text",
      description: "In the order of `BASE/QUOTE` by code point, active or not.",
      query: {
        query: anyText("A part of `BASE/QUOTE`, in any case; without it, each market.", "weth"),
        type: anyText(
          "`crypto`, or nothing for any type. There are no markets of another.",
          "crypto",
        ),
        exchange: anyText("The exchange's name, or nothing. There are no markets of another.", ""),
        limit: limitUpTo(1000, 30, "How many markets, at most."),
      },
      probe: everyListedMarket.probe,
      find: async (db, _pair, { query, type, exchange, limit }) => {
        const markets = await everyListedMarket.find(db);
        const isOurs = ["", "crypto"].includes(type) && ["", exchangeName].includes(exchange);
        // PostgreSQL leaves letters as they are that have no single capital, such as ß.
        const sought = query.toUpperCase();
        const rows = markets.rows.filter(({ key }) => isOurs && key.toUpperCase().includes(sought));
        return { ...markets, rows: rows.slice(0, limit) };
      },
      shape: (markets) =>
        markets.map((market) => ({
          symbol: market.key,
          full_name: market.key,
          description: descriptionOf(market),
          exchange: exchangeName,
          ticker: market.key,
          type: "crypto" as const,
        })),
      data: z.array(udfFound),
    }),
    endpoint({
      id: "udfHistory",
      path: "/history",
      summary: "The bars of a market, oldest first",
      description:
        "Those that start at `from` or later and before `to`; with `countback`, the last so many before " +
        `\`to\`. At most ${MAX_BARS}, the last ones. An interval without trades has none.`,
      query: {
        symbol: symbolAsked,
        resolution: {
          description: "How long a bar is: minutes, or a day.",
          accepted: `one of ${NAMES.join(", ")}, D, given once`,
          schema: z.enum([...NAMES, "D"]),
          example: "60",
          required: true,
        },
        from: {
          description: "The first bar starts then or later. It does not count with `countback`.",
          accepted: SECONDS_ACCEPTED,
          schema: secondsIn.optional(),
          example: "1767225600",
        },
        to: {
          description: "The last bar starts before.",
          accepted: SECONDS_ACCEPTED,
          schema: secondsIn,
          example: "1767312000",
          required: true,
        },
        countback: {
          description: "How many bars, whatever `from` is.",
          accepted: integerAccepted(1, MAX_COUNTBACK),
          schema: integerIn(1, MAX_COUNTBACK).optional(),
          example: "2",
        },
      },
      find: async (db, _pair, { symbol, resolution, from, to, countback }) => {
        if (countback === undefined && from !== undefined && from > to) {
          throw new BadParameter("from", `at most to, ${to}`);
        }
        // `countback` has priority.
        const min = countback === undefined ? (from ?? -Infinity) : -Infinity;
        const { interval, seconds } = RESOLUTIONS[resolutionNamed(resolution)];
        const { rows, ...moment } = await findCandles(db, namedBy(symbol), {
          interval,
          to: new Date(to * 1000).toISOString(),
          // Without `from`, dex_candles gives the last ones; where none of them is late enough, the last of
          // them is the one that the library must go back to.
          limit: Math.min(MAX_BARS, countback ?? barsBetween(min, to, seconds)),
          empty: "omit",
        });
        return { ...moment, rows: [{ min, candles: candleRecords(rows) }] };
      },
      shape: ([asked]) => {
        const { min = 0, candles = [] } = asked ?? {};
        const within = candles.filter(({ time }) => secondsOf(time) >= min);
        const last = candles.at(-1);
        if (within.length === 0) {
          return {
            s: "no_data" as const,
            ...(last !== undefined && { nextTime: secondsOf(last.time) }),
          };
        }
        const each = (name: "open" | "high" | "low" | "close" | "vol"): number[] =>
          within.map((candle) => Number(candle[name]));
        return {
          s: "ok" as const,
          t: within.map(({ time }) => secondsOf(time)),
          o: each("open"),
          h: each("high"),
          l: each("low"),
          c: each("close"),
          v: each("vol"),
        };
      },
      data: udfBars,
    }),
    endpoint({
      id: "udfTime",
      path: "/time",
      summary: "The head's time",
      description: "In seconds since the Unix epoch, as plain text.",
      find: findHead,
      shape: (_rows, { time }) => String(Math.floor(secondsOf(time))),
      data: z.string().regex(/^\d+$/),
      type: "text/plain",
    }),
  ],
});
