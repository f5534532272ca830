// Compares the last offer and the open ones with what the contract returns.
import { AT_ONCE, type AuditSubject } from "./audit.ts";
import { lastOfferOfKind, NotAudited, readState } from "./contract-state.ts";
import { Contradiction, type Ledger, type OpenOffer } from "./offers-left.ts";
import type { Reading } from "./chain-reading.ts";
import type { Recorded } from "./written-blocks.ts";

/** A round begins with the last offer, and goes through the offers that were open then, by their ids. */
export class OfferAudit implements AuditSubject<number> {
  readonly name = "The open offers";
  readonly #reading: Reading;
  readonly #ledger: Ledger;

  constructor(reading: Reading, ledger: Ledger) {
    this.#reading = reading;
    this.#ledger = ledger;
  }

  async begin(block: Recorded): Promise<number[]> {
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
    return [...this.#ledger.open.keys()];
  }

  async compare(ids: readonly number[], block: Recorded): Promise<void> {
    const offers = ids.flatMap((id) => this.#ledger.open.get(id) ?? []);
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
          const onChain =
            (await readState(this.#reading, block, state.offer(offer.id))) ??
            (state.revertsWhenOver === true ? { lotAmt: 0n, bidAmt: 0n } : undefined);
          if (onChain === undefined) {
            throw new NotAudited("the contract does not return its offers");
          }
          const { lotAmt = offer.lotAmt, bidAmt = offer.bidAmt } = onChain;
          if (lotAmt !== offer.lotAmt || bidAmt !== offer.bidAmt) {
            found.push({ offer, onChain: { lotAmt, bidAmt } });
          }
        }),
      );
    }
    return found;
  }
}
