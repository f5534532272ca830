// What the service is made of: the pools, the settings, and who gets its reports.
import type { IndexerStatus } from "../chain/index-status.ts";
import type { Database, Pool } from "../db/connect.ts";
import type { PersistedDocuments } from "../graphql/persisted/documents.ts";
import type { WatchOptions } from "../graphql/serve.ts";
import type { CacheOptions } from "../http/cache/answer-cache.ts";
import type { ApiKeys } from "../http/keys/api-keys.ts";
import type { DatabaseGate } from "../http/known-database.ts";
import type { SharedCounts } from "../http/rate-limit.ts";
import type { OnOver } from "../http/request.ts";
import type { Traces } from "../traces/index.ts";
import type { Config } from "./config.ts";

/** Settings that have a default here too. */
export type AppSettings = Partial<
  Pick<
    Config,
    | "http"
    | "limits"
    | "streams"
    | "inFlight"
    | "rateLimit"
    | "trustedProxies"
    | "publicUrl"
    | "maxHeadAge"
    | "maxReplicaLag"
    | "minBlockWaitMs"
    | "finality"
    | "requestsPerClient"
    | "exposedSchemas"
    | "listings"
    | "explorer"
    | "filesDir"
  >
> & {
  /** How long /ready waits for the database, in milliseconds. */
  readyWithinMs?: number;
};

/** All read the database as dex_reader. Their maker closes them after the service. */
export interface Pools {
  rest: Pool;
  /** Default: that of REST, as for all below. */
  graphql?: Pool;
  /** Asked by /ready, which must wait for no client's statement. */
  readiness?: Pool;
  /** Reads what streams follow, if its statements must wait for no client's. */
  live?: Pool;
  /** Asked for the catalogs, where the timeouts of REST may be too short for that. */
  catalogs?: Pool;
}

/** What the operator gets. */
export interface Reports {
  /** Each error that is not the client's, and the id of its request. Default: standard error. */
  error?: (error: unknown, requestId?: string) => void;
  /** Each request that is over, except refusals for load. */
  request?: OnOver;
  /** Warnings, among them the number of refusals for load. */
  warn?: (line: string) => void;
}

export interface AppOptions {
  pools: Pools;
  settings?: AppSettings;
  reports?: Reports;
  /** Opens when the database can be served. Default: open. */
  gate?: DatabaseGate;
  /** The indexer in this process: it has metrics, and reasons not to be ready. */
  indexer?: Pick<IndexerStatus, "registry" | "reasons"> | undefined;
  /** Undefined for no metrics. */
  metrics?: MetricsOptions | undefined;
  /** Undefined for no cache. */
  cache?: CacheOptions | undefined;
  clients?: ClientOptions;
  graphql?: GraphqlOptions;
  /** Begun and closed by their maker. Default: none. */
  traces?: Traces | undefined;
}

/** Who asks. */
interface ClientOptions {
  /** Counts requests for the rate limit of all processes. Its maker closes it. Default: this process alone. */
  sharedCounts?: SharedCounts | undefined;
  /** Whose holders have limits beside those of any client. Default: none, and Authorization is not read. */
  keys?: ApiKeys | undefined;
}

interface GraphqlOptions {
  /** Those that a client may name by an identifier. Default: none, and any text is run. */
  documents?: PersistedDocuments | undefined;
  /** Makes the schema follow migrations; without it, it is that of the start. */
  watch?: WatchOptions | undefined;
}

export interface MetricsOptions {
  /** Whether they are at /metrics. */
  isPublic: boolean;
  /** Asked for the head. Default: `pool`. */
  db?: Database;
  /** How many lines of the log were dropped. */
  droppedLines?: () => number;
}
