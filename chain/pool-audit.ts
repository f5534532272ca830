// Compares what pools have by their logs with what they return.
import { checksumAddress } from "../db/load/checksum.ts";
import { AT_ONCE, type AuditSubject } from "./audit.ts";
import { readState } from "./contract-state.ts";
import type { Decoder } from "./exchange-facts.ts";
import type { FoundContract } from "./known-contracts.ts";
import { Contradiction } from "./offers-left.ts";
import { changedPools, keptStates, type KeptState } from "./pool-states.ts";
import type { Reading } from "./chain-reading.ts";
import type { Recorded } from "./written-blocks.ts";
import type { Recording } from "./recording.ts";

interface Difference {
  venue: string;
  kept: KeptState;
  onChain: readonly bigint[];
}

/** A round goes through the pools that have changed, or were made, since the block up to which all is audited. */
export class PoolAudit implements AuditSubject<string> {
  readonly name = "The states of pools";
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
    const { poolState } = this.#decoders.get(this.#kindOf(venue)) ?? {};
    throw new Contradiction(
      `the ${poolState?.name} of the pool ${venue} are ${listed(onChain.map((_, n) => kept.has[n] ?? 0n))} by its logs up to block ${block.number}, the last one of block ${kept.block}, and ${listed(onChain)} by the contract`,
      kept.block,
      `state of ${venue} after block ${kept.block}`,
    );
  }

  /** The pools that return other reserves than those of their last log. */
  async #differences(venues: readonly string[], block: Recorded): Promise<Difference[]> {
    const { recording } = this;
    if (recording === undefined) return [];
    const { known, registry } = this.#reading;
    const decimalsOf = (token: string): number | undefined => registry.decimalsOf(token);
    const kept = await keptStates(recording.client, venues, decimalsOf, block.number);
    const found: Difference[] = [];
    for (let at = 0; at < venues.length; at += AT_ONCE) {
      await Promise.all(
        venues.slice(at, at + AT_ONCE).map(async (venue) => {
          const contract = known.get(venue.toLowerCase());
          const has = kept.get(venue) ?? nothingOf(contract, decimalsOf);
          const onChain = has && (await this.#stateOf(venue, block));
          if (onChain === undefined || onChain.every((value, n) => value === (has?.has[n] ?? 0n)))
            return;
          if (has !== undefined) found.push({ venue, kept: has, onChain });
        }),
      );
    }
    return found;
  }

  #kindOf(venue: string): string {
    return this.#reading.known.get(venue.toLowerCase())?.kind ?? "";
  }

  /** Undefined where it is not of a kind that returns it. */
  async #stateOf(venue: string, block: Recorded): Promise<readonly bigint[] | undefined> {
    const decoder = this.#decoders.get(this.#kindOf(venue));
    if (decoder?.poolState === undefined || this.#left.has(venue)) return undefined;
    const pool = { requests: this.#reading.requests, exchange: venue, decoder };
    const found: bigint[] = [];
    for (const call of decoder.poolState.calls) {
      let values = await readState(pool, block, call);
      if (values === undefined) {
        // That it does not return it is believed when two answers say so, of two nodes where there are two.
        this.#reading.requests.askElsewhere();
        values = await readState(pool, block, call);
      }
      if (values === undefined) {
        this.#left.add(venue);
        this.#reading.onEvent?.({
          event: "doubt",
          reason: `The pool ${venue} does not return ${call.name} in block ${block.number}: its logs are not compared with its state`,
        });
        return undefined;
      }
      found.push(...values);
    }
    return found;
  }
}

const listed = (values: readonly bigint[]): string =>
  [values.slice(0, -1).join(", "), values.at(-1)].join(" and ");

/** A pool whose factory's log was read has nothing before its first log; undefined where its amounts are left out. */
export function nothingOf(
  contract: FoundContract | undefined,
  decimalsOf: (token: string) => number | undefined,
): KeptState | undefined {
  if (contract === undefined || contract.factory === null) return undefined;
  if (tokensOf(contract).some((token) => decimalsOf(token) === undefined)) return undefined;
  return { block: contract.block, has: [] };
}

const tokensOf = ({ answers }: FoundContract): string[] =>
  Object.values(answers).filter((answer) => typeof answer === "string");
