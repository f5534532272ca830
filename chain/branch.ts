// The branch that the chain has taken in place of blocks that the database has.
import type { BlockFact } from "./exchange-facts.ts";
import { EXIT, Halt } from "./halt.ts";
import type { Header } from "./node-answers.ts";
import { lastBlock, type Recorded } from "./written-blocks.ts";
import type { Recording } from "./recording.ts";
import { Unavailable } from "./requests.ts";
import type { Block, ChainSource } from "./source.ts";

/** A branch that is longer than what the database has. */
interface Branch {
  /** The last block that both have. */
  ancestor: Recorded;
  /** The blocks behind it, up to the one after the database's last. */
  headers: Header[];
}

/**
 * Follows the chain to another branch: down to the last block that both have, and up again until it is longer. Undefined
 * where the node does not have all of it. Halts where it replaces blocks up to `final`.
 */
export async function findBranch(
  source: ChainSource,
  recording: Recording,
  last: Recorded,
  final: number,
): Promise<Branch | undefined> {
  const ancestor = await findAncestor(source, recording, last, final);
  if (ancestor === undefined) return undefined;
  if (ancestor.number === last.number) {
    throw new Unavailable(
      `block ${last.number + 1} does not follow block ${last.number}, ${last.hash ?? ""}, which the node has`,
    );
  }
  const headers: Header[] = [];
  let parent = ancestor.hash;
  for (let number = ancestor.number + 1; number <= last.number + 1; number += 1) {
    const header = await source.headerAt(number);
    // The branch is not longer, or the node has turned to another one in between.
    if (header?.parent !== parent) return undefined;
    parent = header.hash;
    headers.push(header);
  }
  return { ancestor, headers };
}

/** Its blocks with their facts: what factories made before it must be known. */
export async function readBranch(
  source: ChainSource,
  { ancestor, headers }: Branch,
): Promise<Block<BlockFact>[]> {
  const blocks: Block<BlockFact>[] = [];
  const known = source.knownFrom(ancestor.number + 1);
  for (const header of headers) {
    const block = await source.blockOf(header, known);
    known.add(block.found);
    blocks.push(block);
  }
  return blocks;
}

/** The last block that the database and the chain have; undefined where the node does not have the heights. */
async function findAncestor(
  source: ChainSource,
  recording: Recording,
  last: Recorded,
  final: number,
): Promise<Recorded | undefined> {
  for (
    let ours: Recorded | undefined = last;
    ours !== undefined && ours.number >= final;
    ours = await lastBlock(recording.client, ours.number - 1)
  ) {
    const theirs = await source.headerAt(ours.number);
    if (theirs === undefined) return undefined;
    if (theirs.hash === ours.hash) return ours;
  }
  throw new Halt(
    `The chain has another branch below block ${final}, which is final: the database's head is block ${last.number}, ${last.hash ?? ""}. Nothing was taken back. Start it again first: a node may have called a block final that was not. Otherwise the node is of another chain, or the finality is set too low. In the second case \`set role dex_writer; select ingest.take_back(N)\`, where N is a block that the chain has too, and a start with a higher finality go on from there.`,
    EXIT.deepReorganisation,
  );
}
