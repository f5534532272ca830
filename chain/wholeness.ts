// What shows that the logs of a block or a range are not whole, or not of it.
import type { Header } from "./node-answers.ts";
import { Bloom } from "./bloom.ts";
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
