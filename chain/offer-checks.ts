// Checks facts by what is left of each offer and what each pool has, and takes back what may lack a log.
import type { Header } from "./node-answers.ts";
import { BookCheck } from "./book-check.ts";
import { checkCode, NotAudited } from "./contract-state.ts";
import { canKeepIds, type Contract } from "./contracts.ts";
import type { Fact } from "./exchange-facts.ts";
import { Halt } from "./halt.ts";
import type { IndexerEvent } from "./indexer-options.ts";
import { Contradiction, type Made } from "./offers-left.ts";
import { PoolCheck } from "./pool-check.ts";
import type { Reading } from "./chain-reading.ts";
import { lastBlock, type Recorded } from "./written-blocks.ts";
import type { Recording } from "./recording.ts";

/** Rows differ from what a range has: no audit shows whether the rows are right. */
export class RangeContradiction extends Contradiction {}

/** The last offer that each contract made, where that is known. */
export type LastMade = ReadonlyMap<BookCheck, Made | undefined>;

/** Over all sessions, so that a connection that is lost makes nothing believed. */
export class OfferChecks {
  readonly #reading: Reading;
  readonly #books: readonly BookCheck[];
  /** Undefined where no contract is, or makes, a pool that returns what it has. */
  readonly #pools: PoolCheck | undefined;
  /** Addresses of the contracts of which an audit is due. */
  readonly #due = new Set<string>();
  /** How often each contradiction came up. */
  readonly #times = new Map<string, number>();

