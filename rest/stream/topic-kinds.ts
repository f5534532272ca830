// What a topic of each kind is at a head, and what has changed of it since an earlier one.
import type { Database } from "../../db/connect.ts";
import { bookOf, findBook, type BookRecord } from "../queries/book.ts";
import { candleRecords, findCandles, type CandleRecord } from "../queries/candles.ts";
import { findSomeMarkets } from "../queries/markets.ts";
import type { Snapshot } from "../queries/snapshot.ts";
import { findSomeSummaries } from "../queries/summaries.ts";
import { findTradesAfter, type TradeRecord } from "../queries/trades.ts";
import { byKey, type KeyedRow } from "../records.ts";
import { startOf } from "../../server/http/live/candle-intervals.ts";
import { changedLevels } from "../../server/http/live/changed-levels.ts";
import type { CurrentPlace } from "../../server/http/live/place.ts";
import { keyOf, type Topic } from "./topics.ts";

/** What has been told already. */
export interface Since {
  /** The greatest id of a trade. */
  trade: number;
  /** The time of the head, in ISO 8601; undefined before the first block. */
  time: string | undefined;
  /** Candles that end by this time, when later pages follow: trades of other pages do not change them. */
  until?: string | undefined;
}

/** A client that has been away for more candles than this must start anew. */
export const MAX_CANDLES = 1000;

interface TopicKind<State> {
  /** By the names of the topics. Without `since`, what a client needs to begin. */
  read: (
    db: Database,
    topics: readonly Topic[],
    now: CurrentPlace,
    since: Since | undefined,
  ) => Promise<Map<string, State>>;
  /** The data of a first event; undefined for none. */
  whole: (state: State) => unknown;
  /** The data of the next event; undefined where nothing has changed. */
  change: (before: State, now: State) => unknown;
}

/** Checks the type of a declaration, which the table below no longer has. */
const kind = <State>(declared: TopicKind<State>): TopicKind<unknown> =>
  declared as TopicKind<unknown>;

const changed = <State>(before: State, now: State): State | undefined =>
  JSON.stringify(before) === JSON.stringify(now) ? undefined : now;

/** One record a market; null for a market that is registered no longer. */
const recordKind = <Row extends KeyedRow>(
  findSome: (db: Database, keys: readonly string[]) => Promise<Snapshot<Row>>,
) =>
  kind<Omit<Row, "key"> | null>({
    async read(db, topics) {
      const records = byKey((await findSome(db, topics.map(keyOf))).rows);
      return new Map(topics.map((topic) => [topic.name, records[keyOf(topic)] ?? null]));
    },
    whole: (record) => record,
    change: changed,
  });

const head = kind<{ block: number; time: string } | null>({
  read: (_db, topics, { block, time }) =>
    Promise.resolve(
      new Map(topics.map(({ name }) => [name, time === null ? null : { block, time }])),
    ),
  whole: (moment) => moment,
  change: changed,
});

/** The state is the trades after `since`. */
const trades = kind<TradeRecord[]>({
  async read(db, topics, _now, since) {
    const found = new Map<string, TradeRecord[]>(topics.map((topic) => [topic.name, []]));
    if (since === undefined) return found;
    const names = new Map(topics.map((topic) => [keyOf(topic), topic.name]));
    const limit = Number.MAX_SAFE_INTEGER;
    const rows = await findTradesAfter(db, [...names.keys()], { after: since.trade, limit });
    for (const { key, id, price, volume, time } of rows) {
      found.get(names.get(key) ?? "")?.push({ id, price, volume, time });
    }
    return found;
  },
  whole: (rows) => (rows.length > 0 ? rows : undefined),
  change: (_before, rows) => (rows.length > 0 ? rows : undefined),
});

/** The state is the candles from the one of `since` on; without it, the last. */
const candles = kind<CandleRecord[]>({
  async read(db, topics, _now, since) {
    const found = new Map<string, CandleRecord[]>();
    for (const { name, pair, interval } of topics) {
      if (pair === undefined || interval === undefined) continue;
      const from = since && startOf(since.time, interval);
      const to = since?.until && startOf(since.until, interval);
      const limit = since === undefined ? 1 : MAX_CANDLES;
      const { rows } = await findCandles(db, pair, { interval, from, to, limit, empty: "omit" });
      found.set(name, rows.length === 0 ? [] : candleRecords(rows));
    }
    return found;
  },
  whole: (records) => (records.length > 0 ? records : undefined),
  change(before, now) {
    const known = new Map(before.map((candle) => [candle.time, candle]));
    const fresh = now.filter((candle) => changed(known.get(candle.time), candle) !== undefined);
    return fresh.length > 0 ? fresh : undefined;
  },
});

const book = kind<BookRecord>({
  async read(db, topics) {
    const found = new Map<string, BookRecord>();
    for (const { name, pair, depth } of topics) {
      if (pair === undefined || depth === undefined) continue;
      const { rows } = await findBook(db, pair, { depth });
      found.set(name, rows.length === 0 ? { bids: [], asks: [] } : bookOf(rows));
    }
    return found;
  },
  whole: ({ bids, asks }) => ({ whole: true, bids, asks }),
  change(before, now) {
    const bids = changedLevels(before.bids, now.bids);
    const asks = changedLevels(before.asks, now.asks);
    return bids.length + asks.length > 0 ? { whole: false, bids, asks } : undefined;
  },
});

export const TOPIC_KINDS: Record<Topic["kind"], TopicKind<unknown>> = {
  head,
  trades,
  market: recordKind(findSomeMarkets),
  summary: recordKind(findSomeSummaries),
  candles,
  book,
};

/** What each topic is, by its name. */
export async function readStates(
  db: Database,
  topics: readonly Topic[],
  now: CurrentPlace,
  since?: Since,
): Promise<Map<string, unknown>> {
  const states = new Map<string, unknown>();
  const ofKinds = Map.groupBy(topics, ({ kind }) => kind);
  for (const [name, ofKind] of ofKinds) {
    for (const [topic, state] of await TOPIC_KINDS[name].read(db, ofKind, now, since)) {
      states.set(topic, state);
    }
  }
  return states;
}
