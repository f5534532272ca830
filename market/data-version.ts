// The version of the data, read at most every `checkMs`.
import { performance } from "node:perf_hooks";
import type { Database } from "../db/connect.ts";
import { failureOf } from "../db/failure.ts";

/** Under equal versions every query gives the same. */
export interface DataVersion {
  text: string;
  /** Without a head, figures depend on the clock as well. */
  hasHead: boolean;
}

export interface VersionOptions {
  db: Database;
  /** For how long a version counts as known, in milliseconds. */
  checkMs: number;
  /** Gets the first error of each outage. */
  log: (error: unknown) => void;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

// Every commit changes the snapshot, whatever it wrote, and the writer does nothing for it. A hot standby's
// snapshot leaves out the running transactions, so there the replayed position of the log is added. The
// start of the server distinguishes it from another server that has taken over its address.
export const SELECT_VERSION = {
  name: "data_version",
  text: `
    select
      concat_ws(
        ' ',
        pg_current_snapshot(),
        pg_last_wal_replay_lsn(),
        extract(epoch from pg_postmaster_start_time())
      ) as text,
      exists (
        select
        from dex_head
      ) as "hasHead"
  `,
  // Without it, a lost connection would be waited for for many minutes.
  query_timeout: 1000,
};

/** While requests come, the version is read again at half of `checkMs`, so that none waits for it. */
export class KnownVersion {
  readonly #options: Required<VersionOptions>;
  #known: DataVersion | undefined;
  /** When the known version was asked for. */
  #knownAt = -Infinity;
  #asking: Promise<DataVersion | undefined> | undefined;
  /** When the statement in flight was sent. */
  #askedAt = -Infinity;
  #askingNext: Promise<DataVersion | undefined> | undefined;
  #failing = false;

  constructor(options: VersionOptions) {
    this.#options = { now: () => performance.now(), ...options };
  }

  /** Undefined where it was asked for `checkMs` ago or earlier. */
  known(): DataVersion | undefined {
    if (this.#known === undefined) return undefined;
    const age = this.#options.now() - this.#knownAt;
    if (age >= this.#options.checkMs) return undefined;
    if (age >= this.#options.checkMs / 2 && this.#asking === undefined) void this.#begin();
    return this.#known;
  }

  /**
   * Asks for the version, or waits for a statement sent less than `checkMs` ago. Never rejects: undefined
   * means a failure. During an outage it asks in the background, and no request waits.
   */
  ask(): Promise<DataVersion | undefined> {
    if (this.#failing) {
      if (this.#asking === undefined) void this.#begin();
      return Promise.resolve(undefined);
    }
    if (this.#askingNext !== undefined) return this.#askingNext;
    if (this.#asking === undefined) return this.#begin();
    if (this.#options.now() - this.#askedAt < this.#options.checkMs) return this.#asking;
    // The statement in flight may miss a write that this request must see. The next statement serves
    // all requests that come until then.
    this.#askingNext = this.#asking.then(() => {
      this.#askingNext = undefined;
      return this.#begin();
    });
    return this.#askingNext;
  }

  #begin(): Promise<DataVersion | undefined> {
    this.#askedAt = this.#options.now();
    this.#asking = this.#read(this.#askedAt);
    return this.#asking;
  }

  async #read(askedAt: number): Promise<DataVersion | undefined> {
    try {
      const { rows } = await this.#options.db.query<DataVersion>(SELECT_VERSION);
      this.#known = rows[0];
      this.#knownAt = askedAt;
      this.#failing = false;
    } catch (error) {
      // The next request reports that the database cannot be reached.
      if (!this.#failing && failureOf(error) === undefined) this.#options.log(error);
      this.#failing = true;
      this.#known = undefined;
    }
    this.#asking = undefined;
    return this.#known;
  }
}
