// What is left of each offer by the facts so far. A fact that contradicts it shows that an earlier log is missing.
import type { Fact } from "./facts.ts";

/** An offer that is neither filled nor cancelled. */
export interface OpenOffer {
  id: number;
  /** The block in which it was made. */
  block: number;
  /** What is left of both amounts, in the tokens' smallest units. */
  lotAmt: bigint;
  bidAmt: bigint;
}

/** What was read cannot all be right: a log is missing, at the earliest one of the block `since`. */
export class Contradiction extends Error {
  override readonly name = "Contradiction";
  readonly since: number;

  constructor(message: string, since: number) {
    super(message);
    this.since = since;
  }
}

export class Ledger {
  readonly #open = new Map<number, OpenOffer>();
  /** The last offer made, by which the next id is known; undefined where an earlier one may be unknown. */
  #made: { id: number; block: number } | undefined;
  /** The same with the facts that are added and not written yet. */
  #added: { id: number; block: number } | undefined;

  /** Begins anew with the open offers of the database, whose last block is `last`. */
  restart(open: readonly OpenOffer[], last: number): void {
    this.#open.clear();
    for (const offer of open) this.#open.set(offer.id, offer);
    if (this.#made !== undefined && this.#made.block > last) this.#made = undefined;
    this.#added = this.#made;
  }

  get lastMade(): { id: number; block: number } | undefined {
    return this.#made;
  }

  /** No offer up to this block has a higher id. */
  learnLastMade(id: number, block: number): void {
    this.#made = { id, block };
    this.#added = this.#made;
  }

  /** The database has what was added. */
  written(): void {
    this.#made = this.#added;
  }

  get open(): ReadonlyMap<number, OpenOffer> {
    return this.#open;
  }

  /**
   * Takes the facts of the blocks that follow. Offers that are not known are not checked. Throws a
   * `Contradiction`; it must be restarted then.
   */
  add(facts: readonly Fact[], idsAreConsecutive: boolean): void {
    for (const fact of facts) {
      switch (fact.kind) {
        case "offer": {
          const { id, block, lotAmt, bidAmt } = fact;
          if (idsAreConsecutive) this.#checkNext(id, block);
          this.#open.set(id, { id, block, lotAmt, bidAmt });
          break;
        }
        case "trade": {
          const offer = this.#open.get(fact.offerId);
          if (offer === undefined) break;
          const lotAmt = offer.lotAmt - fact.lotAmt;
          const bidAmt = offer.bidAmt - fact.bidAmt;
          if (lotAmt < 0n || bidAmt < 0n) {
            throw new Contradiction(
              `a trade in block ${fact.block} takes ${fact.lotAmt} of offer ${offer.id}, which has ${offer.lotAmt} left`,
              offer.block,
            );
          }
          if (lotAmt === 0n) this.#open.delete(offer.id);
          else this.#open.set(offer.id, { ...offer, lotAmt, bidAmt });
          break;
        }
        case "cancellation": {
          const offer = this.#open.get(fact.offerId);
          if (offer === undefined) break;
          if (offer.lotAmt !== fact.lotAmt || offer.bidAmt !== fact.bidAmt) {
            throw new Contradiction(
              `the cancellation of offer ${offer.id} in block ${fact.block} says that ${fact.lotAmt} for ${fact.bidAmt} was left, and by its trades it is ${offer.lotAmt} for ${offer.bidAmt}`,
              offer.block,
            );
          }
          this.#open.delete(offer.id);
          break;
        }
        case "market":
      }
    }
  }

  #checkNext(id: number, block: number): void {
    const made = this.#added;
    this.#added = { id, block };
    if (made === undefined || id === made.id + 1) return;
    throw new Contradiction(
      `offer ${id} of block ${block} follows offer ${made.id} of block ${made.block}: an offer between them is missing`,
      made.block,
    );
  }
}
