// The figures of /v2/candles and /v2/summary, which DuckDB computes from the files of the service, to the last digit.
import type { Database } from "../../db/connect.ts";
import type { TestApp } from "../app.ts";
import { decimal, quotient, units } from "../brute-force.ts";
import { aTrade, blockAt, DAI, hours, MKR, registerMarkets, WETH, write } from "../factories.ts";

export const HUGE = "123456789012345678901.000000000000000001";
/** At odd seconds, so that candles have several trades; with amounts of all lengths. */
const TRADES = Array.from({ length: 300 }, (_, n) =>
  aTrade({
    hour: 1 + Math.floor((n * n) / 7) / 720,
    side: n % 3 === 0 ? "buy" : "sell",
    ...(n % 5 === 0 ? { baseGem: MKR, quoteGem: WETH } : {}),
    base: n % 50 === 1 ? "0" : `${n + 1}.${"0".repeat(17 - (n % 18))}7`,
    quote: `${(n + 3) ** 3}.${"9".repeat(1 + (n % 18))}`,
    idx: n,
  }),
);

/** Each two minutes of the second day, so that a window of 24 hours ends and begins between them. */
const LATER = Array.from({ length: 60 }, (_, n) =>
  aTrade({
    ...{ hour: 25 + n / 30, baseGem: MKR, quoteGem: WETH },
    ...{ base: `${n + 2}.${"3".repeat(1 + (n % 18))}`, quote: `${n * n + 1}.7` },
  }),
);

/** Two days that are final, and one that is not. */
export async function fillDays(writer: Database): Promise<void> {
  await registerMarkets(writer);
  await write(writer, {
    trades: [
      ...[...TRADES, ...LATER],
      ...[aTrade({ hour: 30, base: "1", quote: HUGE }), aTrade({ hour: 49 })],
    ],
    head: 50,
  });
}

/** As REST gives a decimal. */
export const plain = (decimal: unknown): string =>
  String(decimal)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

export interface Candle {
  time: string;
  open: string;
  high: string;
  low: string;
  close: string;
  vol: string;
  quoteVol: string;
  trades: number;
}

/** DuckDB divides to binary floats: quotients of its sums are rounded here as everywhere, half away from zero. */
const divided = (dividend: bigint, divisor: bigint): string =>
  divisor === 0n ? "0" : plain(decimal(quotient(dividend, divisor)!));

/** `rowsOf` gives what a statement finds, in which the files are `'files/KIND-DAY.parquet'`, or `*` for all days. */
export function itHasFigures(app: TestApp, rowsOf: (text: string) => Promise<unknown[][]>): void {
  it.each([
    ["weth/dai", WETH, "1m", "1 minute"],
    ["weth/dai", WETH, "1h", "1 hour"],
    ["mkr/weth", MKR, "1m", "1 minute"],
    ["mkr/weth", MKR, "4h", "4 hours"],
  ])("has the candles of %s (base %s, %s)", async (market, base, interval, span) => {
    const path = `/v2/candles/${market}?interval=${interval}&limit=1000&to=2026-01-02T00:00:00Z`;
    const { body } = await app.request.get(path).expect(200);
    const candles = (body as { data: Candle[] }).data;
    expect(candles.length).toBeGreaterThan(3);
    const found = await rowsOf(`
    select epoch_ms(start)::varchar, open::varchar, high::varchar, low::varchar, close::varchar,
      vol::varchar, quote_vol::varchar, trades::integer
    from (
      select time_bucket(interval '${span}', time) as start, arg_min(open, time) as open, max(high) as high, min(low) as low,
        arg_max(close, time) as close, sum(vol) as vol, sum(quote_vol) as quote_vol, sum(trades) as trades
      from 'files/candles-2026-01-01.parquet'
      where base_gem = '${base.toLowerCase()}'
      group by base_gem, quote_gem, start
    )
    order by start`);
    expect(
      found.map(([ms, ...rest]) => [new Date(Number(ms)).toISOString(), ...rest.map(plain)]),
    ).toEqual(
      candles.map(({ time, open, high, low, close, vol, quoteVol, trades }) => [
        ...[time, open, high, low, close, vol, quoteVol, String(trades)],
      ]),
    );
  });

  it.each([
    // The first day has no trades before it, and so no price 24 hours ago.
    ["weth/dai", WETH, DAI, 20],
    // From the middle of the first day to that of the second, with and without a trade in the block.
    ["mkr/weth", MKR, WETH, 26],
    ["mkr/weth", MKR, WETH, 25.5],
  ])(
    "has the summary of %s, of %s in %s, as of the block after %d hours",
    async (market, ...rest) => {
      const [base, quote, hour] = rest;
      const path = `/v2/summary/${market}?block=${blockAt(hour)}`;
      const { body } = await app.request.get(path).expect(200);
      const is = (one: string, other: string): string =>
        `lot_gem = '${one.toLowerCase()}' and bid_gem = '${other.toLowerCase()}'`;
      const [begin, end] = [hour - 24, hour].map((at) => `'${hours(at)}'::timestamptz`);
      const [volumes] = (await rowsOf(`
    select sum(if(sells, lot_amt, bid_amt))::varchar, sum(if(sells, bid_amt, lot_amt))::varchar, count(*)::integer
    from (
      select *, ${is(base, quote)} as sells
      from 'files/trades-*.parquet'
      where (${is(base, quote)} or ${is(quote, base)}) and time > ${begin} and time <= ${end}
    )`)) as [[string, string, number]];
      // No candle of a minute is in the window in part.
      const [prices] = (await rowsOf(`
    select arg_max(close, time)::varchar, coalesce(arg_max(close, time) filter (time <= ${begin}), 0)::varchar,
      max(high) filter (time > ${begin})::varchar, min(low) filter (time > ${begin})::varchar
    from 'files/candles-*.parquet'
    where base_gem = '${base.toLowerCase()}' and time <= ${end}`)) as [
        [string, string, string, string],
      ];
      const [vol, quoteVol, trades] = volumes;
      const [last, open, high, low] = prices;
      const change = units(open) === 0n ? 0n : units(last) - units(open);
      expect(trades).toBeGreaterThan(10);
      expect((body as { data: unknown }).data).toMatchObject({
        ...{ last: plain(last), open: plain(open), high: plain(high), low: plain(low) },
        ...{ change: plain(decimal(change)), percent: divided(change * 100n, units(open)) },
        ...{ vol: plain(vol), quoteVol: plain(quoteVol), trades },
        vwap: divided(units(quoteVol), units(vol)),
      });
    },
  );
}
