// The PostGraphile preset, each option with its reason.
import { PgSimplifyInflectionPreset } from "@graphile/simplify-inflection";
import { makePgService } from "postgraphile/adaptors/pg";
import { makeV4Preset } from "postgraphile/presets/v4";
import { PostGraphileConnectionFilterPreset } from "postgraphile-plugin-connection-filter";
import { CompiledListsPlugin } from "#compiled-lists";
import { makeAppendOnlyPlugin, makeTotalCountPlugin } from "#append-only-totals";
import { makeFreedOperationsPlugin } from "#freed-operations";
import { makeIndexedOrdersPlugins } from "#indexed-orders";
import type { Pool } from "../db/connect.ts";
import { makeDescriptionsPlugin, OPERATORS } from "./schema/descriptions.ts";
import { makeEitherWayPlugin } from "./rows/either-way.ts";
import { AsOfCursorsPlugin, refusedAtHead } from "./as-of/past-cursors.ts";
import { AsOfDirectivePlugin } from "./as-of/directive.ts";
import { makeAsOfOperationPlugin } from "./as-of/operation.ts";
import { makeAsOfRowsPlugin } from "./as-of/past-rows.ts";
import { EXAMPLE_QUERIES } from "./example-queries.ts";
import { ExactNamesPlugin } from "./schema/exact-names.ts";
import { ExactValuesPlugin } from "./schema/exact-values.ts";
import { ImpliedConditionsPlugin } from "./rows/implied-conditions.ts";
import { ListsWithoutCasePlugin } from "./rows/lists-without-case.ts";
import { LongListsPlugin } from "./rows/long-lists.ts";
import { keepEqualElements } from "./grafast-internals.ts";
import { GRAPHQL_PATH } from "../http/request.ts";
import type { OperationsInFlight } from "./limits/operations-in-flight.ts";
import { makePlansPlugin } from "./limits/planning-turns.ts";
import { makeDocumentLimitsPlugin } from "./limits/document-limits.ts";
import type { GraphqlLimits } from "./limits/limits.ts";
import { makeOperationLimitsPlugin } from "./limits/operation-limits.ts";
import { makeWholeListsPlugin } from "./limits/unpaged-lists.ts";
import { makeSubscriptionFieldsPlugin } from "./subscriptions/subscription-fields.ts";
import { makeMaskError } from "./mask-error.ts";
import { PagePolicyPlugin } from "./graphiql-policy.ts";
import { ServedConditionsPlugin } from "./limits/served-conditions.ts";
import { ViewRecordsPlugin } from "./limits/view-records.ts";
import { SnapshotPlugin } from "./rows/operation-snapshot.ts";
import { makeOperationTimePlugin } from "./rows/operation-time.ts";
import { ValidationRulesPlugin } from "./schema/validation-rules.ts";
import { StrictScalarsPlugin } from "./schema/strict-scalars.ts";

keepEqualElements();

type GraphiqlConfig = NonNullable<NonNullable<GraphileConfig.Preset["ruru"]>["clientConfig"]>;

export interface PresetOptions {
  /** Reads as dex_reader; the schema has only what that role is granted. */
  pool: Pool;
  /** Logs an error that is masked for the client. */
  log: (error: unknown) => void;
  limits: GraphqlLimits;
  /** Bounds the operations in flight; without it, none waits. */
  operations?: OperationsInFlight | undefined;
  /** The site's own schemas, exposed beside `public`. */
  exposedSchemas?: readonly string[];
  /** How many blocks the chain may take back; undefined for what an indexer or a mirror has recorded, or 64. */
  finality?: number | undefined;
}

export function makePreset({
  pool,
  log,
  limits,
  operations,
  exposedSchemas = [],
  finality,
}: PresetOptions): GraphileConfig.Preset {
  return {
    extends: [
      makeV4Preset({
        // Every list is a connection, with pages and a count.
        simpleCollections: "omit",
        // Only what dex_reader is granted.
        ignoreRBAC: false,
        // No list of a relation without an index.
        ignoreIndexes: false,
        graphqlRoute: GRAPHQL_PATH,
        graphiqlRoute: "/graphiql",
        graphiql: true,
      }),
      PgSimplifyInflectionPreset,
      PostGraphileConnectionFilterPreset,
    ],
    plugins: [
      // First, so that a refusal comes before any work. PostGraphile itself limits neither depth nor pages:
      // https://github.com/graphile/crystal/issues/164 and https://github.com/graphile/crystal/issues/1258.
      makeDocumentLimitsPlugin(limits, operations),
      makeOperationLimitsPlugin(limits),
      // What waits for its turn has no connection yet: the plugins behind it begin transactions.
      makePlansPlugin(operations),
      ServedConditionsPlugin,
      ViewRecordsPlugin,
      makeWholeListsPlugin(limits),
      ExactNamesPlugin,
      ExactValuesPlugin,
      ...makeIndexedOrdersPlugins(log, { refusedCursor: refusedAtHead }),
      StrictScalarsPlugin,
      ValidationRulesPlugin,
      makeEitherWayPlugin(log),
      ListsWithoutCasePlugin,
      ImpliedConditionsPlugin,
      LongListsPlugin,
      makeAppendOnlyPlugin(log),
      makeTotalCountPlugin(),
      AsOfDirectivePlugin,
      makeAsOfRowsPlugin(log),
      AsOfCursorsPlugin,
      makeSubscriptionFieldsPlugin(limits),
      makeDescriptionsPlugin(limits),
      makeFreedOperationsPlugin(operations?.connectionsOf(pool) ?? pool),
      makeOperationTimePlugin(limits),
      makeAsOfOperationPlugin(finality),
      SnapshotPlugin,
      CompiledListsPlugin,
      PagePolicyPlugin,
    ],
    disablePlugins: [
      // No filters through relations, whose joins a client would choose. `connectionFilterRelations:
      // false` does not remove them.
      "PgConnectionArgFilterForwardRelationsPlugin",
      "PgConnectionArgFilterBackwardRelationsPlugin",
      // The service only reads.
      "MutationPlugin",
      // `query { query { query … } }` and the node interface on Query serve Relay 1 only.
      "QueryQueryPlugin",
    ],
    pgServices: [
      // Subscriptions need no LISTEN.
      makePgService({ pool, schemas: ["public", ...exposedSchemas], pubsub: false }),
    ],
    schema: {
      // Fail on two objects of one name, instead of leaving one out.
      dontSwallowErrors: true,
      // The interface has names like allDexTrades.
      pgSimplifyAllRows: false,
      // No pattern matching, which reads whole tables.
      connectionFilterAllowedOperators: Object.keys(OPERATORS),
      connectionFilterArrays: false,
      connectionFilterComputedColumns: false,
      connectionFilterSetofFunctions: false,
    },
    grafast: {
      // No client may see the plan or the SQL of its query.
      explain: false,
      timeouts: { planning: limits.planningMs, execution: limits.executionMs },
    },
    grafserv: {
      // The preset for version 4 also accepts forms.
      allowedRequestContentTypes: ["application/json"],
      maskError: makeMaskError(log),
      // DocumentLimitsPlugin caches documents by their length; this cache counts them.
      parseAndValidateCacheSize: 0,
    },
    ruru: {
      // The type requires every setting, although all are optional.
      clientConfig: { defaultQuery: EXAMPLE_QUERIES } as GraphiqlConfig,
      // grafserv hands it on: else the first who asks for a source map has the process hold 10 MB of them.
      ...{ disallowDevAssets: true },
    },
  };
}
