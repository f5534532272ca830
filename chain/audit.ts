// Compares what is kept of contracts with their own state, in rounds: what a lost log would have changed differs there.
import { NotAudited } from "./contract-state.ts";
import type { Reading } from "./chain-reading.ts";
import type { Contradiction } from "./offers-left.ts";
import type { Recorded } from "./written-blocks.ts";
import { Repeating } from "./repeating.ts";

/** What is compared. */
export interface AuditSubject<Key> {
  /** As a message begins: "The open offers". */
  readonly name: string;
  /** How many are compared at most before the next block is written; undefined for all. */
  readonly most?: number;
  /** What a round goes through that begins with this block. Throws a `Contradiction`, or `NotAudited`. */
  begin(block: Recorded): Promise<Key[]>;
  /** Which of these, at most `AT_ONCE`, are not as the state in this block has them. Throws `NotAudited`. */
  doubts(keys: readonly Key[], block: Recorded): Promise<Doubt<Key>[]>;
}

/** What is another by the logs than by the contract. */
export interface Doubt<Key> {
  key: Key;
  reason: Contradiction;
}

interface Round<Key> {
  /** The block at which it began; undefined before that. */
  began: number | undefined;
  left: Key[];
  /** Whether all are compared before the next block is written. */
  isWhole: boolean;
}

/** How many are asked at once. */
const AT_ONCE = 50;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 60_000;

export class Audit<Key> {
  readonly #reading: Reading;
  readonly #subject: AuditSubject<Key>;
  readonly #unanswered: Repeating;
  /** The round that is due. */
  #round: Round<Key> | undefined;
  /** Whether a further one is due when it ends: where it began anew with each request, it might never end. */
  #isAnotherDue = false;
  /** When a round that was not answered is tried again, and how long the wait was. */
  #retryAt = 0;
  #retryMs = 0;

  constructor(reading: Reading, subject: AuditSubject<Key>) {
    this.#reading = reading;
    this.#subject = subject;
    this.#unanswered = new Repeating(reading.repeatMs);
  }

  get isDue(): boolean {
    return this.#round !== undefined;
  }

  /** A round is due: of all before the next block is written, or of some with each block. */
  again(isWhole: boolean): void {
    this.#isAnotherDue = !isWhole && this.#round?.began !== undefined;
    if (this.#isAnotherDue) return;
    if (!this.isDue) this.#reading.onEvent?.({ event: "audit", isDue: true });
    this.#round = { began: undefined, left: [], isWhole: isWhole || this.#round?.isWhole === true };
  }

  /**
   * Compares with the state in the block `last`, where that is due. Resolves to the block up to which a round that
   * ends shows that all is right, none above `rangedTo`. Throws a `Contradiction`.
   */
  async next(rangedTo: number, last: Recorded): Promise<number> {
    const { source, onEvent, backoffMs = FIRST_RETRY_MS, repeatMs = MAX_RETRY_MS } = this.#reading;
    const round = this.#round;
    const now = performance.now();
    if (round === undefined || now < this.#retryAt) return -1;
    try {
      await this.#compare(round, last);
    } catch (error) {
      if (!(error instanceof NotAudited)) throw error;
      this.#retryMs = Math.min(repeatMs, Math.max(backoffMs, 2 * this.#retryMs));
      this.#retryAt = now + this.#retryMs;
      round.began = undefined;
      // Of another branch: that is seen next.
      if ((await source.headerAt(last.number))?.hash !== last.hash) return -1;
      const reason = `${this.#subject.name} are not compared with the contract's state yet: ${error.message}`;
      if (this.#unanswered.isDue(reason)) onEvent?.({ event: "doubt", reason });
      return -1;
    }
    this.#retryMs = 0;
    this.#unanswered.end();
    if (round.left.length > 0 || round !== this.#round) return -1;
    this.#round = undefined;
    if (this.#isAnotherDue) this.again(false);
    else onEvent?.({ event: "audit", isDue: false });
    return Math.min(round.began ?? last.number, rangedTo);
  }

  /** Compares all now. Throws a `Contradiction`, or `NotAudited`. */
  compareAll(last: Recorded): Promise<void> {
    return this.#compare({ began: undefined, left: [], isWhole: true }, last);
  }

  async #compare(round: Round<Key>, block: Recorded): Promise<void> {
    if (round.began === undefined) {
      round.left = await this.#subject.begin(block);
      round.began = block.number;
    }
    const count = round.isWhole ? (this.#subject.most ?? round.left.length) : AT_ONCE;
    const doubts = await this.#doubts(round.left.slice(0, count), block);
    if (doubts.length > 0) {
      // One node's word is not enough to doubt what was read.
      this.#reading.requests.askElsewhere();
      const again = doubts.map(({ key }) => key);
      const [found] = await this.#doubts(again, block);
      if (found !== undefined) throw found.reason;
    }
    round.left = round.left.slice(count);
  }

  async #doubts(keys: readonly Key[], block: Recorded): Promise<Doubt<Key>[]> {
    const found: Doubt<Key>[] = [];
    for (let at = 0; at < keys.length; at += AT_ONCE) {
      found.push(...(await this.#subject.doubts(keys.slice(at, at + AT_ONCE), block)));
    }
    return found;
  }
}
