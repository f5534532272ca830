// The head of the chain by its nodes, how much of the chain is final, and how often to ask.
import type { Header } from "./node-answers.ts";
import type { Reading } from "./chain-reading.ts";

/** The finality of a chain that names no finalized block. */
export const DEFAULT_FINALITY = 64;
const MIN_POLL_MS = 50;
export const MAX_POLL_MS = 1000;
/** Polls without a new block, of about eight in a block's time, before another node is asked. */
const MAX_IDLE_POLLS = 10;

export class ChainHead {
  readonly #reading: Reading;
  /** The highest block that a node has named. */
  latest: Header;
  /** What a node has answered last, which may be lower. */
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

  static async find(reading: Reading): Promise<ChainHead> {
    const head = new ChainHead(reading, await reading.source.latest());
    await head.#moved();
    return head;
  }

  /** Asks for the head again. */
  async learn(): Promise<void> {
    const { requests, source } = this.#reading;
    const before = this.latest;
    const latest = await source.latest();
    this.answered = latest;
    // A node may be behind where another is not.
    this.#idlePolls = latest.number > before.number ? 0 : this.#idlePolls + 1;
    if (this.#idlePolls > MAX_IDLE_POLLS) {
      this.#idlePolls = 0;
      requests.askElsewhere();
    }
    // Of another node, or late: what is known already stays so.
    if (latest.number < before.number) return;
    this.latest = latest;
    if (latest.number > before.number) {
      const spacing = (latest.time - before.time) / (latest.number - before.number);
      this.pollMs = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, spacing * 125));
    }
    if (before.hash !== latest.hash) await this.#moved();
  }

  async #moved(): Promise<void> {
    const { finality, source, onEvent } = this.#reading;
    const { number, time } = this.latest;
    onEvent?.({ event: "known", known: number, knownTime: time });
    const byDepth = number - (finality ?? DEFAULT_FINALITY);
    const finalized = finality === undefined ? await source.finalized() : undefined;
    const final = Math.min(finalized?.number ?? byDepth, number);
    if (final <= this.final) return;
    this.final = Math.max(this.final, final > byDepth ? await this.#agreed(final, byDepth) : final);
  }

  /** A second answer, of another node where there is one, must say it too: what is final once stays so. */
  async #agreed(final: number, byDepth: number): Promise<number> {
    const { requests, source } = this.#reading;
    const { current } = requests;
    requests.askElsewhere();
    const again = await source.finalized();
    while (requests.current !== current) requests.askElsewhere();
    return Math.max(byDepth, Math.min(final, again?.number ?? byDepth));
  }
}
