// Whether the service can serve: the database, its migrations, every statement of REST, the age of the head.
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../db/connect.ts";
import { BeforeBaseline } from "../db/committed.ts";
import { ReplacedPrimary } from "../db/fence.ts";
import { pendingMigrations } from "../db/migrations.ts";
import { readReplication } from "../db/replication.ts";
import type { Version } from "../rest/endpoint.ts";
import { findUnreadable } from "../rest/probe.ts";
import { databaseFailure } from "../http/database-failure.ts";
import type { DatabaseGate } from "../http/known-database.ts";
import { DatabaseNotReady } from "../http/errors.ts";

export interface ReadinessOptions {
  db: Database;
  gate: DatabaseGate;
  /** Each statement of their endpoints must be readable. */
  versions: readonly Version[];
  /** Maximum age of the head in seconds; 0 for any age, and for no head. */
  maxHeadAge: number;
  /** Maximum lag of a standby in seconds; 0 for any lag. */
  maxReplicaLag?: number | undefined;
  /** How long a probe waits for the database, in milliseconds; default 2000. */
  withinMs?: number | undefined;
  /** Why what fills the database in this process is not up to date, or GraphQL cannot be served. */
  otherReasons?: (() => string[]) | undefined;
  log: (error: unknown) => void;
}

/** A balancer asks more often than this, */
const ASKED_WITHIN_MS = 10_000;
/** and twice within this time where it is to notice at once. */
const NOTICE_MS = 1000;
/** How long a stop waits for the answers in flight before it stops listening. */
const LEAVE_MS = 5000;

const STOPPING = "The service is stopping";

export class Readiness {
  readonly #options: ReadinessOptions;
  #asking: Promise<string[]> | undefined;
  #askedAt = -Infinity;
  #isStopping = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** Why the service cannot serve; empty where it can. Probes in flight share one answer. */
  async reasons(): Promise<string[]> {
    this.#askedAt = performance.now();
    if (this.#isStopping) return [STOPPING];
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    const given = new AbortController();
    const { withinMs = 2000 } = this.#options;
    const silence = sleep(withinMs, undefined, { signal: given.signal }).then(() => [
      `The database has not answered within ${withinMs / 1000} seconds`,
    ]);
    // Its abort below rejects it.
    silence.catch(() => undefined);
    try {
      return await Promise.race([this.#asking, silence]);
    } finally {
      given.abort();
    }
  }

  /**
   * From now on the service is not ready. Where a balancer asks, this resolves when it has noticed, and the answers in flight
   * are out: it sends nothing more then, and breaks off the answers of a service that does not listen.
   */
  async leaveBalancer(inFlight: () => number): Promise<void> {
    this.#isStopping = true;
    const began = performance.now();
    if (began - this.#askedAt > ASKED_WITHIN_MS) return;
    const passed = (): number => performance.now() - began;
    while (passed() < NOTICE_MS || (inFlight() > 0 && passed() < LEAVE_MS)) await sleep(50);
  }

  async #ask(): Promise<string[]> {
    const {
      db,
      gate,
      versions,
      maxHeadAge,
      maxReplicaLag = 0,
      log,
      otherReasons = () => [],
    } = this.#options;
    try {
      const pending = await pendingMigrations(db);
      if (pending.length > 0) {
        return pending.map((name) => `The database lacks the migration ${name}`);
      }
      const unreadable = await findUnreadable(db, versions, concernsAll);
      for (const { error } of unreadable) if (databaseFailure(error) === undefined) log(error);
      if (unreadable.length > 0) {
        return unreadable.map(({ path }) => `${path} cannot be read`);
      }
      // The gate opens up to a second later, and never for another role than dex_reader.
      if (gate.obstacle !== undefined) return [new DatabaseNotReady().message];
      const stale = maxHeadAge > 0 ? await headTooOld(db, maxHeadAge) : [];
      const behind = maxReplicaLag > 0 ? await replayTooOld(db, maxReplicaLag) : [];
      return [...stale, ...behind, ...otherReasons()];
    } catch (error) {
      if (error instanceof BeforeBaseline || error instanceof ReplacedPrimary) {
        return [error.message];
      }
      const failure = databaseFailure(error);
      if (failure !== undefined) return [failure.message];
      log(error);
      return ["The database answers with an error"];
    }
  }
}

/** Whether every other statement would fail for the same reason. */
function concernsAll(error: unknown): boolean {
  const failure = databaseFailure(error);
  return failure !== undefined && !(failure instanceof DatabaseNotReady);
}

/** By the clock of the database, since that of the service may differ. */
async function headTooOld(db: Database, maxHeadAge: number): Promise<string[]> {
  const { rows } = await db.query<{ block: number; age: number }>(`
    select
      head.block,
      floor(extract(epoch from clock_timestamp() - head.time))::float8 as age
    from dex_head as head
  `);
  const [head] = rows;
  if (head === undefined) return ["No block is written"];
  if (head.age <= maxHeadAge) return [];
  return [
    `The head, block ${head.block}, is ${head.age} seconds old, and MAX_HEAD_AGE is ${maxHeadAge}`,
  ];
}

/** A primary has no lag. A standby that has replayed nothing since its start is as old as it can be. */
async function replayTooOld(db: Database, maxReplicaLag: number): Promise<string[]> {
  const { isStandby, lag } = await readReplication(db);
  if (!isStandby) return [];
  if (lag === null) {
    return [`The standby has replayed no transaction, and MAX_REPLICA_LAG is ${maxReplicaLag}`];
  }
  if (lag <= maxReplicaLag) return [];
  return [
    `The last transaction that the standby replayed is ${lag} seconds old, and MAX_REPLICA_LAG is ${maxReplicaLag}`,
  ];
}
