// The topic of a market's book.
import { z } from "zod";
import { bookRecord, findLevels, type AskedBook, type RawLevel } from "../../queries/book.ts";
import { piecesOf } from "../pieces.ts";
import type { Change, Row, Topic, TopicKind } from "../topic.ts";

const MAX_DEPTH = 1000;

/** Of the books that one statement reads. */
const DEPTHS_AT_ONCE = 5000;

const DEPTH = /^([1-9]\d{0,2}|1000)$/;

const levelOfStream = z
  .object({ ...bookRecord.shape.bids.element.shape, offers: z.int().min(0) })
  .meta({ id: "ChangedLevel" });

const trimmed = (decimal: string): string =>
  decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;

const sideOf = ({ rows }: Change, side: RawLevel["act"]) =>
  rows
    .map(({ data }) => data as RawLevel)
    .filter(({ act }) => act === side)
    .map(({ price, vol, quoteVol, offers }) => ({
      ...{ price: trimmed(price), vol: trimmed(vol), quoteVol: trimmed(quoteVol), offers },
    }));

const marketOf = ({ pair }: Topic): string => JSON.stringify([pair?.base, pair?.quote]);

const depthOf = (topics: readonly Topic[]): number =>
  Math.max(...topics.map(({ argument }) => Number(argument)));

/** The book for topics of one market. */
const asked = (topics: readonly Topic[]): AskedBook => ({
  ...(topics[0]?.pair ?? { base: "", quote: "" }),
  depth: depthOf(topics),
});

/** The bids, then the asks. */
function rowsOf(levels: readonly RawLevel[]): Row[][] {
  const sides = Object.groupBy(levels, ({ act }) => act);
  return [sides.buy ?? [], sides.sell ?? []].map((side) =>
    side.map((data) => {
      const { act, price, vol, quoteVol, offers } = data;
      return { key: `${act} ${price}`, hash: `${vol} ${quoteVol} ${offers}`, data };
    }),
  );
}

export const bookTopic: TopicKind = {
  name: "book",
  markets: "one",
  argument: {
    shown: "DEPTH",
    accepted: `1 to ${MAX_DEPTH}`,
    problem: `has no depth from 1 to ${MAX_DEPTH}`,
    read: (text) => (DEPTH.test(text) ? Number(text) : undefined),
  },
  /** Each market's book is read once, at the greatest depth that is asked for: the others are its best levels. */
  async read({ db }, topics) {
    const ofMarkets = Map.groupBy(topics, marketOf);
    const states = new Map<string, readonly Row[]>();
    for (const markets of piecesOf([...ofMarkets.values()], depthOf, DEPTHS_AT_ONCE)) {
      const found = await findLevels(db, markets.map(asked));
      for (const [n, same] of markets.entries()) {
        const sides = rowsOf(found[n] ?? []);
        for (const { name, argument } of same) {
          const depth = Number(argument);
          states.set(
            name,
            sides.flatMap((side) => side.slice(0, depth)),
          );
        }
      }
    }
    return { states };
  },
  goneRow: ({ key, data }) => ({
    key,
    hash: "",
    data: { ...data, vol: "0", quoteVol: "0", offers: 0 },
  }),
  data: (change) => ({
    whole: change.isWhole,
    bids: sideOf(change, "buy"),
    asks: sideOf(change, "sell"),
  }),
  schema: z
    .object({
      whole: z
        .boolean()
        .describe(
          "Whether these are all levels up to the depth. Else they are those that have changed: a " +
            "`vol` of 0 with an `offers` of 0 is a level that is gone.",
        ),
      bids: z.array(levelOfStream),
      asks: z.array(levelOfStream),
    })
    .meta({ id: "ChangedBook" }),
  field: {
    name: "dexBook",
    event: "DexBookEvent",
    about: "Levels of a book that have changed.",
    does: "The book of a market, then the levels that change.",
    market: "base/quote",
    argument: "depth",
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
      How many levels of each side, from 1 to 1000.
      """
      depth: Int! = 50
    `,
    members: () => `
      """
      Whether \`nodes\` are the whole book: in the first event, and after a reset.
      """
      whole: Boolean!

      """
      The levels that have changed, each in place of the one with its act and price.
      """
      nodes: [DexBookChange!]!
    `,
    types: `
      """
      What a level of a book is now.
      """
      type DexBookChange {
        """
        The side: \`buy\` for bids, \`sell\` for asks.
        """
        act: String!

        """
        The price of its offers, quote per base.
        """
        price: BigFloat!

        """
        What is left of its offers and what pools trade up to it, in base units; 0 for a level that is gone.
        """
        vol: BigFloat!

        """
        The same in quote units; 0 for a level that is gone.
        """
        quoteVol: BigFloat!

        """
        Number of its offers; 0 for a level that is gone, or is of a pool alone.
        """
        offers: Int!
      }
    `,
    nodes: "data",
  },
};
