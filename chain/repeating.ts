// Says what stays so at once, and then once a minute.

const REPEAT_MS = 60_000;

export class Repeating {
  readonly #everyMs: number;
  #said: string | undefined;
  #at = 0;

  constructor(everyMs = REPEAT_MS) {
    this.#everyMs = everyMs;
  }

  /** Whether to say this now. */
  isDue(what: string): boolean {
    const now = performance.now();
    if (what === this.#said && now - this.#at < this.#everyMs) return false;
    this.#said = what;
    this.#at = now;
    return true;
  }

  /** It is over. Returns whether anything was said. */
  end(): boolean {
    const wasSaid = this.#said !== undefined;
    this.#said = undefined;
    return wasSaid;
  }
}
