// Checks what pools have: that the logs follow what they had, and that it is what they return.
import { checksumAddress } from "../db/load/checksum.ts";
import { Audit, type AuditSubject, type Doubt } from "./audit.ts";
import { readTwice } from "./contract-state.ts";
import type { ContractCall, Decoder, Fact, PoolState } from "./exchange-facts.ts";
import type { FoundContract } from "./known-contracts.ts";
import { Contradiction } from "./offers-left.ts";
import { changedPools, keptStates, type KeptState } from "./pool-states.ts";
import { tickDifference, tickedPools } from "./tick-audit.ts";
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
    const kept = await keptStates(client, [...venues], upTo);
    for (const { venue, block, lotAmt, bidAmt, canFollow } of reserves) {
      const before =
        kept.get(venue) ?? nothingOf(known.get(venue.toLowerCase()), registry.decimalsOf);
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

/** A round goes through the pools that have changed, or were made, since the block up to which all is audited. */
class PoolAudit implements AuditSubject<string> {
  readonly name = "The states of pools";
  /** So many are compared before the next block is written, where a round is whole. */
  readonly most = 1000;
  recording: Recording | undefined;
  readonly #reading: Reading;
  /** By their kinds. */
  readonly #decoders: ReadonlyMap<string, Decoder>;
  /** The parts of pools that these do not return. */
  readonly #left = new Set<string>();

  constructor(reading: Reading, decoders: ReadonlyMap<string, Decoder>) {
    this.#reading = reading;
    this.#decoders = decoders;
  }

  async begin(block: Recorded): Promise<string[]> {
    const { recording } = this;
    if (recording === undefined) return [];
    const { auditedTo } = recording.checked;
    const venues = new Set(await changedPools(recording.client, auditedTo));
    const unchanged: FoundContract[] = [];
    for (const one of this.#reading.known.all) {
      const venue = checksumAddress(one.address);
      if (one.factory !== null && one.block > auditedTo && !venues.has(venue)) unchanged.push(one);
    }
    // What the logs leave out of a new pool may be all that it has.
    await this.#reading.registry.learnTokens(unchanged.flatMap(tokensOf), block);
    return [...venues, ...unchanged.map(({ address }) => checksumAddress(address))];
  }

  /** The pools that return another state than that of their last log, or other ticks. */
  async doubts(venues: readonly string[], block: Recorded): Promise<Doubt<string>[]> {
    const { recording } = this;
    if (recording === undefined) return [];
    const { known, registry } = this.#reading;
    const kept = await keptStates(recording.client, venues, block.number);
    const found: Doubt<string>[] = [];
    /** Those whose ticks are compared, with the tick of their price. */
    const ranged: { venue: string; tick: number }[] = [];
    await Promise.all(
      venues.map(async (venue) => {
        const contract = known.get(venue.toLowerCase());
        const has = kept.get(venue) ?? nothingOf(contract, registry.decimalsOf);
        const onChain = has && (await this.#stateOf(venue, block));
        if (has === undefined || onChain === undefined) return;
        const own = onChain.map((_, n) => has.has[n] ?? 0n);
        if (onChain.some((value, n) => value !== own[n])) {
          const name = this.#poolStateOf(venue)?.name;
          const reason = `the ${name} of the pool ${venue} are ${listed(own)} by its logs up to block ${block.number}, the last one of block ${has.block}, and ${listed(onChain)} by the contract`;
          const key = `state of ${venue} after block ${has.block}`;
          found.push({ key: venue, reason: new Contradiction(reason, has.block, key) });
        } else if (kept.has(venue) && this.#poolStateOf(venue)?.ticks !== undefined) {
          ranged.push({ venue, tick: Number(own[1]) });
        }
      }),
    );
    return [...found, ...(await this.#tickDoubts(recording, ranged, block))];
  }

  async #tickDoubts(
    { client, checked: { auditedTo } }: Recording,
    pools: readonly { venue: string; tick: number }[],
    block: Recorded,
  ): Promise<Doubt<string>[]> {
    const span = { after: auditedTo, upTo: block.number };
    const doubts = (await tickedPools(client, pools, span)).map(async (pool) => {
      const { venue } = pool;
      const ask = <T>(call: ContractCall<T>) => this.#ask(venue, block, call, "ticks");
      const { ticks } = this.#poolStateOf(venue) ?? {};
      const found = ticks && (await tickDifference(pool, ticks, ask));
      if (found === undefined) return [];
      const { tick, kept, onChain } = found;
      const reason = `the net and gross liquidity of the tick ${tick} of the pool ${venue} are ${kept.net} and ${kept.gross} by its logs up to block ${block.number}, and ${onChain.net} and ${onChain.gross} by the contract`;
      // The log may be missing for as long as this tick was not compared.
      const key = `tick ${tick} of ${venue} after block ${auditedTo}`;
      return [{ key: venue, reason: new Contradiction(reason, 0, key) }];
    });
    return (await Promise.all(doubts)).flat();
  }

  #poolStateOf(venue: string): PoolState | undefined {
    const kind = this.#reading.known.get(venue.toLowerCase())?.kind ?? "";
    return this.#decoders.get(kind)?.poolState;
  }

  /** Undefined where it does not return it. */
  async #stateOf(venue: string, block: Recorded): Promise<readonly bigint[] | undefined> {
    const found: bigint[] = [];
    for (const call of this.#poolStateOf(venue)?.calls ?? []) {
      const values = await this.#ask(venue, block, call, "state");
      if (values === undefined) return undefined;
      found.push(...values);
    }
    return found;
  }

  /** Undefined where the pool does not return it: that part of it is left out from then on. */
  async #ask<T>(
    venue: string,
    block: Recorded,
    call: ContractCall<T>,
    part: "state" | "ticks",
  ): Promise<T | undefined> {
    const { requests, decoder, onEvent } = this.#reading;
    const left = `${part} of ${venue}`;
    if (this.#left.has(left)) return undefined;
    const pool = { requests, exchange: venue, decoder };
    const value = await readTwice(pool, block, call);
    if (value === undefined && !this.#left.has(left)) {
      this.#left.add(left);
      const reason = `The pool ${venue} does not return ${call.name} in block ${block.number}: its logs are not compared with its ${part}`;
      onEvent?.({ event: "doubt", reason });
    }
    return value;
  }
}

const listed = (values: readonly bigint[]): string =>
  [values.slice(0, -1).join(", "), values.at(-1)].join(" and ");

/** A pool whose factory's log was read has nothing before its first log; undefined where its amounts are left out. */
function nothingOf(
  contract: FoundContract | undefined,
  decimalsOf: (token: string) => number | undefined,
): KeptState | undefined {
  if (contract === undefined || contract.factory === null) return undefined;
  if (tokensOf(contract).some((token) => decimalsOf(token) === undefined)) return undefined;
  return { block: contract.block, has: [] };
}

const tokensOf = ({ answers }: FoundContract): string[] =>
  Object.values(answers).filter((answer) => typeof answer === "string");
