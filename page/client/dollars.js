// The volumes of 24 hours in dollars, by the tokens that the operator calls dollars. Read again as heads come.
import { withoutZeros } from "./decimal.js";
import { ask } from "./read-service.js";

/**
 * @typedef {{ volumeInUsd: string | null, through: string | null }} Dollars
 * @typedef {{ key: string, dollars?: Dollars | undefined }} Valued
 */

const EVERY_MS = 3000;

export const QUERY = `query ($usdTokens: [String]) {
  dexUsdVolume(usdTokens: $usdTokens) {
    nodes { pair volumeInUsd through }
  }
}`;

export class UsdVolumes {
  /** @type {Map<string, Dollars>} */
  #known = new Map();
  #tokens;
  #whenRead;
  #isReading = false;
  #isDue = false;
  /** Grows where what was asked before may be void. */
  #generation = 0;
  /** Whether they were read once, or refused. */
  isRead = false;

  /** @param {readonly string[]} tokens @param {() => void} whenRead */
  constructor(tokens, whenRead) {
    this.#tokens = tokens;
    this.#whenRead = whenRead;
    this.isRead = tokens.length === 0;
  }

  /** @param {string} key */
  of(key) {
    return this.#known.get(key);
  }

  clear() {
    this.#generation += 1;
    this.#known.clear();
  }

  /** At each head, which may be several a second. */
  async readAgain() {
    this.#isDue = this.#tokens.length > 0;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isDue) {
      this.#isDue = false;
      await this.#read();
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    this.#isReading = false;
  }

  async #read() {
    const generation = this.#generation;
    /** @type {{ dexUsdVolume: { nodes: (Dollars & { pair: string })[] } } | undefined} */
    const found = await ask(
      QUERY,
      { usdTokens: this.#tokens },
      () => this.#generation === generation,
    );
    if (this.#generation !== generation) {
      this.#isDue = true;
      return;
    }
    for (const { pair, volumeInUsd, through } of found?.dexUsdVolume.nodes ?? []) {
      const volume = volumeInUsd && withoutZeros(volumeInUsd);
      const known = this.#known.get(pair);
      // Unchanged, it stays the same object, and its row is not made again.
      if (known?.volumeInUsd === volume && known.through === through) continue;
      this.#known.set(pair, { volumeInUsd: volume, through });
    }
    this.isRead = true;
    this.#whenRead();
  }
}
