// The fields of Subscription: their types, and how each event is planned.
import { constant, get, lambda, listen, type FieldArgs, type Step } from "postgraphile/grafast";
import { listOfCodec, TYPES, type PgCodec, type PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import { extendSchema } from "postgraphile/utils";
import { fromContext } from "../grafast-internals.ts";
import type { GraphqlLimits } from "../limits/limits.ts";
import type { Subscription, Topic } from "./subscription.ts";
import {
  bookTopic,
  candlesTopic,
  headTopic,
  marketsTopic,
  tradesTopic,
  type CandlesArguments,
  type TradesArguments,
} from "./topics.ts";

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Grafast {
    interface Context {
      /** Of an operation that is a subscription. */
      subscription?: Subscription;
    }
  }
}

declare module "graphql" {
  // Declaration merging requires the type parameters of the original interface.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs = any> {
    /** How many rows this list of an event has, for the cost. */
    eventRows?: number;
  }
}

/** Rows of one event. */
const MAX_PAGE = 1000;

type ColumnCodec = typeof TYPES.text | typeof TYPES.bigint;

const field = ($event: Step, name: string): Step =>
  get($event as Step<Record<string, unknown>>, name);

const OF_EACH = `
  """
  The place in the data after this event. \`after\` takes it, also in another process of the service.
  """
  cursor: String!

  """
  The head that this event is of, or the last block of a page. Null before the first block.
  """
  head: DexMoment

  """
  What stands, if blocks that the client has were taken back: this event replaces the rest.
  """
  retractedTo: DexRetraction

  """
  Why what the client has is void, where it cannot be told what has changed: this event is like the first of a client that begins. Null in all other events.
  """
  reset: String
`;

const typeDefs = (page: number) => `
  """
  A block and its time.
  """
  type DexMoment {
    """
    Height of the block.
    """
    block: Int!

    """
    Timestamp of the block.
    """
    time: Datetime!
  }

  """
  What stands after blocks were taken back.
  """
  type DexRetraction {
    """
    The last recorded block that stands. Null if none is left.
    """
    block: Int

    """
    Its timestamp. Null if none is left.
    """
    time: Datetime

    """
    Trades with a greater id are void: blocks may have equal times.
    """
    trade: BigInt!
  }

  """
  A new head.
  """
  type DexHeadEvent {${OF_EACH}}

  """
  Markets that have changed.
  """
  type DexMarketsEvent {${OF_EACH}
    """
    All markets in the first event and after a reset, then those that have changed.
    """
    nodes: [DexMarket!]!

    """
    Identifiers of the markets that are registered no longer.
    """
    removed: [String!]!
  }

  """
  New trades.
  """
  type DexTradesEvent {${OF_EACH}
    """
    The trades since the last event, oldest first: whole blocks, up to ${page.toLocaleString("en")} trades unless one block has more. None in the first event without \`after\`, and after a reset.
    """
    nodes: [DexTrade!]!

    """
    Whether the next page follows at once. If not, the client has all trades up to the head.
    """
    more: Boolean!
  }

  """
  Candles that have changed.
  """
  type DexCandlesEvent {${OF_EACH}
    """
    The candles from the first one that is new or has changed, oldest first. The last candle in the first event without \`after\`, and after a reset. After \`retractedTo\` they replace the candles from the one of its time on.
    """
    nodes: [DexCandle!]!
  }

  """
  Levels of a book that have changed.
  """
  type DexBookEvent {${OF_EACH}
    """
    Whether \`nodes\` are the whole book: in the first event, and after a reset.
    """
    whole: Boolean!

    """
    The levels that have changed, each in place of the one with its act and price.
    """
    nodes: [DexBookChange!]!
  }

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
    What is left of its offers, in base units; 0 for a level that is gone.
    """
    vol: BigFloat!

    """
    What is left of its offers, in quote units; 0 for a level that is gone.
    """
    quoteVol: BigFloat!

    """
    Number of its offers; 0 for a level that is gone.
    """
    offers: Int!
  }

  extend type Subscription {
    """
    Each new head. Heads may be skipped.
    """
    dexHead: DexHeadEvent!

    """
    Markets, then those that change.
    """
    dexMarkets(
      """
      Identifiers BASE/QUOTE, in any case. All markets if not given.
      """
      pairs: [String!]
    ): DexMarketsEvent!

    """
    Trades as they are written, each once.
    """
    dexTrades(
      """
      Only trades of this market: BASE/QUOTE, in any case.
      """
      market: String

      """
      Only trades of this taker.
      """
      taker: String

      """
      Only trades of this maker.
      """
      maker: String

      """
      The cursor of the last event that the client has: the trades since then come first.
      """
      after: String
    ): DexTradesEvent!

    """
    The running candle of a market as it changes, and each candle when it is complete.
    """
    dexCandles(
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
    ): DexCandlesEvent!

    """
    The book of a market, then the levels that change.
    """
    dexBook(
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
    ): DexBookEvent!
  }
`;

