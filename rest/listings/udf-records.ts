// What the Universal Data Feed answers with: the feed, a symbol, a market that was found, bars.
import { z } from "zod";

export const udfConfig = z
  .object({
    supported_resolutions: z.array(z.string()),
    supports_search: z.literal(true),
    supports_group_request: z.literal(false),
    supports_marks: z.literal(false),
    supports_timescale_marks: z.literal(false),
    supports_time: z.literal(true),
    exchanges: z.array(z.object({ value: z.string(), name: z.string(), desc: z.string() })),
    symbols_types: z.array(z.object({ name: z.string(), value: z.string() })),
  })
  .meta({ id: "UdfConfig" });

export const udfSymbol = z
  .object({
    name: z.string().describe("`BASE/QUOTE`."),
    ticker: z.string().describe("The same."),
    description: z.string().describe("The names of both tokens, or their symbols."),
    type: z.literal("crypto"),
    session: z.literal("24x7"),
    timezone: z.literal("Etc/UTC"),
    "exchange-traded": z.string(),
    "exchange-listed": z.string(),
    minmov: z.literal(1),
    pricescale: z
      .number()
      .describe("A power of ten, for 8 digits of the last price: how many of them an axis shows."),
    volume_precision: z.int().min(0),
    has_intraday: z.literal(true),
    has_daily: z.literal(true),
    intraday_multipliers: z.array(z.string()),
    supported_resolutions: z.array(z.string()),
  })
  .meta({ id: "UdfSymbol" });

export const udfFound = z
  .object({
    symbol: z.string(),
    full_name: z.string(),
    description: z.string(),
    exchange: z.string(),
    ticker: z.string(),
    type: z.literal("crypto"),
  })
  .meta({ id: "UdfFound" });

const numbers = z.array(z.number());
export const udfBars = z
  .union([
    z.object({
      s: z.literal("ok"),
      t: z.array(z.int()).describe("The starts of the bars, in seconds since the Unix epoch."),
      o: numbers,
      h: numbers,
      l: numbers,
      c: numbers,
      v: numbers.describe("In base units."),
    }),
    z.object({
      s: z.literal("no_data"),
      nextTime: z.int().optional().describe("The start of the last bar before `from`, if any."),
    }),
  ])
  .meta({
    id: "UdfBars",
    description:
      "Prices and volumes are rounded to the nearest double; `/v2/candles` has every digit.",
  });
