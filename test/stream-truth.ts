// What the tables have of every topic in a snapshot, as a client of the stream should have it.
import type { Database } from "../db/connect.ts";
import { bookOf, findBook } from "../rest/queries/book.ts";
import { candleRecords, findCandles } from "../rest/queries/candles.ts";
import { findMarket } from "../rest/queries/markets.ts";
import { findPairs } from "../rest/queries/pairs.ts";
import { findSummary } from "../rest/queries/summaries.ts";
import { placeText, readPlace } from "../server/http/live/place.ts";
import type { AskedTopic } from "../rest/stream/topics.ts";

export interface Truth {
  /** The id of an event at this head. */
  place: string;
  /** The data of the topics as a client that follows them from the first block has them. */
  of: (asked: readonly AskedTopic[]) => ReadonlyMap<string, unknown>;
}

type Candles = Extract<AskedTopic, { interval?: unknown }>["interval"];

/** What a topic of candles or of a book may ask for. */
export interface Kept {
  intervals: readonly NonNullable<Candles>[];
  depths: readonly number[];
}

const TRADES = {
  name: "truth_trades",
  text: `
    select
      pair.base || '/' || pair.quote as key,
      trade.id::float8 as id,
      trim_scale(coalesce(trade.price, 0))::text as price,
      trim_scale(case when trade.act = 'sell' then trade.lot_amt else trade.bid_amt end)::text as volume,
      to_char(
        date_trunc('milliseconds', trade.time) at time zone 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
      ) as time
    from dex_trade as trade
    join dex_pair as pair on pair.id = trade.market_id
    order by trade.id
  `,
};

const HEAD = {
  name: "truth_head",
  text: `
    select
      block,
      to_char(
        date_trunc('milliseconds', time) at time zone 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
      ) as time
    from dex_head
  `,
};

const recordOf = ([row]: { key: string }[]): object | null => {
  if (row === undefined) return null;
  const { key: _key, ...record } = row;
  return record;
};

/** Reads them in the snapshot of the transaction that `db` has open. */
export async function readTruth(db: Database, { intervals, depths }: Kept): Promise<Truth> {
  const data = new Map<string, unknown>();
  const { rows: heads } = await db.query<object>(HEAD);
  data.set("head", heads[0] ?? null);
  const { rows: trades } = await db.query<{ key: string }>(TRADES);
  const { rows: pairs } = await findPairs(db);
  for (const pair of pairs) {
    const { key } = pair;
    const own = trades.filter((trade) => trade.key === key);
    data.set(
      `trades:${key}`,
      own.map((trade) => recordOf([trade])),
    );
    data.set(`market:${key}`, recordOf((await findMarket(db, pair)).rows));
    data.set(`summary:${key}`, recordOf((await findSummary(db, pair)).rows));
    for (const interval of intervals) {
      const { rows } = await findCandles(db, pair, { interval, limit: 1000, empty: "omit" });
      data.set(`candles:${key}:${interval}`, candleRecords(rows));
    }
    for (const depth of depths) {
      data.set(`book:${key}:${depth}`, bookOf((await findBook(db, pair, { depth })).rows));
    }
  }
  const place = placeText(await readPlace(db));
  return {
    place,
    of: (asked) => {
      const names = asked.flatMap(({ kind, name, pair }) =>
        pair === "*" ? pairs.map(({ key }) => `${kind}:${key}`) : [name],
      );
      return new Map(names.map((name) => [name, data.get(name)]));
    },
  };
}
