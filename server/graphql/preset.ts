// The PostGraphile preset: what of the schema becomes GraphQL, each option with its reason.
import { PgSimplifyInflectionPreset } from "@graphile/simplify-inflection";
import { makePgService } from "postgraphile/adaptors/pg";
import { makeV4Preset } from "postgraphile/presets/v4";
import { PostGraphileConnectionFilterPreset } from "postgraphile-plugin-connection-filter";
import type { Pool } from "../../db/connect.ts";
import { makeAppendOnlyPlugin } from "./totals/append-only.ts";
import { CursorsPlugin } from "./paging/cursors.ts";
import { makeDescriptionsPlugin } from "./schema/descriptions.ts";
import { makeEitherWayPlugin } from "./rows/either-way.ts";
import { EXAMPLE_QUERIES } from "./example-queries.ts";
import { ExactNamesPlugin } from "./schema/exact-names.ts";
import { ImpliedConditionsPlugin } from "./rows/implied-conditions.ts";
import { KnownOperationsPlugin } from "./known-operations.ts";
import type { OperationsInFlight } from "./limits/operations-in-flight.ts";
import { makePlansPlugin } from "./limits/plans.ts";
import { makeDocumentLimitsPlugin } from "./limits/document-limits.ts";
import type { GraphqlLimits } from "./limits/limits.ts";
import { makeOperationLimitsPlugin } from "./limits/operation-limits.ts";
import { makeWholeListsPlugin } from "./limits/unpaged-lists.ts";
import { makeMaskError } from "./mask-error.ts";
import { PageInfoPlugin } from "./paging/page-info.ts";
import { PagePolicyPlugin } from "./graphiql-policy.ts";
import { PagingArgumentsPlugin } from "./paging/paging-arguments.ts";
import { makeServedOrdersPlugin } from "./paging/served-orders.ts";
import { ServedConditionsPlugin } from "./limits/served-conditions.ts";
import { SnapshotPlugin } from "./rows/operation-snapshot.ts";
import { StorableTextPlugin } from "./schema/storable-text.ts";
import { StrictScalarsPlugin } from "./schema/strict-scalars.ts";
import { makeTotalCountPlugin } from "./totals/total-count.ts";
import { WholeRowsPlugin } from "./rows/whole-rows.ts";

type GraphiqlConfig = NonNullable<NonNullable<GraphileConfig.Preset["ruru"]>["clientConfig"]>;

export interface PresetOptions {
  /** Reads as dex_reader; what that role may not see is not in the schema. */
  pool: Pool;
  /** Hears of every error that a client is not shown. */
  log: (error: unknown) => void;
  /** What one request may ask for. */
  limits: GraphqlLimits;
  /** The operations in flight; without it, none has to wait. */
  operations?: OperationsInFlight | undefined;
  /** Schemas of the site's own that are shown beside `public`. */
  exposedSchemas?: readonly string[];
}

export function makePreset({
  pool,
  log,
  limits,
  operations,
  exposedSchemas = [],
}: PresetOptions): GraphileConfig.Preset {
  return {
    extends: [
      makeV4Preset({
        // Lists are connections: each can be paged and counted.
        simpleCollections: "omit",
        // What dex_reader is not granted is not shown.
        ignoreRBAC: false,
        // No list of a relation that no index serves.
        ignoreIndexes: false,
        graphqlRoute: "/graphql",
        graphiqlRoute: "/graphiql",
        graphiql: true,
      }),
      PgSimplifyInflectionPreset,
      PostGraphileConnectionFilterPreset,
    ],
    plugins: [
      // First, so that what is refused begins nothing.
      makeDocumentLimitsPlugin(limits),
      makeOperationLimitsPlugin(limits),
      makePlansPlugin(operations),
      ServedConditionsPlugin,
      makeWholeListsPlugin(limits),
      KnownOperationsPlugin,
      ExactNamesPlugin,
      makeServedOrdersPlugin(log),
      PagingArgumentsPlugin,
      CursorsPlugin,
      PageInfoPlugin,
      StrictScalarsPlugin,
      StorableTextPlugin,
      makeEitherWayPlugin(log),
      ImpliedConditionsPlugin,
      makeAppendOnlyPlugin(log),
      makeTotalCountPlugin(),
      WholeRowsPlugin,
      makeDescriptionsPlugin(limits),
      // Decides by the query that is executed.
      SnapshotPlugin,
      PagePolicyPlugin,
    ],
    disablePlugins: [
      // Filters through relations join at a client's will. `connectionFilterRelations: false` does
      // not remove them.
      "PgConnectionArgFilterForwardRelationsPlugin",
      "PgConnectionArgFilterBackwardRelationsPlugin",
      // The service only reads: there is no Mutation type, for tables nor for functions.
      "MutationPlugin",
      // `query { query { query … } }` and the node interface on Query serve Relay 1 only.
      "QueryQueryPlugin",
    ],
    pgServices: [makePgService({ pool, schemas: ["public", ...exposedSchemas] })],
    schema: {
      // Of two things of one name, one would else be left out.
      dontSwallowErrors: true,
      // The interface's names are allDexTrades and so on.
      pgSimplifyAllRows: false,
      // By these and no other: pattern matching reads whole tables.
      connectionFilterAllowedOperators: [
        "isNull",
        "equalTo",
        "notEqualTo",
        "in",
        "notIn",
        "lessThan",
        "lessThanOrEqualTo",
        "greaterThan",
        "greaterThanOrEqualTo",
        "equalToInsensitive",
        "inInsensitive",
      ],
      connectionFilterArrays: false,
      connectionFilterComputedColumns: false,
      connectionFilterSetofFunctions: false,
    },
    grafast: {
      // No client is told the plan of its query, nor the SQL, however it asks.
      explain: false,
      timeouts: { planning: limits.planningMs, execution: limits.executionMs },
    },
    grafserv: {
      // The preset for version 4 takes forms too.
      allowedRequestContentTypes: ["application/json"],
      maskError: makeMaskError(log),
      // DocumentLimitsPlugin keeps documents by their length, where this counts them.
      parseAndValidateCacheSize: 0,
    },
    ruru: {
      // What GraphiQL opens with. The type asks for every setting, where all are optional.
      clientConfig: { defaultQuery: EXAMPLE_QUERIES } as GraphiqlConfig,
    },
  };
}
