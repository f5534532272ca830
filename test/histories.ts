// Random histories of an exchange, and the check that the views tell of them what a computation the
// long way tells. Everything a writer can do is in them: many rows in one statement, out of order and
// with equal times, trades exactly on the edges of windows, offers taken, cancelled and closed, blocks
// taken back, pairs registered after their trades and removed again, heads that move both ways.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { Client } from "../db/connect.ts";
import {
  bookOf,
  bruteForce,
  candlesOf,
  type Figures,
  type Recording,
  type Row,
} from "./brute-force.ts";
import { aHash, anAddress, insert } from "./factories.ts";

const SYMBOLS = ["AAA", "BBB", "CCC"] as const;
const PAIRS = [
  ["AAA", "BBB"],
  ["BBB", "CCC"],
  ["CCC", "AAA"],
] as const;

const SECOND = 1000;
const HOUR = 3_600_000;

/** A moment near an edge: a head, less a window's hours, give or take what moves it over a bucket. */
interface Moment {
  head: number;
  hours: number;
  off: number;
  /** How far the block is from where its time would have it: a chain's blocks never are. */
  blocks: number;
}

interface TradeStep {
  at: Moment;
  pair: number;
  sells: boolean;
  base: string;
  quote: string;
  offer: number;
}

type Step =
  | { do: "trade"; trades: TradeStep[] }
  | { do: "offer"; offer: TradeStep; filled: boolean }
  | { do: "kill"; offer: number; at: Moment }
  | { do: "take back"; to: Moment }
  | { do: "register" | "remove"; pair: number }
  | { do: "head"; at: Moment | null }
  | { do: "ask"; asked: Asked };

/** A question about the first pair's book and candles. */
interface Asked {
  depth: number;
  minutes: keyof typeof INTERVALS;
  from: Moment | null;
  to: Moment | null;
  limit: number;
  empty: "omit" | "flat";
}

const INTERVALS = { 1: "1m", 5: "5m", 15: "15m", 30: "30m", 60: "1h", 240: "4h", 1440: "1d" };

export type History = Step[];

const moment = fc.record<Moment>({
  head: fc.nat({ max: 2 }),
  hours: fc.constantFrom(0, 0, 1, 6, 12, 24, 3, 25),
  off: fc.constantFrom(
    0,
    0,
    0,
    0,
    0,
    0,
    -1,
    1,
    -59,
    59,
    -60,
    60,
    -61,
    61,
    -1800,
    1800,
    -3600,
    3600,
    0.5,
  ),
  blocks: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, -1, 90_000, -90_000),
});

/** A head is most often where windows' edges were aimed at. */
const headMoment = fc.record<Moment>({
  head: fc.nat({ max: 2 }),
  hours: fc.constantFrom(0, 0, 0, 0, 1, 25),
  off: fc.constantFrom(0, 0, 0, 0, 1, -1, 60),
  blocks: fc.constantFrom(0, 0, 0, 0, 1, -1, -90_000),
});

/** Offers are mostly made before what may end them. */
const offerMoment = fc.record<Moment>({
  head: fc.nat({ max: 2 }),
  hours: fc.constantFrom(25, 25, 12, 0),
  off: fc.constantFrom(0, 0, 1),
  blocks: fc.constantFrom(0, 0, 0, 1),
});

const amount = fc.oneof(
  { weight: 6, arbitrary: fc.nat({ max: 9 }).map(String) },
  fc.constantFrom("0.000000000000000001", "0.333333333333333333", "100000000000000000000.5"),
);

/** Most happens in the pair that is registered from the start. */
const pairIndex = fc.constantFrom(0, 0, 0, 1, 2);

const trade = fc.record<TradeStep>({
  at: moment,
  pair: pairIndex,
  sells: fc.boolean(),
  base: amount,
  quote: amount,
  // The offers from 7 on are never made: trades of unknown offers.
  offer: fc.constantFrom(1, 2, 3, 7, 7, 8, 8),
});

const asked: fc.Arbitrary<Asked> = fc.record({
  depth: fc.constantFrom(1, 2, 1000),
  minutes: fc.constantFrom(1, 1, 5, 15, 30, 60, 60, 240, 1440),
  from: fc.option(moment, { freq: 2 }),
  to: fc.option(moment, { freq: 2 }),
  limit: fc.constantFrom(1, 2, 3, 50, 1000),
  empty: fc.constantFrom("omit" as const, "flat" as const),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("trade" as const),
      trades: fc.array(trade, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("offer" as const),
      offer: fc
        .tuple(trade, offerMoment, fc.integer({ min: 1, max: 3 }), fc.constantFrom("4", "12", "40"))
        .map(([made, at, offer, base]) => ({ ...made, at, offer, base })),
      filled: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("kill" as const),
      offer: fc.integer({ min: 1, max: 3 }),
      at: headMoment,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("take back" as const), to: headMoment }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("register" as const, "remove" as const),
      pair: pairIndex,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("head" as const),
      at: fc.option(headMoment, { freq: 6 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("ask" as const), asked }),
  },
);

