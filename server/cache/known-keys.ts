// What was found out about requests before, in bounded memory: under which key a text was filed.

/** What a text and its key take beside their letters, by measurement roughly. */
const OVERHEAD_BYTES = 256;

/**
 * Keys by texts. It has two halves: what is asked for moves into the younger, and once that is full,
 * the older, with all that nobody has asked for since, goes.
 */
export class KnownKeys {
  readonly #halfBytes: number;
  #younger = new Map<string, string>();
  #older = new Map<string, string>();
  /** What the younger half takes. */
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#halfBytes = maxBytes / 2;
  }

  get(text: string): string | undefined {
    const key = this.#younger.get(text);
    if (key !== undefined) return key;
    const olderKey = this.#older.get(text);
    if (olderKey !== undefined) this.keep(text, olderKey);
    return olderKey;
  }

  /** Keeps a key, unless that takes more than half of the memory. */
  keep(text: string, key: string): void {
    // Two bytes a letter at most.
    const bytes = OVERHEAD_BYTES + 2 * (text.length + key.length);
    if (bytes > this.#halfBytes || this.#younger.has(text)) return;
    if (this.#bytes + bytes > this.#halfBytes) {
      this.#older = this.#younger;
      this.#younger = new Map();
      this.#bytes = 0;
    }
    this.#younger.set(text, key);
    this.#bytes += bytes;
  }
}
