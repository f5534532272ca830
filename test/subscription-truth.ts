// What the tables have in a snapshot for each subscription, in the fields that the clients of random histories select.
import type { Database } from "../db/connect.ts";
import { placeText, readPlace } from "../server/http/live/place.ts";
import type { Kept } from "./stream-truth.ts";

export type Row = Record<string, unknown>;

/** The head as events have it. */
export type Moment = { block: number; time: string } | null;

export interface SubscriptionTruth {
  /** The cursor of an event at this head. */
  place: string;
  head: Moment;
  /** The names of the markets. */
  markets: ReadonlySet<string>;
  /** All rows of a subscription by its key; undefined if its market is not registered. */
  rows: ReadonlyMap<string, readonly Row[]>;
}

const utc = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')`;

const texts = (...columns: string[]): Record<string, string> =>
  Object.fromEntries(columns.map((column) => [column, `${column}::text`]));

/** The fields of each node, and the SQL for each. */
const FIELDS = {
  dexTrades: {
    ...texts("id", "market", "act", "price"),
    lotAmt: "lot_amt::text",
    bidAmt: "bid_amt::text",
    ...texts("taker", "maker", "tx"),
    block: "block",
    idx: "idx",
    time: utc("time"),
  },
  dexMarkets: {
    ...texts("pair", "base", "quote", "price", "last", "vol", "ask", "bid", "low", "high"),
    active: "active",
  },
  dexCandles: {
    time: utc("time"),
    ...texts("open", "high", "low", "close", "vol"),
    quoteVol: "quote_vol::text",
    trades: "trades::float8",
    complete: "complete",
  },
  dexBook: { ...texts("act", "price", "vol"), quoteVol: "quote_vol::text", offers: "offers" },
};

/** The fields to select of the nodes. */
export const selectionOf = (field: keyof typeof FIELDS): string =>
  Object.keys(FIELDS[field]).join(" ");

const columnsOf = (field: keyof typeof FIELDS): string =>
  Object.entries(FIELDS[field])
    .map(([name, sql]) => `${sql} as "${name}"`)
    .join(", ");

const STATEMENTS = {
  head: `select block, ${utc("date_trunc('milliseconds', time)")} as time from dex_head`,
  trades: `select ${columnsOf("dexTrades")} from dex_trade order by dex_trade.id`,
  markets: `select ${columnsOf("dexMarkets")} from dex_market order by pair collate "C"`,
  candles: `
    select ${columnsOf("dexCandles")}
    from dex_candles($1, $2, $3, null, null, 1000, 'omit') as candle
    order by candle.time
  `,
  book: `select ${columnsOf("dexBook")} from dex_book($1, $2, $3)`,
};

/** Reads them in the snapshot of the transaction that `db` has open. */
export async function readSubscriptionTruth(
  db: Database,
  { intervals, depths }: Kept,
): Promise<SubscriptionTruth> {
  const read = async (name: keyof typeof STATEMENTS, values: unknown[] = []): Promise<Row[]> => {
    const text = STATEMENTS[name];
    return (await db.query<Row>({ name: `subscriptions_${name}`, text, values })).rows;
  };
  const [head = null] = (await read("head")) as unknown as Moment[];
  const trades = await read("trades");
  const markets = await read("markets");
  const rows = new Map<string, Row[]>([
    ["dexHead", head === null ? [] : [head]],
    ["dexTrades *", trades],
    ["dexMarkets *", markets],
  ]);
  for (const market of markets) {
    const { base, quote } = market;
    const pair = String(market["pair"]);
    rows.set(
      `dexTrades ${pair}`,
      trades.filter((trade) => trade["market"] === `${String(base)}${String(quote)}`),
    );
    rows.set(`dexMarkets ${pair}`, [market]);
    for (const interval of intervals) {
      rows.set(`dexCandles ${pair} ${interval}`, await read("candles", [base, quote, interval]));
    }
    for (const depth of depths) {
      rows.set(`dexBook ${pair} ${depth}`, await read("book", [base, quote, depth]));
    }
  }
  return {
    place: placeText(await readPlace(db)),
    head,
    markets: new Set(markets.map(({ pair }) => String(pair))),
    rows,
  };
}
