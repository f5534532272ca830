// The topic of trades: those of a market, or in subscriptions also of a taker, a maker or all.
import { z } from "zod";
import { findTradesAfter, findTradesBy, tradeRecord } from "../../queries/trades.ts";
import { readWholeBlocks } from "../../whole-blocks.ts";
import { keyOf, type Row, type TopicKind } from "../topic.ts";

export const tradesTopic: TopicKind = {
  name: "trades",
  markets: "one or all",
  isHistory: true,
  async read({ db }, topics, { since, upTo: now, bounds }) {
    const rows = new Map<string, Row[]>(topics.map(({ name }) => [name, []]));
    if (since === undefined) return { states: rows };
    const [{ taker, maker, pair, name } = { name: "" }] = topics;
    const isOfMarkets = pair !== undefined && taker === undefined && maker === undefined;
    const names = new Map(topics.map((topic) => [keyOf(topic), topic.name]));
    const find = (limit: number) => {
      const page = { after: since.trade, limit };
      return isOfMarkets
        ? findTradesAfter(db, [...names.keys()], page)
        : findTradesBy(db, { taker, maker, market: pair && `${pair.base}/${pair.quote}` }, page);
    };
    const { rows: found, place: upTo } = await readWholeBlocks(find, { page: bounds.trades, now });
    for (const { key, id, price, volume, time } of found) {
      const row = { key: String(id), hash: "", data: { id, price, volume, time } };
      rows.get(isOfMarkets ? (names.get(key) ?? "") : name)?.push(row);
    }
    return { states: rows, upTo };
  },
  data: ({ rows }) => rows.map(({ data }) => data),
  schema: z.array(tradeRecord).describe("`trades`: the new trades, oldest first."),
  field: {
    name: "dexTrades",
    event: "DexTradesEvent",
    about: "New trades.",
    does: "Trades as they are written, each once.",
    market: "market",
    arguments: `
      """
      Only trades of this market: BASE/QUOTE, in any case.
      """
      market: String

      """
      Only trades of this taker, an address in any case.
      """
      taker: String

      """
      Only trades of this maker, an address in any case.
      """
      maker: String

      """
      The cursor of the last event that the client has: the trades since then come first.
      """
      after: String

      """
      Instead of \`after\`, a block to begin behind: the trades since the last recorded block at or below this number come first.
      """
      fromBlock: Int
    `,
    members: (page) => `
      """
      The trades since the last event, oldest first: whole blocks, up to ${page.toLocaleString("en")} trades unless one block has more. None in the first event without \`after\` and \`fromBlock\`, and after a reset.
      """
      nodes: [DexTrade!]!

      """
      Whether the next page follows at once. If not, the client has all trades up to the head.
      """
      more: Boolean!
    `,
    nodes: { of: "dex_trade", key: "id", type: "bigint" },
  },
};
