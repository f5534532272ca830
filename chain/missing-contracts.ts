// Finds out what factories made in blocks that others than an indexer have written.
import type { Client } from "../db/connect.ts";
import { existing } from "./block-headers.ts";
import { findBranch } from "./branch.ts";
import { DEFAULT_FINALITY, type ChainHead } from "./chain-head.ts";
import type { Reading } from "./chain-reading.ts";
import type { FoundContract } from "./known-contracts.ts";
import { readRanges } from "./ranges.ts";
import type { Recording } from "./recording.ts";
import { Unavailable } from "./requests.ts";
import type { ChainSource } from "./source.ts";
import type { Recorded } from "./written-blocks.ts";

interface Start {
  head: ChainHead;
  /** The last block of the database. */
  last: Recorded | undefined;
}

/** The contracts that factories made in the final blocks from `from` to `to`, a list for each range that is read. */
export async function* contractsMade(
  source: ChainSource,
  from: number,
  to: number,
): AsyncGenerator<FoundContract[]> {
  const topics = source.factoryTopics;
  if (topics.length === 0) return;
  for await (const { found } of readRanges(source, { from, to, topics })) yield found;
}

/**
 * Writes the contracts that factories made up to the last block. Resolves to that block: an earlier one where the chain has
 * another branch. Throws where the node's logs do not have what the database has.
 */
export async function findContracts(
  shared: Reading,
  recording: Recording,
  { head, last }: Start,
): Promise<Recorded | undefined> {
  const hasFactories = shared.source.factoryTopics.length > 0;
  const to = hasFactories ? await lastOnChain(shared, recording, { head, last }) : last;
  if (hasFactories && to !== undefined) await findUpTo(shared, recording, { head, last: to });
  if (!(await isComplete(recording.client, to))) {
    throw new Unavailable("another writer has written blocks");
  }
  await recording.learnChecked();
  return to;
}

async function findUpTo(
  shared: Reading,
  recording: Recording,
  { head, last }: { head: ChainHead; last: Recorded },
): Promise<void> {
  const { source, fromBlock, requests } = shared;
  const settled = Math.min(head.final, last.number);
  for await (const found of contractsMade(source, fromBlock, settled)) await recording.found(found);
  await recording.found(await madeAfter(source, settled, last));
  const unknown = await unknownPool(recording.client, addressesOf(shared));
  if (unknown === undefined) return;
  requests.askElsewhere();
  throw new Unavailable(
    `the database has the pool ${unknown}, and the factories' logs do not: the node may not have all old logs`,
  );
}

/** Takes back what is not on the chain. */
async function lastOnChain(
  { source, finality = DEFAULT_FINALITY }: Reading,
  recording: Recording,
  { head, last }: Start,
): Promise<Recorded | undefined> {
  if (last === undefined) return undefined;
  if (last.number > head.latest.number) {
    throw new Unavailable(
      `the node is at block ${head.latest.number}, before block ${last.number} of the database, up to which it is to say what factories made`,
    );
  }
  if ((await source.headerAt(last.number))?.hash === last.hash) return last;
  const final = Math.max(recording.checked.rangedTo, Math.min(head.final, last.number - finality));
  const branch = await findBranch(source, recording, last, final);
  if (branch === undefined) {
    throw new Unavailable(
      `the node has another branch than block ${last.number}, ${last.hash}, and not all blocks of a longer one`,
    );
  }
  await recording.takeBack(branch.ancestor.number);
  return branch.ancestor;
}

/** Of the blocks after `settled`, one by one: of each, the bloom shows whether a log is missing. */
async function madeAfter(
  source: ChainSource,
  settled: number,
  to: Recorded,
): Promise<FoundContract[]> {
  const known = source.knownFrom(settled + 1);
  const made: FoundContract[] = [];
  let parent: string | undefined;
  for (let number = settled + 1; number <= to.number; number += 1) {
    const header = existing(await source.headerAt(number), number);
    if (parent !== undefined && header.parent !== parent) break;
    const { found } = await source.blockOf(header, known);
    known.add(found);
    made.push(...found);
    parent = header.hash;
  }
  if (parent === undefined || parent === to.hash) return made;
  throw new Unavailable(
    `the node has turned to another branch than block ${to.number}, ${to.hash}`,
  );
}

const addressesOf = ({ exchange, others = [] }: Reading): string[] =>
  [exchange, ...others.map((one) => one.exchange)].map((address) => address.toLowerCase());

/** A pool that the database has, and that is none of these or of the contracts that were found. */
async function unknownPool(client: Client, given: readonly string[]): Promise<string | undefined> {
  const { rows } = await client.query<{ venue: string }>(
    `select pool.venue
    from dex_pool as pool
    where lower(pool.venue) <> all ($1)
      and not exists (
        select
        from dex_private.index_contract as contract
        where contract.address = lower(pool.venue)
      )
    limit 1`,
    [given],
  );
  return rows[0]?.venue;
}

async function isComplete(client: Client, last: Recorded | undefined): Promise<boolean> {
  const { rows } = await client.query<{ recorded: boolean }>(
    "select ingest.found_all_contracts($1) as recorded",
    [last?.number],
  );
  return rows[0]?.recorded === true;
}
