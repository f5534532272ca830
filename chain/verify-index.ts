// Compares a range of blocks in the database with the chain, row by row.
import { connect } from "../db/connect.ts";
import { differencesOf } from "./comparing.ts";
import { EXIT, Halt } from "./halt.ts";
import type { IndexerOptions } from "./indexer-options.ts";
import { readRanges } from "./ranges.ts";
import { readingOf } from "./chain-reading.ts";

/**
 * A line for each row that the database lacks, has beside the chain's, or has otherwise. Writes nothing. Throws a `Halt`
 * where the chain does not reach the last block.
 */
export async function* verifyRange(
  options: IndexerOptions,
  from: number,
  to: number,
): AsyncGenerator<string> {
  const { source, registry, known } = readingOf(options);
  await using client = await connect(options.databaseUrl, {
    role: "dex_writer",
    applicationName: "dex-market-data index --verify",
  });
  await registry.load(client);
  await known.load(client);
  const latest = (await source.latest()).number;
  if (to > latest) {
    throw new Halt(`Block ${to} is not on the chain yet: its head is block ${latest}.`, EXIT.usage);
  }
  for await (const range of readRanges(source, { from, to })) {
    await registry.learn(range.facts, latest);
    for (const { text } of await differencesOf(client, range, registry)) yield text;
  }
}
