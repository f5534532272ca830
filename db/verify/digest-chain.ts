// Recomputes the digest of each block, and finds the blocks whose facts are not those that it was made of.
import type { Client } from "../connect.ts";
import { MAX_SHOWN, type Difference } from "./difference.ts";

const WRONG = `
  select
    'dex_block ' || block.number as row,
    coalesce('of the digest 0x' || encode(block.digest, 'hex'), 'without a digest') as kept,
    case
      when block.right_digest is null then 'without a digest, as block ' || block.number_before || ' before it has none'
      else 'of the digest 0x' || encode(block.right_digest, 'hex')
        || ', which its facts have after that of ' || coalesce('block ' || block.number_before, '32 zero bytes')
    end as right
  from dex_private.misdigested_block as block
  order by block.number
  limit ${MAX_SHOWN}`;

/** Returns the blocks with a wrong digest, the first ones where there are many. `ingest.rebuild()` mends none of them. */
export async function verifyDigests(client: Client): Promise<Difference[]> {
  const { rows } = await client.query<Difference>(WRONG);
  return rows;
}
