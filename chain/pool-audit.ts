// Compares what pools have by their logs with what they return.
import { checksumAddress } from "../db/load/checksum.ts";
import { AT_ONCE, type AuditSubject } from "./audit.ts";
import { readState } from "./contract-state.ts";
import type { Both, Decoder } from "./exchange-facts.ts";
import type { FoundContract } from "./known-contracts.ts";
import { Contradiction } from "./offers-left.ts";
import { changedPools, keptReserves, type KeptReserves } from "./pool-states.ts";
import type { Reading } from "./chain-reading.ts";
import type { Recorded } from "./written-blocks.ts";
import type { Recording } from "./recording.ts";

interface Difference {
  venue: string;
  kept: KeptReserves;
  onChain: Both;
}

/** A round goes through the pools that have changed, or were made, since the block up to which all is audited. */
export class PoolAudit implements AuditSubject<string> {
  readonly name = "The reserves of pools";
  /** So many are compared before the next block is written, where a round is whole. */
  readonly most = 1000;
  recording: Recording | undefined;
  readonly #reading: Reading;
  /** By their kinds. */
  readonly #decoders: ReadonlyMap<string, Decoder>;
  /** Those that do not return what they have. */
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
    await this.#reading.registry.learnTokens(unchanged.flatMap(tokensOf), block.number);
    return [...venues, ...unchanged.map(({ address }) => checksumAddress(address))];
  }

  async compare(venues: readonly string[], block: Recorded): Promise<void> {
    const doubtful = await this.#differences(venues, block);
    if (doubtful.length === 0) return;
    // One node's word is not enough to doubt what was read.
    this.#reading.requests.askElsewhere();
    const again = doubtful.map(({ venue }) => venue);
    const [found] = await this.#differences(again, block);
    if (found === undefined) return;
    const { venue, kept, onChain } = found;
    const [first, second] = kept.has;
    throw new Contradiction(
      `the reserves of the pool ${venue} are ${first} and ${second} by its logs up to block ${block.number}, the last one of block ${kept.block}, and ${onChain[0]} and ${onChain[1]} by the contract`,
      kept.block,
      `reserves of ${venue} after block ${kept.block}`,
    );
  }

  /** The pools that return other reserves than those of their last log. */
  async #differences(venues: readonly string[], block: Recorded): Promise<Difference[]> {
    const { recording } = this;
    if (recording === undefined) return [];
    const { known, registry } = this.#reading;
    const decimalsOf = (token: string): number | undefined => registry.decimalsOf(token);
    const kept = await keptReserves(recording.client, venues, decimalsOf, block.number);
    const found: Difference[] = [];
    for (let at = 0; at < venues.length; at += AT_ONCE) {
      await Promise.all(
        venues.slice(at, at + AT_ONCE).map(async (venue) => {
          const contract = known.get(venue.toLowerCase());
          const has = kept.get(venue) ?? nothingOf(contract, decimalsOf);
          const onChain = has && (await this.#reserves(venue, contract, block));
          if (onChain === undefined || onChain.every((amount, n) => amount === has?.has[n])) return;
          if (has !== undefined) found.push({ venue, kept: has, onChain });
        }),
      );
    }
    return found;
  }

  /** Undefined where it is not of a kind that returns them. */
  async #reserves(
    venue: string,
    contract: FoundContract | undefined,
    block: Recorded,
  ): Promise<Both | undefined> {
    const decoder = this.#decoders.get(contract?.kind ?? "");
    if (decoder?.reserves === undefined || this.#left.has(venue)) return undefined;
    const pool = { requests: this.#reading.requests, exchange: venue, decoder };
    const first = await readState(pool, block, decoder.reserves);
    if (first !== undefined) return first;
    // That it does not is believed when two answers say so, of two nodes where there are two.
    this.#reading.requests.askElsewhere();
    const second = await readState(pool, block, decoder.reserves);
    if (second !== undefined) return second;
    this.#left.add(venue);
    this.#reading.onEvent?.({
      event: "doubt",
      reason: `The pool ${venue} does not return ${decoder.reserves.name} in block ${block.number}: its logs are not compared with its state`,
    });
    return undefined;
  }
}

/** A pool whose factory's log was read has nothing before its first log; undefined where its amounts are left out. */
export function nothingOf(
  contract: FoundContract | undefined,
  decimalsOf: (token: string) => number | undefined,
): KeptReserves | undefined {
  if (contract === undefined || contract.factory === null) return undefined;
  if (tokensOf(contract).some((token) => decimalsOf(token) === undefined)) return undefined;
  return { block: contract.block, has: [0n, 0n] };
}

const tokensOf = ({ answers }: FoundContract): string[] =>
  Object.values(answers).filter((answer) => typeof answer === "string");