/**
 * A history of up to 12 steps. The figures are compared after each head, and at the end; book and
 * candles where they are asked for, and twice at the end.
 */
export const history: fc.Arbitrary<History> = fc
  .tuple(fc.array(step, { minLength: 2, maxLength: 12 }), asked, asked)
  .map(([steps, ...questions]) => [
    ...steps,
    ...questions.map((one) => ({ do: "ask" as const, asked: one })),
  ]);

/** The exchange as the test knows it. */
class Exchange {
  readonly recording: Recording = { tokens: [], pairs: [], offers: [], trades: [] };
  head: { block: number; time: number } | null = null;
  private made = 0;
  private readonly now: number;
  private readonly heads: number[];

  constructor(now: number) {
    this.now = now;
    const hour = Math.floor(now / HOUR) * HOUR - 2 * HOUR;
    // On an hour, within one, and on a minute.
    this.heads = [hour, hour + 1_043 * SECOND, hour + 30 * 60 * SECOND];
  }

  timeOf({ head, hours, off }: Moment): number {
    return this.heads[head]! - hours * HOUR + off * SECOND;
  }

  /** A block a second, but for those that are out of place. */
  blockOf(at: Moment): number {
    return 200_000 + Math.floor((this.timeOf(at) - this.now) / SECOND) + at.blocks;
  }

  rowOf({ at, pair, sells, base, quote }: TradeStep): Row {
    const [baseGem, quoteGem] = PAIRS[pair]!.map(anAddress);
    this.made += 1;
    return {
      pair: aHash(`${pair} ${sells}`),
      maker: anAddress("maker"),
      lot_gem: sells ? baseGem! : quoteGem!,
      lot_amt: sells ? base : quote,
      bid_gem: sells ? quoteGem! : baseGem!,
      bid_amt: sells ? quote : base,
      block: String(this.blockOf(at)),
      time: new Date(this.timeOf(at)).toISOString(),
      tx: aHash(String(this.made)),
    };
  }

  get serial(): number {
    return this.made;
  }
}

/**
 * Plays the history in a transaction that is rolled back, and throws where a figure of the views
 * differs from the computation in any digit. Resolves to how many times all figures were compared.
 */
export async function playAndCompare(client: Client, steps: History): Promise<number> {
  await client.query("begin");
  try {
    const { rows } = await client.query<{ now: Date }>("select now()");
    const exchange = new Exchange(rows[0]!.now.getTime());
    await registerTokens(client, exchange);
    let compared = 0;
    const now = rows[0]!.now.getTime();
    for (const [index, next] of steps.entries()) {
      if (next.do === "ask") await compareAnswers(client, exchange, now, next.asked);
      else await play(client, exchange, next);
      if (next.do !== "head" && index < steps.length - 1) continue;
      await compare(client, exchange, now);
      compared += 1;
    }
    return compared;
  } finally {
    await client.query("rollback");
  }
}

async function registerTokens(client: Client, { recording }: Exchange): Promise<void> {
  recording.tokens = SYMBOLS.map((symbol) => ({
    address: anAddress(symbol),
    symbol,
    decimals: "18",
  }));
  await insert(client, "dex_token", recording.tokens);
  await register(client, recording, 0);
}

async function register(client: Client, recording: Recording, pair: number): Promise<void> {
  const [base, quote] = PAIRS[pair]!;
  if (recording.pairs.some((row) => row["base"] === base)) return;
  const row = { base, quote, active: "true" };
  recording.pairs.push(row);
  await insert(client, "dex_pair", row);
}

