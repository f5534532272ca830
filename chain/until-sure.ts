// Asks again, and elsewhere, what cannot be right.
import { setTimeout as sleep } from "node:timers/promises";
import { IncompleteLogs } from "./exchange-facts.ts";
import { Halt } from "./halt.ts";
import { Refused, Unavailable, type Requests } from "./requests.ts";
import { NotWhole } from "./wholeness.ts";

export interface UntilSureOptions {
  requests: Requests;
  signal: AbortSignal;
  /** Wait before doubtful logs are asked again, in milliseconds; it doubles with each time. */
  doubtMs?: number | undefined;
  /** Receives what is believed although logs may be missing. */
  onDoubt?: ((reason: string) => void) | undefined;
}

/** The node does not have a block that it must have. */
export class NoBlock extends Unavailable {}

/** How often doubtful logs are asked of each node before the indexer stops. */
const ATTEMPTS = 6;
const DOUBT_MS = 100;
const MAX_DOUBT_MS = 5000;

export class UntilSure {
  readonly #options: UntilSureOptions;
  /** Whether a block's logs ever filled its header's bloom. */
  #servesWholeBlocks = false;
  /** Whether a block's logs were ever believed with others missing. */
  #servesParts = false;

  constructor(options: UntilSureOptions) {
    this.#options = options;
  }

  /** The logs of a block were whole. */
  sawWholeBlock(): void {
    this.#servesWholeBlocks = true;
  }

  /**
   * Halts where it stays doubtful, unless the nodes have never served a whole block: of a recording with the logs of
   * one contract alone, what is asked often enough is believed.
   */
  async ask<T>(what: string, ask: () => Promise<T>): Promise<T> {
    const { requests, signal, doubtMs = DOUBT_MS } = this.#options;
    let doubt: Error | undefined;
    let asked = requests.current;
    for (let attempt = 0; attempt < ATTEMPTS * requests.size; attempt += 1) {
      if (doubt !== undefined) {
        // Of two nodes the same one would be asked again, where the attempt itself has turned to the other.
        if (requests.current === asked) requests.askElsewhere();
        asked = requests.current;
        const wait = doubtMs * 2 ** Math.floor(attempt / requests.size);
        await sleep(Math.min(wait, MAX_DOUBT_MS), undefined, { signal });
      }
      try {
        return await ask();
      } catch (error) {
        const isDoubtful = [IncompleteLogs, Halt, Refused, NoBlock].some(
          (kind) => error instanceof kind,
        );
        if (!isDoubtful) throw error;
        doubt = error as Error;
        // Each node was asked, and they have said the same of an earlier block when they were asked often.
        if (this.#servesParts && doubt instanceof NotWhole && attempt + 1 >= requests.size) break;
      }
    }
    if (doubt instanceof Halt) throw doubt;
    // A node that does not have the block yet says so, or refuses: that is waited for.
    if (!(doubt instanceof IncompleteLogs)) throw new Unavailable(doubt?.message);
    if (doubt instanceof NotWhole && !this.#servesWholeBlocks) {
      this.#servesParts = true;
      this.#options.onDoubt?.(`${what} are believed, but may not be whole: ${doubt.message}`);
      return doubt.block as T;
    }
    throw new Halt(`${what} are not whole, also when asked again: ${doubt.message}.`);
  }
}
