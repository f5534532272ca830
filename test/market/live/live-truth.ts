// What the tables have of every topic in a snapshot: all columns, in the form of GraphQL.
import type { Database } from "../../../db/connect.ts";
import type { Interval } from "../../../market/candle-intervals.ts";
import { placeText, readPlace } from "../../../market/place.ts";
import type { Asked, Kind, Moment, Row } from "./live-client.ts";

export interface Truth {
  /** Of an event at this head. */
  place: string;
  head: Moment;
  /** The names of the markets. */
  markets: ReadonlySet<string>;
  /** BASE/QUOTE of the market that a trade has. */
  marketOf: (trade: Row) => string | undefined;
  /** The rows of a client that follows the topic from the first block; undefined if its market is not registered. */
  rows: (asked: Asked) => readonly Row[] | undefined;
}

/** What a topic of candles or of a book may ask for. */
export interface Kept {
  intervals: readonly Interval[];
  depths: readonly number[];
}

const utc = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')`;

const texts = (...columns: string[]): Record<string, string> =>
  Object.fromEntries(columns.map((column) => [column, `${column}::text`]));

const RECORD = texts("pair", "base", "quote");

/** The fields of each row, and the SQL for each. */
const FIELDS: Record<Kind, Record<string, string>> = {
  head: { block: "block", time: utc("date_trunc('milliseconds', time)"), digest: "digest" },
  trades: {
    ...texts("id", "market", "act", "price"),
    lotAmt: "lot_amt::text",
    bidAmt: "bid_amt::text",
    ...texts("taker", "maker", "tx"),
    ...{ block: "block", idx: "idx", time: utc("time") },
  },
  market: {
    ...RECORD,
    ...texts("price", "last", "vol", "ask", "bid", "low", "high"),
    active: "active",
  },
  summary: {
    ...RECORD,
    ...texts("last", "open", "change", "percent", "low", "high", "vwap", "vol"),
    ...{ lastTime: utc("last_time"), quoteVol: "quote_vol::text", trades: "trades" },
    ...texts("bid", "ask", "spread"),
  },
  candles: {
    time: utc("time"),
    ...texts("open", "high", "low", "close", "vol"),
    ...{ quoteVol: "quote_vol::text", trades: "trades::float8", complete: "complete" },
  },
  book: { ...texts("act", "price", "vol"), quoteVol: "quote_vol::text", offers: "offers" },
};

/** The fields to select of the nodes. */
export const selectionOf = (kind: Kind): string => Object.keys(FIELDS[kind]).join(" ");

const FROM: Record<Kind, string> = {
  head: "dex_head",
  trades: "dex_trade order by dex_trade.id",
  market: 'dex_market order by pair collate "C"',
  summary: 'dex_summary order by pair collate "C"',
  candles: "dex_candles($1, $2, $3, null, null, 1000, 'omit') as candle order by candle.time",
  book: "dex_book($1, $2, $3)",
};

const momentOf = (head: Row | undefined): Moment =>
  head === undefined ? null : ({ block: head["block"], time: head["time"] } as Moment);

/** Reads them in the snapshot of the transaction that `db` has open. */
export async function readTruth(db: Database, { intervals, depths }: Kept): Promise<Truth> {
  const read = async (kind: Kind, values: unknown[] = []): Promise<Row[]> => {
    const columns = Object.entries(FIELDS[kind]).map(([name, sql]) => `${sql} as "${name}"`);
    const text = `select ${columns.join(", ")} from ${FROM[kind]}`;
    return (await db.query<Row>({ name: `truth_${kind}`, text, values })).rows;
  };
  const heads = await read("head");
  const found = {
    head: heads,
    trades: await read("trades"),
    market: await read("market"),
    summary: await read("summary"),
  };
  const names = new Map(
    found.market.map(({ pair, base, quote }) => [`${String(base)}${String(quote)}`, String(pair)]),
  );
  const marketOf = ({ market }: Row): string | undefined => names.get(String(market));
  const ofMarkets = new Map<string, Row[]>();
  for (const { pair, base, quote } of found.market) {
    for (const interval of intervals) {
      ofMarkets.set(`${String(pair)} ${interval}`, await read("candles", [base, quote, interval]));
    }
    for (const depth of depths) {
      ofMarkets.set(`${String(pair)} ${depth}`, await read("book", [base, quote, depth]));
    }
  }
  const markets = new Set(names.values());
  return {
    place: placeText(await readPlace(db)),
    head: momentOf(heads[0]),
    markets,
    marketOf,
    rows({ kind, market, taker, maker, interval, depth }) {
      if (market !== undefined && !markets.has(market)) return undefined;
      if (kind === "candles" || kind === "book") {
        return ofMarkets.get(`${market} ${interval ?? depth}`);
      }
      return found[kind].filter(
        (row) =>
          (market === undefined || (row["pair"] ?? marketOf(row)) === market) &&
          (taker === undefined || row["taker"] === taker) &&
          (maker === undefined || row["maker"] === maker),
      );
    },
  };
}
