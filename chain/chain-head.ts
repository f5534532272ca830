// The head of the chain by its nodes, how much of the chain is final, and how often to ask.
import type { Header } from "./node-answers.ts";
import type { Reading } from "./chain-reading.ts";
import { Unavailable } from "./requests.ts";

/** The finality of a chain that names no finalized block. */
export const DEFAULT_FINALITY = 64;
const MIN_POLL_MS = 50;
export const MAX_POLL_MS = 1000;
/** Polls without a new block, of about eight in a block's time, before another node is asked. */
const MAX_IDLE_POLLS = 10;

export class ChainHead {
  readonly #reading: Reading;
  /** The highest block that a node has named, and has. */
  latest: Header;
  /** What a node has answered last, which may be lower, or not be there. */
  answered: Header;
  /** The highest block that was ever called final. */
  final = -1;
  pollMs = MAX_POLL_MS / 4;
  #idlePolls = 0;

  private constructor(reading: Reading, latest: Header) {
    this.#reading = reading;
    this.latest = latest;
    this.answered = latest;
  }

  /** Without its hash, which one node alone has named: with a wrong one no state could be read. */
  get state(): { number: number; hash: null } {
    return { number: this.latest.number, hash: null };
  }

  static async find(reading: Reading): Promise<ChainHead> {
    const { requests, source } = reading;
    const latest = await source.latest();
    if ((await source.headerAt(latest.number)) === undefined) {
      requests.askElsewhere();
      throw new Unavailable(`the node does not have block ${latest.number}, which it named`);
    }
    const head = new ChainHead(reading, latest);
    await head.#moved();
    return head;
  }

  /** Asks for the head again. */
  async learn(): Promise<void> {
    const { requests, source } = this.#reading;
    const before = this.latest;
    const latest = await source.latest();
    this.answered = latest;
    const isHigher = latest.number > before.number && (await this.#isThere(latest));
    // A node may be behind where another is not.
    this.#idlePolls = isHigher ? 0 : this.#idlePolls + 1;
    if (this.#idlePolls > MAX_IDLE_POLLS) {
      this.#idlePolls = 0;
      requests.askElsewhere();
    }
    // Of another node, or late, or a wrong number: what is known already stays so.
    if (!isHigher && latest.number !== before.number) return;
    this.latest = latest;
    if (isHigher) {
      const spacing = (latest.time - before.time) / (latest.number - before.number);
      this.pollMs = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, spacing * 125));
    }
    if (before.hash !== latest.hash) await this.#moved();
  }

  /** A number that was once said is no height of the chain, from which the depth of what is final counts. */
  async #isThere({ number, parent }: Header): Promise<boolean> {
    if (parent === this.latest.hash && number === this.latest.number + 1) return true;
    return (await this.#reading.source.headerAt(number)) !== undefined;
  }

  async #moved(): Promise<void> {
    const { finality, onEvent } = this.#reading;
    const { number, time } = this.latest;
    onEvent?.({ event: "known", known: number, knownTime: time });
    const byDepth = number - (finality ?? DEFAULT_FINALITY);
    const final = finality === undefined ? await this.#finalized(byDepth) : byDepth;
    this.final = Math.max(this.final, Math.min(final, number));
  }

  /**
   * What the chain calls final, as far as two answers, of two nodes where there are two, say so: what is final once stays so.
   * The depth bounds it where one node is behind, and stands in for it where the chain has never named any.
   */
  async #finalized(byDepth: number): Promise<number> {
    const { requests, source } = this.#reading;
    const first = await source.finalized();
    if (first !== undefined && first.number <= this.final) return this.final;
    const { current } = requests;
    requests.askElsewhere();
    const second = await source.finalized();
    while (requests.current !== current) requests.askElsewhere();
    if (first === undefined && !source.namesFinalized) return byDepth;
    const lower = Math.min(byDepth, first?.number ?? byDepth);
    if (first !== undefined && second !== undefined && second.number >= lower) {
      return Math.min(first.number, second.number);
    }
    const again = first === undefined ? second : await source.finalized();
    return again === undefined ? this.final : Math.min(lower, again.number);
  }
}
