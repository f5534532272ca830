// Compares the open offers with the contract's own state, in rounds: what a lost log would have changed differs there.
import { lastOfferOfKind, NotAudited, readState } from "./contract-state.ts";
import { Contradiction, type Ledger, type OpenOffer } from "./ledger.ts";
import type { Reading } from "./reading.ts";
import type { Recorded } from "./recorded.ts";
import { Repeating } from "./repeating.ts";

/** It begins with the last offer, and goes through the offers that were open then. */
interface Round {
  /** The block at which it began; undefined before that. */
  began: number | undefined;
  left: number[];
  /** Whether all offers are compared before the next block is written. */
  isWhole: boolean;
}

/** How many offers are asked at once. */
const AT_ONCE = 50;
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 60_000;

export class Audit {
  readonly #reading: Reading;
  readonly #ledger: Ledger;
  readonly #unanswered: Repeating;
  /** The round that is due. */
  #round: Round | undefined;
  /** When a round that was not answered is tried again, and how long the wait was. */
  #retryAt = 0;
  #retryMs = 0;

  constructor(reading: Reading, ledger: Ledger) {
    this.#reading = reading;
    this.#ledger = ledger;
    this.#unanswered = new Repeating(reading.repeatMs);
  }

  get isDue(): boolean {
    return this.#round !== undefined;
  }

  /** A round is due: of all offers before the next block is written, or of some with each block. */
  again(isWhole: boolean): void {
    if (!this.isDue) this.#reading.onEvent?.({ event: "audit", isDue: true });
    this.#round = { began: undefined, left: [], isWhole: isWhole || this.#round?.isWhole === true };
  }

  /**
   * Compares offers with the state in the block `last`, where that is due. Resolves to the block up to which a round that
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
      const reason = `The open offers are not compared with the contract's state yet: ${error.message}`;
      if (this.#unanswered.isDue(reason)) onEvent?.({ event: "doubt", reason });
      return -1;
    }
    this.#retryMs = 0;
    this.#unanswered.end();
    if (round.left.length > 0 || round !== this.#round) return -1;
    this.#round = undefined;
    onEvent?.({ event: "audit", isDue: false });
    return Math.min(round.began ?? last.number, rangedTo);
  }

  /** Compares all open offers now. Throws a `Contradiction`, or `NotAudited`. */
  compareAll(last: Recorded): Promise<void> {
    return this.#compare({ began: undefined, left: [], isWhole: true }, last);
  }

  async #compare(round: Round, block: Recorded): Promise<void> {
    if (round.began === undefined) {
      await this.#compareLastOffer(block);
      round.began = block.number;
      round.left = [...this.#ledger.open.keys()];
    }
    const count = round.isWhole ? round.left.length : AT_ONCE;
    const ids = round.left.slice(0, count);
    await this.#compareOffers(
      ids.flatMap((id) => this.#ledger.open.get(id) ?? []),
      block,
    );
    round.left = round.left.slice(count);
  }

  async #compareLastOffer(block: Recorded): Promise<void> {
    const id = await lastOfferOfKind(this.#reading, block);
    if (id === undefined) throw new NotAudited("the contract does not return its last offer");
    const { lastMade } = this.#ledger;
    if (lastMade !== undefined && id !== lastMade.id) {
      // One node's word is not enough to doubt what was read.
      this.#reading.requests.askElsewhere();
      const again = await lastOfferOfKind(this.#reading, block);
      if (again !== undefined && again !== lastMade.id) {
        throw new Contradiction(
          `the last offer is ${lastMade.id} by the logs up to block ${block.number}, and ${again} by the contract`,
          lastMade.block,
        );
      }
    }
    this.#ledger.learnLastMade(lastMade?.id ?? id, block.number);
  }

  async #compareOffers(offers: readonly OpenOffer[], block: Recorded): Promise<void> {
    const doubtful = await this.#differences(offers, block);
    if (doubtful.length === 0) return;
    this.#reading.requests.askElsewhere();
    const again = doubtful.map(({ offer }) => offer);
    const [found] = await this.#differences(again, block);
    if (found === undefined) return;
    const { offer, onChain } = found;
    throw new Contradiction(
      `offer ${offer.id} has ${offer.lotAmt} for ${offer.bidAmt} left by the logs up to block ${block.number}, and ${onChain.lotAmt} for ${onChain.bidAmt} by the contract`,
      offer.block,
    );
  }

  /** The offers of which the contract has another amount left. */
  async #differences(offers: readonly OpenOffer[], block: Recorded) {
    const { state } = this.#reading.decoder;
    const found: { offer: OpenOffer; onChain: Pick<OpenOffer, "lotAmt" | "bidAmt"> }[] = [];
    for (let at = 0; at < offers.length && state !== undefined; at += AT_ONCE) {
      await Promise.all(
        offers.slice(at, at + AT_ONCE).map(async (offer) => {
          const onChain = await readState(this.#reading, block, state.offer(offer.id));
          if (onChain === undefined) {
            throw new NotAudited("the contract does not return its offers");
          }
          const { lotAmt, bidAmt } = offer;
          if (lotAmt !== onChain.lotAmt || bidAmt !== onChain.bidAmt)
            found.push({ offer, onChain });
        }),
      );
    }
    return found;
  }
}
