// Notices each change of the data while somebody follows them.
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../../db/connect.ts";
import { SELECT_VERSION, type DataVersion } from "../cache/data-version.ts";

export interface DataWatchOptions {
  db: Database;
  /** Milliseconds between two looks. */
  everyMs: number;
  /** Gets the first error of each outage. */
  log: (error: unknown) => void;
}

/** Called after each change, and at once after it has begun to follow; the next look waits for it. */
export type OnChange = () => Promise<void>;

/** Polls the version of the data: a standby has no LISTEN, and NOTIFY locks the whole database at commit. */
export class DataWatch {
  readonly #options: DataWatchOptions;
  readonly #followers = new Set<OnChange>();
  #looking: Promise<void> | undefined;
  #known: string | undefined;

  constructor(options: DataWatchOptions) {
    this.#options = options;
  }

  /** Returns the function that ends it. */
  follow(onChange: OnChange): () => void {
    this.#followers.add(onChange);
    this.#known = undefined;
    this.#looking ??= this.#look();
    return () => this.#followers.delete(onChange);
  }

  /** Ends all following, and waits for the look in flight. */
  async close(): Promise<void> {
    this.#followers.clear();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { db, everyMs, log } = this.#options;
    let isFailing = false;
    while (this.#followers.size > 0) {
      try {
        const { rows } = await db.query<DataVersion>(SELECT_VERSION);
        const text = rows[0]?.text;
        if (text !== this.#known) {
          this.#known = text;
          await Promise.all([...this.#followers].map((onChange) => onChange()));
        }
        isFailing = false;
      } catch (error) {
        this.#known = undefined;
        if (!isFailing) log(error);
        isFailing = true;
      }
      await sleep(everyMs, undefined, { ref: false });
    }
    this.#looking = undefined;
  }
}
