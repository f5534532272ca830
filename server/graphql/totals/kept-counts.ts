// Keeps what was counted, so that the next count of the same rows need only add what is newer.
import { hash } from "node:crypto";

/** How many rows there were up to an id that was the newest of the whole table, matching or not. */
export interface Mark {
  upTo: bigint;
  count: number;
}

/** What was counted of a set of rows in an epoch: a mark holds as long as the row of its id is there. */
export interface Kept {
  epoch: string;
  /** The newest first. */
  marks: readonly Mark[];
}

const MOST_KEPT = 10_000;
/** Of so many ids the oldest mark is kept, for when the newer ones are taken back. */
const SPAN = 10_000n;
const MOST_MARKS = 3;

/** The marks that a later count can go on from: the newest one, and those that stood before it. */
export function marksWith(mark: Mark, standing: readonly Mark[]): Mark[] {
  const spanOf = (one: Mark | undefined): bigint | undefined => one && one.upTo / SPAN;
  const older = standing.filter(
    (one, n) => one.upTo < mark.upTo && spanOf(one) !== spanOf(standing[n + 1]),
  );
  return [mark, ...older].slice(0, MOST_MARKS);
}

/** What is known of the sets of rows that were last asked for. */
export class KeptCounts {
  readonly #most: number;
  /** The least recently used first. */
  readonly #kept = new Map<string, Kept>();

  /** Keeps so many sets, of a fixed size each whatever a client's arguments are. */
  constructor(most = MOST_KEPT) {
    this.#most = most;
  }

  get size(): number {
    return this.#kept.size;
  }

  recall(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    if (kept !== undefined) this.keep(key, kept);
    return kept;
  }

  keep(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
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
