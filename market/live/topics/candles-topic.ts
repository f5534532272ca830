// The topic of a market's candles.
import { z } from "zod";
import { INTERVALS, intervalsBetween, startOf } from "../../candle-intervals.ts";
import { candleRecord, findHashedCandles, type AskedCandles } from "../../queries/candles.ts";
import { piecesOf } from "../pieces.ts";
import type { Row, TopicKind } from "../topic.ts";

/** Of the markets and intervals that one statement reads. */
const CANDLES_AT_ONCE = 5000;

const readInterval = (text: string) => INTERVALS.find((each) => each === text);

export const candlesTopic: TopicKind = {
  name: "candles",
  markets: "one",
  argument: {
    shown: "INTERVAL",
    accepted: INTERVALS.join(", "),
    problem: `has no interval: ${INTERVALS.join(", ")}`,
    read: readInterval,
  },
  isHistory: true,
  bound: "candles",
  /** From the one of `since` on. The page's last candle may change by later trades, so it is of a later page. */
  async read({ db, now }, topics, { since, upTo, bounds }) {
    const asked = topics.flatMap(({ name, pair, argument }) => {
      const interval = readInterval(String(argument));
      if (pair === undefined || interval === undefined) return [];
      const from = since && startOf(since.time, interval);
      const to = since && upTo !== now ? startOf(upTo.time ?? undefined, interval) : undefined;
      return [{ name, pair, interval, from, to, limit: since === undefined ? 1 : bounds.candles }];
    });
    const maxOf = ({ interval, from, limit }: AskedCandles): number =>
      from === undefined || upTo.time === null
        ? limit
        : Math.max(1, Math.min(limit, intervalsBetween(from, upTo.time, interval)));
    const states = new Map<string, readonly Row[]>();
    for (const piece of piecesOf(asked, maxOf, CANDLES_AT_ONCE)) {
      const found = await findHashedCandles(db, piece);
      for (const [n, { name }] of piece.entries()) {
        const rows = found[n] ?? [];
        states.set(
          name,
          rows.map(({ hash, ...data }) => ({ key: data.time, hash, data })),
        );
      }
    }
    return { states };
  },
  data: ({ rows }) => rows.map(({ data }) => data),
  schema: z
    .array(candleRecord)
    .describe("`candles`: those that are new or have changed, oldest first."),
  field: {
    name: "dexCandles",
    event: "DexCandlesEvent",
    about: "Candles that have changed.",
    does: "The running candle of a market as it changes, and each candle when it is complete.",
    market: "base/quote",
    argument: "interval",
    arguments: `
      """
      The base token's symbol, in any case.
      """
      base: String!

      """
      The quote token's symbol, in any case.
      """
      quote: String!

      """
      How long each is: 1m, 5m, 15m, 30m, 1h, 4h or 1d.
      """
      interval: String! = "1h"

      """
      The cursor of the last event that the client has: the candles since then come first.
      """
      after: String

      """
      Instead of \`after\`, a block to begin behind: the candles since the last recorded block at or below this number come first.
      """
      fromBlock: Int
    `,
    members: () => `
      """
      The candles from the first one that is new or has changed, oldest first. The last candle in the first event without \`after\` and \`fromBlock\`, and after a reset. After \`retractedTo\` they replace the candles from the one of its time on.
      """
      nodes: [DexCandle!]!
    `,
    nodes: "candles",
  },
};