export function makeSubscriptionFieldsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  const page = Math.min(MAX_PAGE, limits.page);
  return extendSchema((build) => {
    const { pgResources } = build.input.pgRegistry;
    const resource = (name: string): PgResource => {
      const found = pgResources[name];
      if (found === undefined) throw new Error(`the database has no ${name}`);
      return found as PgResource;
    };

    /** The rows whose key is in this list of the event, in the order of the key. */
    const rowsOf = (name: string, key: string, list: string, codec: ColumnCodec) => ({
      plan: ($event: Step) => {
        const $rows = resource(name).find();
        const { alias } = $rows;
        const column = sql`${alias}.${sql.identifier(key)}`;
        const $keys = field($event, list);
        $rows.where(sql`${column} = any (${$rows.placeholder($keys, listOfCodec(codec))})`);
        $rows.orderBy({ fragment: column, codec, direction: "ASC", nullable: false });
        $rows.setOrderIsUnique();
        return $rows;
      },
      extensions: { eventRows: page },
    });

    /** The candles of the event's market from a time on. */
    const candles = {
      plan: ($event: Step) => {
        const value = (name: string, pgCodec: PgCodec) => ({ step: field($event, name), pgCodec });
        return resource("dex_candles").execute([
          ...["base", "quote", "interval"].map((name) => value(name, TYPES.text)),
          value("from", TYPES.timestamptz),
          { step: constant(null), pgCodec: TYPES.timestamptz },
          { step: constant(page), pgCodec: TYPES.int },
          { step: constant("omit"), pgCodec: TYPES.text },
        ]);
      },
      extensions: { eventRows: page },
    };

    const levels = {
      plan: ($event: Step) => field($event, "nodes"),
      extensions: { eventRows: page },
    };

    const follow = (topicOf: (given: never) => Topic) => ({
      subscribePlan: (_$root: Step, args: FieldArgs) =>
        // The types of `listen` know publishers of named topics only.
        listen(
          fromContext<never>("subscription"),
          lambda(args.getRaw() as Step<never>, topicOf) as Step<never>,
        ),
      plan: ($event: Step) => $event,
    });

    return {
      typeDefs: typeDefs(page),
      objects: {
        Subscription: {
          plans: {
            dexHead: follow(headTopic),
            dexMarkets: follow(marketsTopic),
            dexTrades: follow((given: TradesArguments) => tradesTopic(given, page)),
            dexCandles: follow((given: CandlesArguments) => candlesTopic(given, page)),
            dexBook: follow(bookTopic),
          },
        },
        DexMarketsEvent: { plans: { nodes: rowsOf("dex_market", "pair", "pairs", TYPES.text) } },
        DexTradesEvent: { plans: { nodes: rowsOf("dex_trade", "id", "ids", TYPES.bigint) } },
        DexCandlesEvent: { plans: { nodes: candles } },
        DexBookEvent: { plans: { nodes: levels } },
      },
    };
  }, "SubscriptionFieldsPlugin");
}
