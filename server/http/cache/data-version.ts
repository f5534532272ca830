// Which state of the data the database shows, asked rarely and remembered in between.
import { performance } from "node:perf_hooks";
import type { Database } from "../../../db/connect.ts";
import { databaseFailure } from "../database-failure.ts";

/** A state of the data: under two equal ones every query gives the same. */
export interface DataVersion {
  text: string;
  /** Whether a block was ever written; without one, figures depend on the clock as well. */
  hasHead: boolean;
}

export interface VersionOptions {
  /** Asked for the version. It must lead to the server that the queries ask. */
  db: Database;
  /** For how long a version that was asked for is taken to stand, in milliseconds; 0 for never. */
  checkMs: number;
  /** Hears why the version cannot be read, once for each time that it begins to fail. */
  log: (error: unknown) => void;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

// Which transactions are visible decides what data is: every commit changes the snapshot, whatever
// it wrote, and the writer does nothing for it. A hot standby's snapshot leaves out which
// transactions are still running, so there the place in the log that was replayed goes with it. The
// start of the server tells it from another one that has taken over its address.
const SELECT_VERSION = {
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
  // A connection that was lost without a word would be waited for for many minutes.
  query_timeout: 1000,
};

/**
 * The version of a database's data, as it was at most `checkMs` ago. While requests come, it is asked for
 * again when half of that is over, so that none waits for it.
 */
export class VersionWatch {
  readonly #db: Database;
  readonly #checkMs: number;
  readonly #log: (error: unknown) => void;
  readonly #now: () => number;
  #known: DataVersion | undefined;
  /** When the version that is known was asked for. */
  #knownAt = -Infinity;
  #asking: Promise<DataVersion | undefined> | undefined;
  /** When the answer that is waited for was asked for. */
  #askedAt = -Infinity;
  #askingNext: Promise<DataVersion | undefined> | undefined;
  #failing = false;

  constructor({ db, checkMs, log, now = () => performance.now() }: VersionOptions) {
    this.#db = db;
    this.#checkMs = checkMs;
    this.#log = log;
    this.#now = now;
  }

  /** The version, where it was asked for less than `checkMs` ago; undefined where it must be asked. */
  known(): DataVersion | undefined {
    if (this.#known === undefined) return undefined;
    const age = this.#now() - this.#knownAt;
    if (age >= this.#checkMs) return undefined;
    if (age >= this.#checkMs / 2 && this.#asking === undefined) void this.#begin();
    return this.#known;
  }

  /**
   * Asks for the version, or joins a question that began less than `checkMs` ago. Never rejects:
   * undefined means that the database cannot say. Once it could not, the question is asked again
   * behind the scenes, and nobody waits for it until it is answered.
   */
  ask(): Promise<DataVersion | undefined> {
    if (this.#failing) {
      if (this.#asking === undefined) void this.#begin();
      return Promise.resolve(undefined);
    }
    if (this.#askingNext !== undefined) return this.#askingNext;
    if (this.#asking === undefined) return this.#begin();
    if (this.#now() - this.#askedAt < this.#checkMs) return this.#asking;
    // It may have been answered before the write that this request must see: one more for all who
    // come until then.
    this.#askingNext = this.#asking.then(() => {
      this.#askingNext = undefined;
      return this.#begin();
    });
    return this.#askingNext;
  }

  #begin(): Promise<DataVersion | undefined> {
    this.#askedAt = this.#now();
    this.#asking = this.#read(this.#askedAt);
    return this.#asking;
  }

  async #read(askedAt: number): Promise<DataVersion | undefined> {
    try {
      const { rows } = await this.#db.query<DataVersion>(SELECT_VERSION);
      this.#known = rows[0];
      this.#knownAt = askedAt;
      this.#failing = false;
    } catch (error) {
      // Who asks the database next says that it cannot be reached.
      if (!this.#failing && databaseFailure(error) === undefined) this.#log(error);
      this.#failing = true;
      this.#known = undefined;
    }
    this.#asking = undefined;
    return this.#known;
  }
}
