// Begins to read as of a past block, in a transaction that the caller has begun.
import { WITH_ASKED, withNoSuchBlock, type AsOf } from "./as-of.ts";

export interface PastBlock {
  number: number;
  /** Stands for its facts, hash and time: a block of the same number may be another after a reorganisation. */
  mark: string;
  /** No trade up to it has a greater id. */
  lastTrade: number;
  /** The head of the same snapshot. */
  head: number;
  asked: AsOf;
}

interface Statement {
  name: string;
  text: string;
  values: string[];
}

const BEGIN_AS_OF = {
  name: "begin_as_of",
  text: `
    ${WITH_ASKED}
    select
      block.number,
      left(md5(concat_ws(' ', encode(block.digest, 'hex'), block.hash, extract(epoch from block.time))), 8) as mark,
      least((asked.moment).beyond - 1, state.last_trade)::float8 as "lastTrade",
      (
        select max(head.number)
        from dex_block as head
      ) as head
    from asked
    left join dex_block as block on block.number = (asked.moment).block
    left join dex_private.write_state as state on true
  `,
};

/** What follows in the transaction is as of this block. Throws NoSuchBlock for one that the database does not have. */
export async function beginAsOf(
  db: { query: (statement: Statement) => Promise<{ rows: readonly Omit<PastBlock, "asked">[] }> },
  asked: AsOf,
): Promise<PastBlock> {
  const value = String(Object.values(asked)[0]);
  const { rows } = await db
    .query({ ...BEGIN_AS_OF, values: [value] })
    .catch((error: unknown) => Promise.reject(withNoSuchBlock(error) as Error));
  const [found] = rows;
  if (found === undefined) throw new Error(`no row of the block that is ${value}`);
  return { ...found, asked };
}
