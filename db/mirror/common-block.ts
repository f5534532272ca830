// Finds the last block that a mirror and its origin have both, and what may be taken back.
import { z } from "zod";
import type { Client } from "../connect.ts";
import { LARGEST_INTEGER, type BlockPage } from "./block-page.ts";
import { MirrorError } from "./mirror-error.ts";
import { readJson, type Origin } from "./origin.ts";

/** A block that the mirror has. */
export type Own = BlockPage["head"];

export interface Common {
  /** The last block of the mirror up to which the origin has no other rows. */
  own: Own;
  /** The last block up to it that both have: neither has rows after it. */
  shared: Own;
}

const MAX_BYTES = 100_000;

const NO_FACTS = `0x${"0".repeat(64)}`;

/** What ingest.take_back goes back to where it takes back all blocks. */
export const BEFORE_ALL: Own = { number: -1, hash: null, digest: NO_FACTS };

/** Up to such a block there are only blocks without rows, which the origin may not keep any more. */
export const hasNoFacts = ({ digest }: Own): boolean => digest === NO_FACTS;

const answer = z.object({
  data: z.object({
    block: z.int().min(0),
    hash: z.string().nullable(),
    digest: z.string().nullable(),
  }),
});

/**
 * `head` is the last block of the mirror. By halves: where two have the same blocks up to one, they do so up to every
 * one before it. BEFORE_ALL where they have none in common, and none is final here. Throws a MirrorError where the last
 * final block is another: no chain takes that back.
 */
export async function commonBlock(
  client: Client,
  origin: Origin,
  head: Own,
  signal: AbortSignal,
): Promise<Common> {
  const final = await finalBlock(client);
  let common: Common | undefined;
  let [same, other] = [(final ?? 0) - 1, head.number + 1];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    const own = await lastBlock(client, middle);
    if (own === undefined || own.number <= same) same = middle;
    else {
      const shared = await sharedBlock(client, origin, own, signal);
      if (shared === undefined) other = own.number;
      else [common, same] = [{ own, shared }, middle];
    }
  }
  if (common !== undefined) return common;
  const own = final === undefined ? undefined : await lastBlock(client, final);
  if (own === undefined) return { own: BEFORE_ALL, shared: BEFORE_ALL };
  throw new MirrorError(
    `the origin has other facts: at block ${own.number}, which is final here, this database has the digest ${own.digest ?? "none"} and the hash ${own.hash ?? "none"}, and the origin others. Nothing was taken back`,
  );
}

/** Where it is not, a chain may take back all facts, and begin with another block. */
export async function isFinal(client: Client, block: number): Promise<boolean> {
  const final = await finalBlock(client);
  return final !== undefined && block <= final;
}

async function finalBlock(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ number: number }>({
    name: "mirror_final_block",
    text: `
      select final.number
      from dex_private.final_block(null) as final`,
  });
  return rows[0]?.number;
}

/** The last block that the mirror has, perhaps up to a number. */
export async function lastBlock(client: Client, upTo = LARGEST_INTEGER): Promise<Own | undefined> {
  const { rows } = await client.query<Own>({
    name: "mirror_last_block",
    text: `
      select
        block.number,
        block.hash,
        dex_block_digest(block) as digest
      from dex_block as block
      where block.number <= $1
      order by block.number desc
      limit 1`,
    values: [upTo],
  });
  return rows[0];
}

/** Whether a page goes on from this block. Blocks without rows may be recorded here alone. */
export async function follows(client: Client, { before }: BlockPage, own: Own): Promise<boolean> {
  if (before === null) return hasNoFacts(own);
  if (before.digest !== own.digest) return false;
  const here = before.number === own.number ? own : await lastBlock(client, before.number);
  return here !== undefined && isSame(here, before);
}

const isSame = (own: Own, there: Own): boolean =>
  own.number === there.number &&
  own.digest === there.digest &&
  (own.hash === null || there.hash === null || own.hash === there.hash);

/**
 * The last block up to `own` that the origin has too, where neither has rows after it: blocks without rows may be in
 * one of them alone. Undefined where they differ up to `own`.
 */
async function sharedBlock(
  client: Client,
  origin: Origin,
  own: Own,
  signal: AbortSignal,
): Promise<Own | undefined> {
  for (let below: Own | undefined = own; below !== undefined;) {
    const there = await theirBlock(origin, below.number, signal);
    if (there === null) break;
    if (there.digest !== own.digest) return undefined;
    below = there.number === below.number ? below : await lastBlock(client, there.number);
    if (below?.number === there.number) return isSame(below, there) ? below : undefined;
  }
  return hasNoFacts(own) ? BEFORE_ALL : undefined;
}

/** The last block up to a number; null where there is none. */
async function theirBlock(origin: Origin, upTo: number, signal: AbortSignal): Promise<Own | null> {
  const path = `v2/block/${upTo}`;
  const text = await origin
    .text(path, MAX_BYTES, { signal, isDigested: true })
    .catch((error: unknown) => {
      // It begins later, or has gone back below it.
      if (error instanceof MirrorError && error.message.includes("No such block")) return undefined;
      throw error;
    });
  if (text === undefined) return null;
  const { data } = answer.safeParse(readJson(text, `${path} is`));
  if (data === undefined || data.data.block > upTo) {
    throw new MirrorError(`${origin.url}${path} is not as documented`);
  }
  const { block: number, hash, digest } = data.data;
  return { number, hash, digest };
}
