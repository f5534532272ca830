// Keeps what was counted, so that the next count of the same rows need only add what is newer.
import { hash } from "node:crypto";

/** How many rows there were up to an id, in an epoch within which these rows stay as they are. */
export interface KeptCount {
  count: number;
  /** The newest id of the whole table when it was counted, matching or not. */
  upTo: bigint;
  epoch: string;
}

const MOST_KEPT = 10_000;

/** What the newest statement about a set of rows has counted, for the sets that were last asked for. */
export class KeptCounts {
  readonly #most: number;
  /** The least recently used first. */
  readonly #kept = new Map<string, KeptCount>();

  /** Keeps so many counts, of a fixed size each whatever a client's arguments are. */
  constructor(most = MOST_KEPT) {
    this.#most = most;
  }

  get size(): number {
    return this.#kept.size;
  }

  recall(key: string): KeptCount | undefined {
    const kept = this.#kept.get(key);
    if (kept !== undefined) this.keep(key, kept);
    return kept;
  }

  keep(key: string, count: KeptCount): void {
    this.#kept.delete(key);
    this.#kept.set(key, count);
    if (this.#kept.size <= this.#most) return;
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined) this.#kept.delete(oldest);
  }
}

/**
 * The key of a table's rows under these arguments, as a client gave them. The order of an object's
 * fields says nothing; null and absent are not the same.
 */
export function keyOf(table: string, args: unknown): string {
  const text = JSON.stringify([table, args], (_name, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return hash("sha256", text, "base64");
}