async function play(
  client: Client,
  exchange: Exchange,
  next: Exclude<Step, { do: "ask" }>,
): Promise<void> {
  const { recording } = exchange;
  switch (next.do) {
    case "trade": {
      const made = next.trades.map((one) => ({
        ...exchange.rowOf(one),
        offer_id: String(one.offer),
        taker: anAddress("taker"),
        idx: String(exchange.serial),
      }));
      recording.trades.push(...made);
      await insert(client, "dex_trade", made);
      return;
    }
    case "offer": {
      const id = String(next.offer.offer);
      if (recording.offers.some((row) => row["id"] === id)) return;
      const made = {
        ...exchange.rowOf(next.offer),
        id,
        killed: "0",
        filled: String(next.filled),
      };
      recording.offers.push(made);
      await insert(client, "dex_offer", made);
      return;
    }
    case "kill": {
      const killed = String(exchange.blockOf(next.at));
      const offer = recording.offers.find((row) => row["id"] === String(next.offer));
      if (offer !== undefined) offer["killed"] = killed;
      await client.query("update dex_offer set killed = $2 where id = $1", [next.offer, killed]);
      return;
    }
    case "take back": {
      const last = exchange.blockOf(next.to);
      const stays = (row: Row): boolean => Number(row["block"]) <= last;
      recording.trades = recording.trades.filter(stays);
      recording.offers = recording.offers.filter(stays);
      for (const row of recording.offers) if (Number(row["killed"]) > last) row["killed"] = "0";
      const time = exchange.timeOf(next.to);
      if (exchange.head !== null && exchange.head.block > last)
        exchange.head = { block: last, time };
      await client.query("select dex_private.take_back($1, $2)", [last, new Date(time)]);
      return;
    }
    case "register":
      return register(client, recording, next.pair);
    case "remove": {
      const [base] = PAIRS[next.pair]!;
      recording.pairs = recording.pairs.filter((row) => row["base"] !== base);
      await client.query("delete from dex_pair where base = $1", [base]);
      return;
    }
    case "head": {
      exchange.head =
        next.at === null
          ? null
          : { block: exchange.blockOf(next.at), time: exchange.timeOf(next.at) };
      if (exchange.head === null) await client.query("delete from dex_head");
      else await moveHead(client, exchange.head);
    }
  }
}

/** Moves the head as an indexer does: kept figures go along with it. */
async function moveHead(
  client: Client,
  { block, time }: { block: number; time: number },
): Promise<void> {
  const moved = await client.query("update dex_head set block = $1, time = $2", [
    block,
    new Date(time),
  ]);
  if (moved.rowCount === 1) return;
  await client.query("insert into dex_head (block, time) values ($1, $2)", [block, new Date(time)]);
}

async function compare(client: Client, exchange: Exchange, now: number): Promise<void> {
  const { rows } = await client.query<Figures>({
    // Planning these views takes longer than reading them.
    name: "compare_figures",
    text: `
      select
        market.*,
        price.vwap24h,
        price.vwap12h,
        price.vwap6h,
        price.vwap1h,
        summary.last_time,
        summary.open,
        summary.change,
        summary.percent,
        summary.vwap,
        summary.quote_vol,
        summary.trades,
        summary.spread
      from dex_market as market
      join dex_price as price using (pair)
      join dex_volume as volume
        on volume.pair = market.pair
        and volume.vol is not distinct from market.vol
        and price.last is not distinct from market.last
      join dex_summary as summary
        on summary.pair = market.pair
        and (
          (summary.last, summary.vol, summary.low, summary.high, summary.bid, summary.ask)
          is not distinct from
          (market.last, market.vol, market.low, market.high, market.bid, market.ask)
        )
      order by market.pair collate "C"
    `,
  });
  const expected = bruteForce(exchange.recording, exchange.head ?? { time: now });
  for (const [index, figures] of expected.entries()) {
    for (const [name, value] of Object.entries(figures)) {
      const found = rows[index]?.[name as keyof Figures];
      if (isDeepStrictEqual(found, value)) continue;
      throw new Error(
        `${figures.pair}: ${name} is ${String(found)}, and should be ${String(value)}`,
      );
    }
  }
  if (rows.length !== expected.length) throw new Error(`there are ${rows.length} markets`);
}

/** Compares the first pair's book and candles. While it is not registered, it has none. */
async function compareAnswers(
  client: Client,
  exchange: Exchange,
  now: number,
  { depth, minutes, limit, empty, ...moments }: Asked,
): Promise<void> {
  const [base, quote] = PAIRS[0];
  const pair = exchange.recording.pairs.find((row) => row["base"] === base);
  const at = exchange.head ?? { time: now };
  const timeOf = (moment: Moment | null): number | null =>
    moment === null ? null : exchange.timeOf(moment);
  const [from, to] = [timeOf(moments.from), timeOf(moments.to)];
  const dateOf = (time: number | null): Date | null => (time === null ? null : new Date(time));

  const book = await client.query({
    name: "compare_book",
    text: "select * from dex_book($1, $2, $3)",
    values: [base, quote, depth],
  });
  expectSame("book", book.rows, pair ? bookOf(pair, exchange.recording, at, depth) : []);

  const candles = await client.query({
    name: "compare_candles",
    text: "select * from dex_candles($1, $2, $3, $4, $5, $6, $7)",
    values: [base, quote, INTERVALS[minutes], dateOf(from), dateOf(to), limit, empty],
  });
  const question = { minutes, from, to, limit, empty };
  expectSame(
    `candles of ${JSON.stringify(question)}`,
    candles.rows,
    pair ? candlesOf(pair, exchange.recording, at, question) : [],
  );
}

function expectSame(what: string, found: unknown[], right: unknown[]): void {
  if (isDeepStrictEqual(found, right)) return;
  throw new Error(
    `the ${what} is\n${JSON.stringify(found)}\nand should be\n${JSON.stringify(right)}`,
  );
}
