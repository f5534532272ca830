// Plays random histories, and compares what the database answers as of its past blocks with brute-force.ts, which gets the
// same history and the moment of the block.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { Client } from "../db/connect.ts";
import {
  asked,
  beginExchange,
  block,
  compare,
  compareAnswers,
  play,
  writeStep,
  type Asked,
  type AsOf,
  type BlockStep,
  type WriteStep,
} from "./histories.ts";
import { compareGraphql } from "./past-graphql.ts";

export interface PastHistory {
  steps: WriteStep[];
  /** Played until the history has `minBlocks`. */
  more: BlockStep[];
  minBlocks: number;
  questions: Asked[];
}

/** Of the names that a block has, by turns. */
const NAMES = ["number", "time", "hash"] as const;

/** Blocks without rows do not stay for long, so more are made than are needed. */
export const pastHistory = (minBlocks = 0): fc.Arbitrary<PastHistory> =>
  fc.record({
    steps: fc.array(writeStep, { minLength: 3, maxLength: 16 }),
    more: fc.array(block, { minLength: 2 * minBlocks, maxLength: 2 * minBlocks }),
    minBlocks: fc.constant(minBlocks),
    questions: fc.array(asked, { minLength: 1, maxLength: 3 }),
  });

/**
 * Plays the history in a transaction that is rolled back. Returns the number of blocks that were compared, also as GraphQL
 * answers, where this is asked for.
 */
export async function playAndComparePast(
  client: Client,
  { steps, more, minBlocks, questions }: PastHistory,
  { isWithGraphql = false } = {},
): Promise<number> {
  await client.query("begin");
  try {
    const exchange = await beginExchange(client);
    for (const next of steps) await play(client, exchange, next);
    for (const one of more) {
      if (exchange.blocks.length >= minBlocks) break;
      await play(client, exchange, { do: "block", block: one });
    }
    for (const [n, written] of exchange.blocks.entries()) {
      const isLastOfTime = exchange.blocks[n + 1]?.time !== written.time;
      const name = NAMES[n % NAMES.length];
      const named =
        name === "hash" && written.hash !== null
          ? written.hash
          : name === "time" && isLastOfTime
            ? new Date(written.time).toISOString()
            : String(written.number);
      await client.query("select set_config('dex.as_of_block', $1, true)", [named]);
      try {
        await compareAt(client, exchange.asOf(written), questions);
      } catch (error) {
        throw new Error(`as of block ${written.number}, named ${named}`, { cause: error });
      }
    }
    await client.query("set local dex.as_of_block = ''");
    const { length } = exchange.blocks;
    if (isWithGraphql) await compareGraphql(client, exchange);
    return length;
  } finally {
    await client.query("rollback");
  }
}

async function compareAt(client: Client, at: AsOf, questions: Asked[]): Promise<void> {
  await compare(client, at);
  for (const one of questions) await compareAnswers(client, at, one);
  const { rows } = await client.query({
    name: "compare_head",
    text: `
      select
        head.block,
        head.time,
        (
          select count(*)::integer
          from dex_trade as trade
          join dex_private.as_of on trade.id < as_of.beyond
        ) as trades
      from dex_head as head`,
  });
  const { block, time } = at.moment!;
  const trades = at.recording.trades.filter((row) => Number(row["block"]) <= block).length;
  const right = [{ block, time: new Date(time), trades }];
  if (!isDeepStrictEqual(rows, right)) {
    throw new Error(`the head is ${JSON.stringify(rows)}, and should be ${JSON.stringify(right)}`);
  }
}
