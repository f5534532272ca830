// Checks what pools have: that the logs follow what they had, and that it is what they return.
import { Audit } from "./audit.ts";
import type { Decoder, Fact } from "./exchange-facts.ts";
import { Contradiction } from "./offers-left.ts";
import { nothingOf, PoolAudit } from "./pool-audit.ts";
import { keptStates } from "./pool-states.ts";
import type { Reading } from "./chain-reading.ts";
import type { Recorded } from "./written-blocks.ts";
import type { Recording } from "./recording.ts";

/** Over all sessions, so that a connection that is lost makes nothing believed. */
export class PoolCheck {
  readonly #reading: Reading;
  readonly #subject: PoolAudit;
  readonly #audit: Audit<string>;
  #hasBegun = false;
  /** The block up to which all agreed with the pools' own state, as far as the database goes. */
  #auditedTo = -1;

  constructor(reading: Reading, decoders: ReadonlyMap<string, Decoder>) {
    this.#reading = reading;
    this.#subject = new PoolAudit(reading, decoders);
    this.#audit = new Audit(reading, this.#subject);
  }

  get auditedTo(): number {
    return this.#auditedTo;
  }

  /** Begins anew with what the database has. */
  restart(recording: Recording, last: Recorded | undefined): void {
    this.#subject.recording = recording;
    this.#auditedTo = Math.min(this.#auditedTo, last?.number ?? -1);
    if (!this.#hasBegun || this.#audit.isDue) this.auditAgain(this.#hasBegun);
    this.#hasBegun = true;
  }

  /** Throws a `Contradiction` where facts of the blocks after `upTo` cannot be, by those before them. */
  async check({ client }: Recording, facts: readonly Fact[], upTo?: number): Promise<void> {
    const { registry, known } = this.#reading;
    const reserves = facts.filter((fact) => fact.kind === "reserves");
    const venues = new Set(reserves.filter(({ canFollow }) => canFollow).map(({ venue }) => venue));
    const decimalsOf = (token: string): number | undefined => registry.decimalsOf(token);
    const kept = await keptStates(client, [...venues], upTo);
    for (const { venue, block, lotAmt, bidAmt, canFollow } of reserves) {
      const before = kept.get(venue) ?? nothingOf(known.get(venue.toLowerCase()), decimalsOf);
      const [first = 0n, second = 0n] = before?.has ?? [];
      if (before !== undefined && canFollow?.([first, second]) === false) {
        throw new Contradiction(
          `the logs of the pool ${venue} in block ${block}, after which it has ${lotAmt} and ${bidAmt}, do not follow the reserves of block ${before.block}, ${first} and ${second}`,
          before.block,
        );
      }
      kept.set(venue, { block, has: [lotAmt, bidAmt] });
    }
  }

  auditAgain(isWhole: boolean): void {
    this.#audit.again(isWhole);
  }

  /** Compares pools with their state in the block `last`, where an audit is due. */
  async audit(recording: Recording, last: Recorded): Promise<void> {
    this.#subject.recording = recording;
    const to = await this.#audit.next(recording.checked.rangedTo, last);
    this.#auditedTo = Math.max(this.#auditedTo, to);
  }
}
