// Checks the facts of one contract by what is left of each of its offers, and by its own state.
import { setTimeout as sleep } from "node:timers/promises";
import type { Header } from "./node-answers.ts";
import { Audit, type AuditSubject, type Doubt } from "./audit.ts";
import { lastOfferOfKind, NotAudited, readState, returnsOffers } from "./contract-state.ts";
import type { Fact } from "./exchange-facts.ts";
import { Contradiction, contradictionOf, Ledger, type Made } from "./offers-left.ts";
import { ownIdOf } from "./offer-refs.ts";
import type { Reading } from "./chain-reading.ts";
import { FIRST_BLOCK_SETTING } from "./contracts.ts";
import { blocksOf, openOffers, type Recorded } from "./written-blocks.ts";
import type { Recording } from "./recording.ts";

/** How often the last offer of an old block is asked: a node need not keep its state. */
const ATTEMPTS = 4;
const FIRST_RETRY_MS = 250;

/** Over all sessions, so that a connection that is lost makes nothing believed. */
export class BookCheck {
  readonly keepsIds: boolean;
  readonly #reading: Reading;
  readonly #ledger = new Ledger();
  readonly #audit: Audit<number>;
  /** The hash of the block up to which the ledger has what the database has. */
  #written: string | null | undefined;
  /** Whether the contract returns its offers; undefined before it has answered. */
  #isOfKind: boolean | undefined;
  /** Whether the first fact is yet to show that there are older offers, since the contract did not say so. */
  #awaitsFirst = false;
  #isLateSaid = false;
  /** The final block up to which it agreed with the contract's state, as far as the database goes. */
  #auditedTo = -1;

  /** `reading` has this contract as its exchange. */
  constructor(reading: Reading, keepsIds: boolean) {
    this.#reading = reading;
    this.keepsIds = keepsIds;
    this.#audit = new Audit(reading, new OfferAudit(reading, this.#ledger));
  }

  get exchange(): string {
    return this.#reading.exchange;
  }

  /** The final block up to which it is certain; undefined where its state is never compared. */
  get auditedTo(): number | undefined {
    return this.#isOfKind === true ? this.#auditedTo : undefined;
  }

  /** Whether it is yet to be learned if the contract returns its offers, and it may be made by this block. */
  isUnknownAt(block: number): boolean {
    return this.#isOfKind === undefined && block >= this.#reading.fromBlock;
  }

  /** Whether its state in this block, the last of the database, can be compared. */
  isComparedAt(block: number): boolean {
    return this.#isOfKind === true && block >= this.#reading.fromBlock;
  }

