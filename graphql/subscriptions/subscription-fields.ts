// The fields of Subscription, one for each topic, and how each event is planned.
import { constant, get, lambda, listen, type FieldArgs, type Step } from "postgraphile/grafast";
import { listOfCodec, TYPES, type PgCodec, type PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import { extendSchema } from "postgraphile/utils";
import { fromContext } from "../grafast-internals.ts";
import type { GraphqlLimits } from "../limits/limits.ts";
import type { TopicField, TopicKind } from "../../market/live/topic.ts";
import { TOPIC_KINDS } from "../../market/live/topics.ts";
import { followedTopics, type TopicArguments } from "./followed-topics.ts";
import { subscriptionTypes } from "./subscription-types.ts";
import type { Subscription } from "./subscription.ts";

declare global {
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

export function makeSubscriptionFieldsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  const page = Math.min(MAX_PAGE, limits.page);
  return extendSchema((build) => {
    const { pgResources } = build.input.pgRegistry;
    const resource = (name: string): PgResource => {
      const found = pgResources[name];
      if (found === undefined) throw new Error(`the database has no ${name}`);
      return found as PgResource;
    };

    /** The rows whose key is one of the event, in the order of the key. */
    const rowsOf = (name: string, key: string, codec: ColumnCodec) => ({
      plan: ($event: Step) => {
        const $rows = resource(name).find();
        const { alias } = $rows;
        const column = sql`${alias}.${sql.identifier(key)}`;
        const $keys = field($event, "keys");
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

    const data = {
      plan: ($event: Step) => field($event, "data"),
      extensions: { eventRows: page },
    };

    const nodesOf = ({ nodes }: TopicField): object | undefined => {
      if (nodes === undefined) return undefined;
      if (nodes === "candles") return candles;
      return nodes === "data" ? data : rowsOf(nodes.of, nodes.key, TYPES[nodes.type]);
    };

    const follow = (kind: TopicKind) => ({
      subscribePlan: (_$root: Step, args: FieldArgs) =>
        // The types of `listen` know publishers of named topics only.
        listen(
          fromContext<never>("subscription"),
          lambda(args.getRaw() as Step<TopicArguments>, (given) => ({
            ...followedTopics(kind, given),
            page,
          })) as Step<never>,
        ),
      plan: ($event: Step) => $event,
    });

    return {
      typeDefs: subscriptionTypes(TOPIC_KINDS, page),
      objects: {
        Subscription: {
          plans: Object.fromEntries(TOPIC_KINDS.map((kind) => [kind.field.name, follow(kind)])),
        },
        ...Object.fromEntries(
          TOPIC_KINDS.flatMap(({ field }) => {
            const nodes = nodesOf(field);
            return nodes === undefined ? [] : [[field.event, { plans: { nodes } }]];
          }),
        ),
      },
    };
  }, "SubscriptionFieldsPlugin");
}
