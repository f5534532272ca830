// What the service says of itself: as /health, /ready and /v2/head give it, with its version and limits.
import type { Pool } from "../db/connect.ts";
import { readReplication, type Replication } from "../db/replication.ts";
import type { DatabaseGate } from "../http/known-database.ts";
import { release } from "../http/release.ts";
import { findBlock } from "../market/queries/head.ts";

/** 0 for no limit. */
export interface StatedLimits {
  /** Of one client, in a minute. */
  requestsAMinute: number;
  /** Of one client, in flight. */
  requests: number;
  operations: number;
  streams: number;
  /** Of all clients. */
  allStreams: number;
  /** Rows of a page of GraphQL. */
  page: number;
  /** Cost of an operation. */
  cost: number;
  /** Bytes of a request's body. */
  bodyBytes: number;
  /** Seconds. */
  maxHeadAge: number;
  maxReplicaLag: number;
}

export interface StateOptions {
  /** Why the service cannot serve; empty where it can. */
  reasons: () => Promise<string[]>;
  /** Why the indexer of this process is not up to date; undefined without one. */
  reasonsOfIndexer?: (() => string[]) | undefined;
  limits: StatedLimits;
}

type Recorded = Awaited<ReturnType<typeof findBlock>>["rows"][number];

export interface ServiceState {
  version: string;
  reasons: string[];
  indexer: string[] | undefined;
  /** "unread" where the database does not answer, undefined before the first block. */
  head: Omit<Recorded, "key"> | "unread" | undefined;
  replication: Replication | "unread";
  limits: StatedLimits;
}

/** Whatever the database does. */
export async function readState(
  pool: Pool,
  gate: DatabaseGate,
  { reasons, reasonsOfIndexer, limits }: StateOptions,
): Promise<ServiceState> {
  // `reasons` names why.
  const ifServed = async <Read>(read: () => Promise<Read>): Promise<Read | "unread"> =>
    gate.obstacle === undefined ? read().catch(() => "unread" as const) : "unread";
  const [given, head, replication] = await Promise.all([
    reasons(),
    ifServed(async () => (await findBlock(pool)).rows[0]),
    ifServed(() => readReplication(pool)),
  ]);
  const indexer = reasonsOfIndexer?.();
  return { version: release(), reasons: given, indexer, head, replication, limits };
}
