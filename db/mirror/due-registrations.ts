// Decides when a mirror asks its origin what is registered.
import type { FactBlock } from "./block-page.ts";
import type { Origin } from "./origin.ts";
import { registrationsOf, type Registrations } from "./origin-registry.ts";

/** How often it is asked, beside where there are rows of a token that is not known. */
const INTERVAL_MS = 10_000;

export class DueRegistrations {
  readonly #origin: Origin;
  #askedAt = -Infinity;
  #found = "";
  /** Addresses in lower case that were registered, or not yet, when it was asked because of them. */
  readonly #tokens = new Set<string>();

  constructor(origin: Origin) {
    this.#origin = origin;
  }

  /** Undefined where they are those of the last answer, which are taken to be registered here. */
  async before(
    blocks: readonly FactBlock[],
    signal: AbortSignal,
  ): Promise<Registrations | undefined> {
    const now = performance.now();
    const tokens = tokensOf(blocks);
    const isKnown = tokens.every((token) => this.#tokens.has(token));
    if (isKnown && now - this.#askedAt < INTERVAL_MS) return undefined;
    const found = await registrationsOf(this.#origin, signal);
    this.#askedAt = now;
    const registered = found.tokens.map(({ address }) => address.toLowerCase());
    for (const token of [...tokens, ...registered]) this.#tokens.add(token);
    const text = JSON.stringify(found);
    if (text === this.#found) return undefined;
    this.#found = text;
    return found;
  }
}

const tokensOf = (blocks: readonly FactBlock[]): string[] =>
  blocks.flatMap(({ offers, trades, pools }) => [
    ...[...offers, ...trades].flatMap(({ lotGem, bidGem }) => [lotGem, bidGem]),
    ...pools.flatMap(({ gem0, gem1 }) => [gem0, gem1]),
  ]);
