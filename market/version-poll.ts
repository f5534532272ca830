// Notices each change of the data while somebody follows them.
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../db/connect.ts";
import { SELECT_VERSION, type DataVersion } from "./data-version.ts";

export interface VersionPollOptions {
  db: Database;
  /** Asked where a look takes long: it waits for no follower. Default: `db`. */
  probe?: Database;
  /** Milliseconds between two looks. */
  everyMs: number;
  /** The data are lost when nothing was read for so long. */
  lostMs: number;
  /** Gets the first error of each outage. */
  log: (error: unknown) => void;
}

const PROBE_MS = 1000;

/** Called after each change, and at once after it has begun to follow; the next look waits for it. */
export type OnChange = () => Promise<void>;

/** Polls the version of the data: a standby has no LISTEN, and NOTIFY locks the whole database at commit. */
export class VersionPoll {
  readonly #options: VersionPollOptions;
  readonly #followers = new Set<OnChange>();
  readonly #onLost: (() => void)[] = [];
  #looking: Promise<void> | undefined;
  #known: string | undefined;
  #readAt = 0;
  #isLost = false;
  #isProbing = false;
  #isClosed = false;

  constructor(options: VersionPollOptions) {
    this.#options = options;
  }

  /** Whether those who follow the data would get nothing: another process may read them. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Called once in each outage, when the data are lost. */
  whenLost(onLost: () => void): void {
    this.#onLost.push(onLost);
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
    this.#isClosed = true;
    this.#followers.clear();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { db, everyMs, log } = this.#options;
    let isFailing = false;
    this.#readAt = performance.now();
    const probes = setInterval(() => void this.#probe(), PROBE_MS).unref();
    // Lost data are looked for also when no client follows them any more.
    while (this.#followers.size > 0 || (this.#isLost && !this.#isClosed)) {
      try {
        const { rows } = await db.query<DataVersion>(SELECT_VERSION);
        this.#noteRead();
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
        this.#noteFailure();
      }
      await sleep(everyMs, undefined, { ref: false });
    }
    clearInterval(probes);
    this.#looking = undefined;
  }

  /** A frozen database may hold up what a follower reads, and so the next look. */
  async #probe(): Promise<void> {
    const { db, probe = db } = this.#options;
    if (this.#isProbing || performance.now() - this.#readAt < PROBE_MS) return;
    this.#isProbing = true;
    try {
      await probe.query(SELECT_VERSION);
      this.#noteRead();
    } catch {
      this.#noteFailure();
    }
    this.#isProbing = false;
  }

  #noteRead(): void {
    this.#readAt = performance.now();
    this.#isLost = false;
  }

  #noteFailure(): void {
    if (this.#isLost || performance.now() - this.#readAt < this.#options.lostMs) return;
    this.#isLost = true;
    for (const onLost of this.#onLost) onLost();
  }
}
