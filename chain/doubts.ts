// What makes the indexer doubt its nodes: the contract's kind and state, what is left of offers, rows of another exchange.
import type { Header } from "./answers.ts";
import { audit, lastOfferAt, NotAudited } from "./audit.ts";
import type { Decoder, Fact } from "./facts.ts";
import { Halt } from "./halt.ts";
import { contradictionOf, Ledger, type Contradiction, type Made } from "./ledger.ts";
import type { Recorded, Recording } from "./recording.ts";
import type { Requests } from "./requests.ts";
import type { ChainSource } from "./source.ts";

export interface DoubtsOptions {
  requests: Requests;
  source: ChainSource;
  exchange: string;
  decoder: Decoder;
  /** The first block of an empty database. */
  fromBlock: number;
  onEvent: (event: { event: "doubt" | "failure"; reason: string }) => void;
}

/** Over all sessions, so that a connection that is lost makes nothing believed. */
export class Doubts {
  readonly #options: DoubtsOptions;
  readonly #ledger = new Ledger();
  /** The hash of the block up to which the ledger has what the database has. */
  #written: string | null | undefined;
  /** How often each contradiction came up. */
  readonly #times = new Map<string, number>();
  /** Whether the open offers were compared with the contract's state after the last backfill. */
  #isAudited = false;
  /** Only a contract that tells its last offer counts its offers, and says what is left of one that is cancelled. */
  #isOfKind = false;
  #isToldOfKind = false;

  constructor(options: DoubtsOptions) {
    this.#options = options;
  }

  /** Halts where the newest rows of the database are of another exchange. Learns the kind of the contract. */
  async begin(recording: Recording, latest: number): Promise<void> {
    await this.#learnKind(latest);
    await this.#checkExchange(recording);
  }

  async #learnKind(latest: number): Promise<void> {
    const { exchange, onEvent } = this.#options;
    const id = await lastOfferAt(this.#options, { number: latest, hash: null });
    this.#isOfKind = id !== undefined;
    if (this.#isOfKind || this.#isToldOfKind) return;
    this.#isToldOfKind = true;
    onEvent({
      event: "doubt",
      reason: `The contract ${exchange} does not tell its last offer in block ${latest}: its logs are not compared with its state`,
    });
  }

  async #checkExchange(recording: Recording): Promise<void> {
    const { source, exchange } = this.#options;
    const newest = await recording.newestRow();
    if (newest === undefined) return;
    const header = await source.headerAt(newest.block);
    // Of another branch, or not known there: that is seen later.
    if (header?.hash !== newest.hash) return;
    const facts = await source.factsOf(header);
    if (facts.some(({ tx }) => tx === newest.tx)) return;
    throw new Halt(
      `The database has rows of another exchange: ${exchange} has no log in the transaction ${newest.tx} of block ${newest.block}.`,
    );
  }

  /**
   * Begins anew with what the database has. It does not have all offers, and cannot tell which is the last: that is
   * given, or known from before, or asked of the contract.
   */
  async restart(recording: Recording, last: Recorded | undefined, given?: Made): Promise<void> {
    const { fromBlock } = this.#options;
    // A connection that was lost may have committed more than was confirmed.
    const known = this.#written === last?.hash ? this.#ledger.lastMade : undefined;
    let made = given ?? known;
    if (made === undefined && this.#isOfKind) {
      const block = last ?? { number: Math.max(0, fromBlock - 1), hash: null };
      const id = await lastOfferAt(this.#options, block, 0);
      if (id !== undefined) made = { id, block: Math.max(block.number, fromBlock) };
    }
    this.#ledger.restart(await recording.openOffers(), made);
    this.#written = last?.hash;
  }

  /**
   * The last offer made, once these facts replace those of the blocks after `ancestor`; undefined where that is not
   * known. Throws a `Contradiction` where an offer is missing.
   */
  lastMadeBy(branch: readonly Fact[], ancestor: number): Made | undefined {
    if (!this.#isOfKind || !this.#options.decoder.idsAreConsecutive) return undefined;
    return this.#ledger.lastMadeBy(branch, ancestor);
  }

  /** Throws a `Contradiction` where facts of the blocks that follow cannot be, by those before them. */
  async check(recording: Recording, facts: readonly Fact[]): Promise<void> {
    if (!this.#isOfKind) return;
    const strays = this.#ledger.add(facts, this.#options.decoder.idsAreConsecutive);
    if (strays.length === 0) return;
    const blocks = await recording.blocksOf(strays.map(({ offerId }) => offerId));
    for (const stray of strays) {
      const made = blocks.get(stray.offerId);
      if (made !== undefined) throw contradictionOf(stray, made);
    }
  }

  /** The database has what was checked, up to the block `last`. */
  written(last: Header): void {
    this.#ledger.written();
    this.#written = last.hash;
  }

  /** Something was believed that an audit may show to be wrong. */
  auditAgain(): void {
    this.#isAudited = false;
  }

  /** Compares the open offers with the contract's state where that was not done since the last backfill. */
  async audit(last: Recorded): Promise<void> {
    const { source, onEvent } = this.#options;
    if (this.#isAudited || !this.#isOfKind) return;
    try {
      await audit({ ...this.#options, ledger: this.#ledger, block: last });
    } catch (error) {
      if (!(error instanceof NotAudited)) throw error;
      // Of another branch: that is seen next.
      if ((await source.headerAt(last.number))?.hash !== last.hash) return;
      onEvent({
        event: "doubt",
        reason: `The open offers are not compared with the contract's state: ${error.message}`,
      });
    }
    this.#isAudited = true;
  }

  /**
   * What was read cannot all be right. What is not written yet is read again; then what is written, from the first
   * block that may lack a log; then it stops, with nothing in the database that is doubtful. Resolves to whether
   * blocks were taken back.
   */
  async resolve(
    recording: Recording,
    last: Recorded | undefined,
    doubt: Contradiction,
  ): Promise<boolean> {
    const times = (this.#times.get(doubt.message) ?? 0) + 1;
    this.#times.set(doubt.message, times);
    const reason = `A log is missing or wrong: ${doubt.message}`;
    const to = Math.max(0, doubt.since - 1);
    const isTakenBack = times > 1 && last !== undefined && last.number > to;
    if (isTakenBack) await recording.takeBack(to);
    if (times > 2) {
      const head = await recording.head();
      throw new Halt(
        `${reason}. The database has what is certain, the blocks up to ${head?.number ?? "none"}.`,
      );
    }
    this.#options.onEvent({ event: "failure", reason });
    this.#options.requests.askElsewhere();
    return isTakenBack;
  }
}
