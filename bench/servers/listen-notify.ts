// Subscriptions of the plain PostGraphile, as in its manual: the writer notifies the ids of a block's trades of one market, and
// each subscriber reads the rows.
import "../../graphql/production.ts";
import { jsonParse } from "postgraphile/@dataplan/json";
import { listOfCodec, TYPES, type PgResource } from "postgraphile/@dataplan/pg";
import { context, get, lambda, listen, type FieldArgs, type Step } from "postgraphile/grafast";
import { sql } from "postgraphile/pg-sql2";
import { extendSchema } from "postgraphile/utils";

/** The channel of a market. PostgreSQL allows 63 characters. */
export const channelOf = (market: string): string => `trades:${market}`;

/** Of a channel, a block and a market. No trigger sends it, so it belongs in the transaction of the block. */
export const NOTIFY = {
  name: "notify_trades",
  text: `
    select pg_notify($1, json_build_object('ids', json_agg(id order by id))::text)
    from dex_trade
    where block = $2 and market = $3
    having count(*) > 0
  `,
};

interface Payload {
  ids: string[];
}

const SubscriptionPlugin = extendSchema((build) => {
  const trades = build.input.pgRegistry.pgResources["dex_trade"] as PgResource | undefined;
  if (trades === undefined) throw new Error("the database has no dex_trade");
  return {
    // The same field as the service's, so that clients send the same document to both.
    typeDefs: `
      type DexTradesEvent { nodes: [DexTrade!]! }
      extend type Subscription { dexTrades(market: String!): DexTradesEvent! }
    `,
    objects: {
      Subscription: {
        plans: {
          dexTrades: {
            subscribePlan: (_$root: Step, args: FieldArgs) =>
              listen(
                context().get("pgSubscriber") as Step<never>,
                lambda(args.getRaw("market") as Step<string>, channelOf) as Step<never>,
                jsonParse,
              ),
            plan: ($event: Step) => $event,
          },
        },
      },
      DexTradesEvent: {
        plans: {
          nodes: ($event: Step) => {
            const $rows = trades.find();
            const id = sql`${$rows.alias}.${sql.identifier("id")}`;
            const $ids = get($event as Step<Payload>, "ids");
            $rows.where(sql`${id} = any (${$rows.placeholder($ids, listOfCodec(TYPES.bigint))})`);
            $rows.orderBy({ fragment: id, codec: TYPES.bigint, direction: "ASC", nullable: false });
            $rows.setOrderIsUnique();
            return $rows;
          },
        },
      },
    },
  };
}, "ListenNotifyPlugin");

export const listenNotifyPreset: GraphileConfig.Preset = {
  plugins: [SubscriptionPlugin],
  grafserv: { websockets: true },
};
