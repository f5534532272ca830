// What shows that the logs of a block or a range are not whole, or not of it.
import { concatHex, keccak256, numberToHex, stringToHex, type Hex } from "viem";
import type { Header } from "./node-answers.ts";
import { IncompleteLogs, type BlockFact, type ChainLog } from "./exchange-facts.ts";
import { isoTime } from "./block-rows.ts";
import type { FoundContract } from "./known-contracts.ts";
import { Contradiction } from "./offers-left.ts";

/** A block's logs are in order by themselves, and others of the block are missing. */
export class NotWhole extends IncompleteLogs {
  /** What is believed of the block where no node has more. */
  readonly block: object;

  constructor(message: string, block: NotWhole["block"]) {
    super(message);
    this.block = block;
  }
}

/**
 * What shows that a log of the block is missing: all have an index from 0, and fill the header's bloom if it has one.
 * Throws where a log cannot be of the block. The bloom may leave out the logs of the transaction `system`.
 */
export function lackOf(
  logs: readonly ChainLog[],
  bloom: Bloom,
  system?: string,
): string | undefined {
  const itemsOf = ({ address, topics }: ChainLog): string[] => [address, ...topics];
  const bloomOf = (some: readonly ChainLog[]) => Bloom.of(new Set(some.flatMap(itemsOf)));
  const counted = logs.filter(({ tx }) => tx !== system);
  if (!bloom.isEmpty && !bloom.covers(bloomOf(counted))) {
    const other = counted.find((log) => !bloom.covers(Bloom.of(itemsOf(log))));
    throw new IncompleteLogs(
      `the header's bloom does not have the log ${other?.idx}, of ${other?.address}`,
    );
  }
  const gap = logs.findIndex(({ idx }, at) => idx !== at);
  if (gap !== -1) return `the log ${gap} is missing`;
  if (bloom.isEmpty || bloomOf(logs).covers(bloom)) return undefined;
  return "the header's bloom has addresses or topics that no log has";
}

/** Throws where two logs of one block differ in its hash, or are one. */
export function checkBlocks(logs: readonly ChainLog[], hashes: Map<number, string>): void {
  let before: ChainLog | undefined;
  for (const log of logs) {
    const hash = hashes.get(log.block);
    if (hash === undefined) hashes.set(log.block, log.hash);
    else if (hash !== log.hash) {
      throw new IncompleteLogs(`block ${log.block} is both ${hash} and ${log.hash}`);
    }
    if (before?.block === log.block && before.idx === log.idx) {
      throw new IncompleteLogs(`the log ${log.idx} of block ${log.block} came twice`);
    }
    before = log;
  }
}

/** Throws where two facts of one block, or a fact and its block, differ in the time. */
export function checkTimes(facts: readonly BlockFact[], headers: readonly Header[]): void {
  const times = new Map(headers.map(({ number, time }) => [number, time]));
  for (const fact of facts) {
    if (fact.kind === "market") continue;
    const time = times.get(fact.block);
    if (time === undefined) times.set(fact.block, fact.time);
    else if (time !== fact.time) {
      throw new IncompleteLogs(
        `block ${fact.block} is at ${isoTime(time)} and, by a log, at ${isoTime(fact.time)}`,
      );
    }
  }
}

/** A factory counts what it makes: a number that does not follow shows that a log is missing, since the one `before`. */
export function checkNumber(
  made: FoundContract,
  before: FoundContract | undefined,
  isRead: boolean,
): void {
  if (before === undefined || made.number === (before.number ?? 0) + 1) return;
  const text = `the factory ${made.factory} makes its contract ${made.number} in block ${made.block}, after contract ${before.number} of block ${before.block}`;
  // What is read at once is asked again; what is written has to be read again.
  throw isRead ? new IncompleteLogs(text) : new Contradiction(text, before.block);
}

/** Chains that add logs to a block beside those of its transactions. Polygon PoS and its test network: what comes from Ethereum by state sync is the last transaction of a block. */
const POLYGON: readonly number[] = [137, 80_002];

/** The hash of the transaction whose logs may be missing in the header's bloom; undefined where the chain has none. */
export function systemTransaction(
  chainId: number | undefined,
  { number, hash }: { number: number; hash: string },
): string | undefined {
  if (chainId === undefined || !POLYGON.includes(chainId)) return undefined;
  const key = [stringToHex("matic-bor-receipt-"), numberToHex(number, { size: 8 }), hash as Hex];
  return keccak256(concatHex(key));
}

const BITS = 2048;
const BYTES = BITS / 8;

/** Which logs a block may have, by its header. */
export class Bloom {
  readonly #bytes: Uint8Array;

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A header's logsBloom. */
  static read(hex: string): Bloom {
    return new Bloom(Buffer.from(hex.slice(2), "hex"));
  }

  /** That of a block whose logs have these addresses and topics. */
  static of(items: Iterable<string>): Bloom {
    const bytes = new Uint8Array(BYTES);
    for (const item of items) {
      for (const bit of bitsOf(item)) {
        // Bit 0 is the lowest of the last byte.
        const byte = BYTES - 1 - (bit >> 3);
        bytes[byte] = (bytes[byte] ?? 0) | (1 << (bit & 7));
      }
    }
    return new Bloom(bytes);
  }

  /** Whether nothing is in it: the block has no logs, or the chain keeps no blooms. */
  get isEmpty(): boolean {
    return this.#bytes.every((byte) => byte === 0);
  }

  /** Whether all that is in the other one may be in it. */
  covers(other: Bloom): boolean {
    return this.#bytes.every((byte, at) => ((other.#bytes[at] ?? 0) & ~byte) === 0);
  }
}

/** The yellow paper's M3:2048: three numbers of 11 bits from the hash of an item. */
function bitsOf(item: string): number[] {
  const hash = Buffer.from(keccak256(item as Hex).slice(2), "hex");
  return [0, 2, 4].map((at) => hash.readUInt16BE(at) % BITS);
}
