// Finds out what factories made in blocks that others than an indexer have written.
import type { FoundContract } from "./known-contracts.ts";
import { readRanges } from "./ranges.ts";
import type { ChainSource } from "./source.ts";

/** The contracts that factories made in the blocks from `from` to `to`, a list for each range that is read. */
export async function* contractsMade(
  source: ChainSource,
  from: number,
  to: number,
): AsyncGenerator<FoundContract[]> {
  const topics = source.factoryTopics;
  if (topics.length === 0) return;
  for await (const { found } of readRanges(source, { from, to, topics })) yield found;
}