  /** Learns whether the contract returns its offers. Halts where the address is of no contract. */
  async learnKind(latest: number): Promise<void> {
    if (this.#isOfKind !== undefined) return;
    this.#isOfKind = await returnsOffers(this.#reading, latest);
    if (this.#isOfKind) this.auditAgain();
    else {
      const { exchange, decoder, onEvent } = this.#reading;
      const lack =
        decoder.state === undefined
          ? `The kind ${decoder.kind} does not say what ${exchange} returns`
          : `The contract ${exchange} does not return its last offer in block ${latest}`;
      onEvent?.({ event: "doubt", reason: `${lack}: its logs are not compared with its state` });
    }
  }

  /**
   * Begins anew with what the database has. It does not have all offers, and cannot know which is the last: that is
   * given, or known from before, or asked of the contract.
   */
  async restart(recording: Recording, last: Recorded | undefined, given?: Made): Promise<void> {
    const { fromBlock } = this.#reading;
    // A connection that was lost may have committed more than was confirmed.
    const known = this.#written === last?.hash ? this.#ledger.lastMade : undefined;
    let made = given ?? known;
    if (made === undefined && this.#isOfKind === true) {
      const start = { number: Math.max(0, fromBlock - 1), hash: null };
      const block = last === undefined || last.number < start.number ? start : last;
      const id = await this.#lastOfferAt(block);
      if (id !== undefined) made = { id, block: Math.max(block.number, fromBlock) };
    }
    const begins = last === undefined || last.number < fromBlock;
    this.#awaitsFirst = begins && made === undefined;
    if (begins && made !== undefined && fromBlock > 0) this.#sayLate(made.id);
    this.#ledger.restart(await openOffers(recording.client, this), made);
    this.#written = last?.hash;
    this.#auditedTo = Math.min(this.#auditedTo, last?.number ?? -1);
    if (this.#audit.isDue) this.auditAgain(true);
  }

  /** Undefined where no node has the state: the next audit compares it all the same. */
  async #lastOfferAt(block: { number: number; hash: string | null }): Promise<number | undefined> {
    const { signal, backoffMs = FIRST_RETRY_MS, onEvent } = this.#reading;
    let reason = "";
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (attempt > 0) await sleep(backoffMs * 2 ** attempt, undefined, { signal });
      try {
        return await lastOfferOfKind(this.#reading, block);
      } catch (error) {
        if (!(error instanceof NotAudited)) throw error;
        reason = error.message;
      }
    }
    onEvent?.({
      event: "doubt",
      reason: `The last offer up to block ${block.number} is not known: ${reason}`,
    });
    return undefined;
  }

  /**
   * The last offer made, once these facts replace those of the blocks after `ancestor`; undefined where that is not
   * known. Throws a `Contradiction` where an offer is missing.
   */
  lastMadeBy(branch: readonly Fact[], ancestor: number): Made | undefined {
    if (this.#isOfKind !== true || !this.#reading.decoder.idsAreConsecutive) return undefined;
    return this.#ledger.lastMadeBy(branch, ancestor);
  }

  /** Throws a `Contradiction` where facts of the blocks that follow cannot be, by those before them. */
  async check({ client }: Recording, facts: readonly Fact[]): Promise<void> {
    if (this.#awaitsFirst) this.#checkFirst(facts);
    if (this.#isOfKind !== true) return;
    const strays = this.#ledger.add(facts, this.#reading.decoder.idsAreConsecutive);
    if (strays.length === 0) return;
    const ids = strays.map(({ offerId }) => offerId);
    const blocks = await blocksOf(client, this, ids);
    for (const stray of strays) {
      const made = blocks.get(stray.offerId);
      if (made !== undefined) throw contradictionOf(stray, made);
    }
  }

  /** The first offer of an exchange that counts them is 1. */
  #checkFirst(facts: readonly Fact[]): void {
    const id = facts.map(lastBefore).find((one) => one !== null);
    if (id === undefined) return;
    this.#awaitsFirst = false;
    if (!this.#reading.decoder.idsAreConsecutive) return;
    this.#sayLate(id);
  }

  /** Says once that the exchange has made offers up to this one before the first block. */
  #sayLate(id: number): void {
    const { exchange, fromBlock, onEvent } = this.#reading;
    if (id < 1 || this.#isLateSaid) return;
    this.#isLateSaid = true;
    const reason = `Offers that ${exchange} made before its first block, ${fromBlock} (${FIRST_BLOCK_SETTING}), are left out, among them offer ${id}: they are missing in the book, and their trades are written without an offer. For all of them, index into a new database from the block in which the contract was made.`;
    onEvent?.({ event: "leftOut", reason });
  }

  /** The database has what was checked, up to the block `last`. */
  written(last: Header): void {
    this.#ledger.written();
    this.#written = last.hash;
  }

  /** An audit is due: of all offers before the next block is written, or of some with each block. */
  auditAgain(isWhole = false): void {
    if (this.#isOfKind !== false) this.#audit.again(isWhole);
  }

  /** Compares open offers with the contract's state in the block `last`, where an audit is due. */
  async audit(recording: Recording, last: Recorded): Promise<void> {
    if (!this.isComparedAt(last.number)) return;
    const to = await this.#audit.next(recording.checked.rangedTo, last);
    this.#auditedTo = Math.max(this.#auditedTo, to);
  }

  /** Compares all of them now. Throws a `Contradiction`, or `NotAudited`. */
  compareAll(last: Recorded): Promise<void> {
    return this.#audit.compareAll(last);
  }
}

/** The last offer that was made before this fact, as far as it shows; null where it is of none. */
function lastBefore(fact: Fact): number | null {
  const id = ownIdOf(fact);
  return fact.kind === "offer" && id !== null ? id - 1 : id;
}

/** A round begins with the last offer, and goes through the offers that were open then, by their ids. */
class OfferAudit implements AuditSubject<number> {
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

  /** The offers of which the contract has another amount left. */
  async doubts(ids: readonly number[], block: Recorded): Promise<Doubt<number>[]> {
    const { state } = this.#reading.decoder;
    if (state === undefined) return [];
    const found: Doubt<number>[] = [];
    await Promise.all(
      ids.map(async (id) => {
        const offer = this.#ledger.open.get(id);
        if (offer === undefined) return;
        const onChain =
          (await readState(this.#reading, block, state.offer(id))) ??
          (state.revertsWhenOver === true ? { lotAmt: 0n, bidAmt: 0n } : undefined);
        if (onChain === undefined) throw new NotAudited("the contract does not return its offers");
        const { lotAmt = offer.lotAmt, bidAmt = offer.bidAmt } = onChain;
        if (lotAmt === offer.lotAmt && bidAmt === offer.bidAmt) return;
        const reason = `offer ${id} has ${offer.lotAmt} for ${offer.bidAmt} left by the logs up to block ${block.number}, and ${lotAmt} for ${bidAmt} by the contract`;
        found.push({ key: id, reason: new Contradiction(reason, offer.block) });
      }),
    );
    return found;
  }
}
