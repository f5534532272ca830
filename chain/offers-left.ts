// What is left of each offer by the facts so far. A fact that contradicts it shows that an earlier log is missing.
import type { CancellationFact, Fact, TradeFact } from "./exchange-facts.ts";

/** An offer that is neither filled nor cancelled. */
export interface OpenOffer {
  id: number;
  /** The block in which it was made. */
  block: number;
  /** What is left of both amounts, in the tokens' smallest units. */
  lotAmt: bigint;
  bidAmt: bigint;
}

/** An offer, and the block in which it was made. */
export type Made = Pick<OpenOffer, "id" | "block">;

/** What was read cannot all be right: a log is missing, at the earliest one of the block `since`. */
export class Contradiction extends Error {
  override readonly name = "Contradiction";
  readonly since: number;
  /** By which it is known to be the same as an earlier one. */
  readonly key: string;

  constructor(message: string, since: number, key = message) {
    super(message);
    this.since = since;
    this.key = key;
  }
}

/** A trade or the cancellation of an offer that is not open. */
export type Stray = (TradeFact & { offerId: number }) | CancellationFact;

/** A stray fact of an offer that was made in the block `made`. */
export const contradictionOf = ({ kind, block, offerId }: Stray, made: number): Contradiction =>
  new Contradiction(
    `a ${kind} in block ${block} is of offer ${offerId}, which is filled or cancelled before`,
    made,
  );

export class Ledger {
  readonly #open = new Map<number, OpenOffer>();
  /** The block of each offer that is filled or cancelled by facts that are not written yet. */
  readonly #over = new Map<number, number>();
  /** The last offer made, by which the next id is known; undefined where an earlier one may be unknown. */
  #made: Made | undefined;
  /** The same with the facts that are added and not written yet. */
  #added: Made | undefined;

  /** Begins anew with the open offers of the database, and the last offer made, where that is known. */
  restart(open: readonly OpenOffer[], made: Made | undefined): void {
    this.#open.clear();
    this.#over.clear();
    for (const offer of open) this.#open.set(offer.id, offer);
    this.#made = made;
    this.#added = made;
  }

  get lastMade(): Made | undefined {
    return this.#made;
  }

  /** No offer up to this block has a higher id. */
  learnLastMade(id: number, block: number): void {
    this.#made = { id, block };
    this.#added = this.#made;
  }

  /**
   * The last offer made, where these facts replace those of the blocks after `ancestor`; undefined where that is not
   * known. Throws a `Contradiction` where an offer before them, or between them, is missing.
   */
  lastMadeBy(branch: readonly Fact[], ancestor: number): Made | undefined {
    let made = this.#made !== undefined && this.#made.block <= ancestor ? this.#made : undefined;
    for (const fact of branch) {
      if (fact.kind === "offer" && fact.isAgain !== true) made = following(made, fact);
    }
    return made;
  }

  /** The database has what was added. */
  written(): void {
    this.#made = this.#added;
    this.#over.clear();
  }

  get open(): ReadonlyMap<number, OpenOffer> {
    return this.#open;
  }

  /**
   * Takes the facts of the blocks that follow. Gives those of offers that are not open: if the database has the
   * offer, it is over. Throws a `Contradiction`; it must be restarted then.
   */
  add(facts: readonly Fact[], idsAreConsecutive: boolean): Stray[] {
    const strays: Stray[] = [];
    for (const fact of facts) {
      switch (fact.kind) {
        case "offer": {
          const { id, block, lotAmt, bidAmt } = fact;
          if (idsAreConsecutive && fact.isAgain !== true) {
            this.#added = following(this.#added, fact);
          }
          this.#over.delete(id);
          this.#open.set(id, { id, block, lotAmt, bidAmt });
          break;
        }
        case "trade": {
          const offer = this.#openOf(fact, strays);
          if (offer === undefined) break;
          const lotAmt = offer.lotAmt - fact.lotAmt;
          const bidAmt = offer.bidAmt - fact.bidAmt;
          if (lotAmt < 0n || (bidAmt < 0n && fact.isRounded !== true)) {
            throw new Contradiction(
              `a trade in block ${fact.block} takes ${fact.lotAmt} of offer ${offer.id}, which has ${offer.lotAmt} left`,
              offer.block,
            );
          }
          if (lotAmt === 0n) this.#close(offer);
          else this.#open.set(offer.id, { ...offer, lotAmt, bidAmt });
          break;
        }
        case "cancellation": {
          const offer = this.#openOf(fact, strays);
          if (offer === undefined) break;
          if (offer.lotAmt !== fact.lotAmt || offer.bidAmt !== fact.bidAmt) {
            throw new Contradiction(
              `the cancellation of offer ${offer.id} in block ${fact.block} says that ${fact.lotAmt} for ${fact.bidAmt} was left, and by its trades it is ${offer.lotAmt} for ${offer.bidAmt}`,
              offer.block,
            );
          }
          this.#close(offer);
          break;
        }
        case "market":
      }
    }
    return strays;
  }

  #openOf(fact: TradeFact | CancellationFact, strays: Stray[]): OpenOffer | undefined {
    const { offerId } = fact;
    if (offerId === null) return undefined;
    const offer = this.#open.get(offerId);
    const made = this.#over.get(offerId);
    if (made !== undefined) throw contradictionOf({ ...fact, offerId }, made);
    if (offer === undefined) strays.push({ ...fact, offerId });
    return offer;
  }

  #close({ id, block }: OpenOffer): void {
    this.#open.delete(id);
    this.#over.set(id, block);
  }
}

/** The offer made after `made`. Throws a `Contradiction` where its id is not the next. */
function following(made: Made | undefined, { id, block }: Made): Made {
  if (made === undefined || id === made.id + 1) return { id, block };
  throw new Contradiction(
    `offer ${id} of block ${block} follows offer ${made.id} of block ${made.block}: an offer between them is missing`,
    made.block,
  );
}
