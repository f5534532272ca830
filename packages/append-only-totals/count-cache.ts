// LRU cache of row counts, each with the id it counts up to, so that a later count adds only newer rows.
import { hash } from "node:crypto";

/** The number of matching rows up to an id: at the time of the count, the newest id of the table. */
export interface Checkpoint {
  upTo: bigint;
  count: number;
}

/** The counts of one set of rows. A checkpoint holds while its id exists and the epoch is the same. */
export interface CachedCount {
  epoch: string;
  /** Newest first. */
  checkpoints: readonly Checkpoint[];
}

/** The oldest checkpoint of each span of ids is kept, for when the newer ids are removed. */
const SPAN = 10_000n;
const MAX_CHECKPOINTS = 3;

/** Puts a checkpoint before the older ones, and drops those that are not needed. */
export function withCheckpoint(newest: Checkpoint, valid: readonly Checkpoint[]): Checkpoint[] {
  const spanOf = (one: Checkpoint | undefined): bigint | undefined => one && one.upTo / SPAN;
  const older = valid.filter(
    (one, n) => one.upTo < newest.upTo && spanOf(one) !== spanOf(valid[n + 1]),
  );
  return [newest, ...older].slice(0, MAX_CHECKPOINTS);
}

const MAX_COUNTS = 10_000;

/** Keeps the counts that were used last. Keys and entries have a bounded size whatever the client's arguments. */
export class CountCache {
  /** The one that was used last is the last one. */
  readonly #counts = new Map<string, CachedCount>();

  get(key: string): CachedCount | undefined {
    const found = this.#counts.get(key);
    if (found !== undefined) this.set(key, found);
    return found;
  }

  set(key: string, count: CachedCount): void {
    this.#counts.delete(key);
    this.#counts.set(key, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > MAX_COUNTS && oldest !== undefined) this.#counts.delete(oldest);
  }
}

/** Cache key. The order of an object's fields does not matter; null and absent differ. */
export function countKey(table: string, args: unknown): string {
  const text = JSON.stringify([table, args], (_name, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return hash("sha256", text, "base64");
}
