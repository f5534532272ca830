// Finds the last block that a mirror and its origin have both, and what may be taken back.
import { z } from "zod";
import type { Client } from "../connect.ts";
import type { BlockPage } from "./block-page.ts";
import { MirrorError } from "./mirror-error.ts";
import { readJson, type Origin } from "./origin.ts";

/** A block that the mirror has. */
export type Own = BlockPage["head"];

const MAX_BYTES = 100_000;

const NO_FACTS = `0x${"0".repeat(64)}`;

/** What ingest.take_back goes back to where it takes back all blocks. */
const BEFORE_ALL: Own = { number: -1, hash: null, digest: NO_FACTS };

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
 * By halves: where two have the same digest and hash at a block, they do so at every block before it. BEFORE_ALL where
 * they have none in common, and none is final here. Throws a MirrorError where the last final block is another: no
 * chain takes that back.
 */
export async function commonBlock(
  client: Client,
  origin: Origin,
  signal: AbortSignal,
): Promise<Own> {
  const { rows } = await client.query<Own & { final: number | null }>(`
    select
      block.number,
      block.hash,
      dex_block_digest(block) as digest,
      final.number as final
    from dex_block as block
    left join dex_private.final_block(null) as final on true
    where block.number >= coalesce(final.number, 0)
    order by block.number`);
  let [same, other] = [-1, rows.length];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    const own = rows[middle];
    if (own === undefined) break;
    if (await isCommon(own, origin, signal)) same = middle;
    else other = middle;
  }
  const found = rows[same];
  if (found !== undefined) return found;
  const [first] = rows;
  if (first === undefined || first.final === null) return BEFORE_ALL;
  throw new MirrorError(
    `the origin has other facts: at block ${first.number}, which is final here, this database has the digest ${first.digest ?? "none"} and the hash ${first.hash ?? "none"}, and the origin others. Nothing was taken back`,
  );
}

/** Where it is not, a chain may take back all facts, and begin with another block. */
export async function isFinal(client: Client, block: number): Promise<boolean> {
  const { rows } = await client.query<{ number: number }>({
    name: "mirror_final_block",
    text: `
      select final.number
      from dex_private.final_block(null) as final`,
  });
  return rows[0] !== undefined && block <= rows[0].number;
}

async function isCommon(own: Own, origin: Origin, signal: AbortSignal): Promise<boolean> {
  const path = `v2/block/${own.number}`;
  const text = await origin
    .text(path, MAX_BYTES, { signal, isDigested: true })
    .catch((error: unknown) => {
      // It begins later, or has gone back below it.
      if (error instanceof MirrorError && error.message.includes("No such block")) return undefined;
      throw error;
    });
  if (text === undefined) return hasNoFacts(own);
  const { data } = answer.safeParse(readJson(text, `${path} is`));
  if (data === undefined) throw new MirrorError(`${origin.url}${path} is not as documented`);
  const { block, hash, digest } = data.data;
  if (digest !== own.digest) return false;
  return block !== own.number || hash === null || own.hash === null || hash === own.hash;
}