  constructor(reading: Reading) {
    this.#reading = reading;
    const { exchange, decoder, fromBlock, others = [] } = reading;
    const all = [{ exchange, decoder, firstBlock: fromBlock }, ...others];
    const keeper = all.find((one) => canKeepIds(one.decoder));
    this.#books = all
      .filter((one, n) => n === 0 || one.decoder.state !== undefined)
      .filter((one) => one.decoder.poolState === undefined)
      .map((one) => new BookCheck(this.#readingOf(one), one === keeper));
    const pools = all.filter((one) => one.decoder.poolState !== undefined);
    const [pool] = pools;
    if (pool !== undefined) {
      const decoders = new Map(pools.map((one) => [one.decoder.kind, one.decoder]));
      this.#pools = new PoolCheck(this.#readingOf(pool), decoders);
    }
  }

  #readingOf({ exchange, decoder, firstBlock: fromBlock }: Contract): Reading {
    const onEvent = (event: IndexerEvent): void => {
      if (event.event !== "audit") return this.#reading.onEvent?.(event);
      const before = this.#due.size;
      if (event.isDue) this.#due.add(exchange);
      else this.#due.delete(exchange);
      const isDue = this.#due.size > 0;
      if (isDue !== before > 0) this.#reading.onEvent?.({ event: "audit", isDue });
    };
    return { ...this.#reading, exchange, decoder, fromBlock, onEvent };
  }

  /** Learns which contracts return their offers. Halts where an address is of no contract. */
  async learnKind(latest: number): Promise<void> {
    if (this.#reading.decoder.poolState !== undefined) await checkCode(this.#reading, latest);
    for (const book of this.#books) {
      const isFirst = book.exchange === this.#reading.exchange;
      if (isFirst || book.isUnknownAt(latest)) await book.learnKind(latest);
    }
  }

  /** Begins anew with what the database has. `given` is the last offer of each contract. */
  async restart(recording: Recording, last: Recorded | undefined, given?: LastMade): Promise<void> {
    for (const book of this.#books) await book.restart(recording, last, given?.get(book));
    this.#pools?.restart(recording, last);
  }

  /**
   * The last offers made, once these facts replace those of the blocks after `ancestor`. Throws a `Contradiction` where
   * an offer is missing, or a change of a pool.
   */
  async lastMadeBy(
    recording: Recording,
    branch: readonly Fact[],
    ancestor: number,
  ): Promise<LastMade> {
    await this.#pools?.check(recording, branch, ancestor);
    return new Map(
      this.#books.map((book) => [book, book.lastMadeBy(this.#own(branch, book), ancestor)]),
    );
  }

  /** Throws a `Contradiction` where facts of the blocks that follow cannot be, by those before them. */
  async check(recording: Recording, facts: readonly Fact[]): Promise<void> {
    for (const book of this.#books) await book.check(recording, this.#own(facts, book));
    await this.#pools?.check(recording, facts);
  }

  #own(facts: readonly Fact[], { exchange }: BookCheck): readonly Fact[] {
    if (this.#books.length === 1 && this.#pools === undefined) return facts;
    return facts.filter((fact) => fact.kind !== "market" && fact.venue === exchange);
  }

  /** The database has what was checked, up to the block `last`. */
  written(last: Header): void {
    for (const book of this.#books) book.written(last);
  }

  /** An audit is due: of all before the next block is written, or of some with each block. */
  auditAgain(isWhole = false): void {
    for (const book of this.#books) book.auditAgain(isWhole);
    this.#pools?.auditAgain(isWhole);
  }

  /** Compares open offers and pools with the contracts' state in the block `last`, where an audit is due. */
  async audit(recording: Recording, last: Recorded): Promise<void> {
    for (const book of this.#books) {
      // Its contract was not made yet when the session began.
      if (book.isUnknownAt(last.number)) {
        await book.learnKind(last.number);
        await book.restart(recording, last);
      }
    }
    const checks = this.#pools === undefined ? this.#books : [...this.#books, this.#pools];
    for (const check of checks) await check.audit(recording, last);
    const audited = checks.flatMap(({ auditedTo }) => auditedTo ?? []);
    const to = Math.min(...audited);
    if (audited.length > 0 && to > recording.checked.auditedTo) {
      await recording.checkedTo({ auditedTo: to });
    }
  }

  /**
   * What was read cannot all be right. What is not written yet is read again; then what is written, from the first
   * block that may lack a log, but nothing that is certain; then it stops, with nothing in the database that is
   * doubtful. Resolves to whether blocks were taken back.
   */
  async resolve(
    recording: Recording,
    last: Recorded | undefined,
    doubt: Contradiction,
  ): Promise<boolean> {
    const times = (this.#times.get(doubt.key) ?? 0) + 1;
    this.#times.set(doubt.key, times);
    const reason = `A log is missing or wrong: ${doubt.message}`;
    const to = Math.max(doubt.since - 1, await this.#certainTo(recording, last, doubt, times));
    const isTakenBack = times > 1 && last !== undefined && last.number > to;
    if (isTakenBack) await recording.takeBack(to);
    if (times > 2) {
      const head = await lastBlock(recording.client);
      throw new Halt(
        `${reason}. The database has what is certain, the blocks up to ${head?.number ?? "none"}.`,
      );
    }
    this.#reading.onEvent?.({ event: "failure", reason });
    this.#reading.requests.askElsewhere();
    // A wrong bloom would hide the same log again.
    if (last !== undefined) this.#reading.source.doubtBlooms(last.number + 1);
    return isTakenBack;
  }

  /** The block up to which nothing is taken back: what was audited, or can be audited now. */
  async #certainTo(
    recording: Recording,
    last: Recorded | undefined,
    doubt: Contradiction,
    times: number,
  ): Promise<number> {
    const { auditedTo } = recording.checked;
    const isCertain = times === 1 || last === undefined || doubt instanceof RangeContradiction;
    // Where the state of one is never compared, nothing shows that all rows are right, nor do the reserves of a pool say
    // that of those it had before.
    if (
      isCertain ||
      this.#pools !== undefined ||
      !this.#books.every((book) => book.isComparedAt(last.number))
    )
      return auditedTo;
    await this.restart(recording, last);
    try {
      for (const book of this.#books) await book.compareAll(last);
      return last.number;
    } catch (error) {
      if (error instanceof Contradiction || error instanceof NotAudited) return auditedTo;
      throw error;
    }
  }
}
