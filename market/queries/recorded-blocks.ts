// The recorded blocks on both sides of a block.
import type { Database } from "../../db/connect.ts";

/** Null where there is none. */
export interface Neighbours {
  previous: number | null;
  next: number | null;
  /** Whether the next one stays: a block without rows is deleted some time later. */
  nextHasRows: boolean | null;
}

/** One look into the index for each side. */
export async function findNeighbours(db: Database, block: number | null): Promise<Neighbours> {
  const { rows } = await db.query<Neighbours>({
    name: "block_neighbours",
    text: `
      select
        (
          select max(earlier.number)
          from dex_block as earlier
          where earlier.number < $1
        ) as previous,
        later.number as next,
        later.has_rows as "nextHasRows"
      from (values (true)) as one (row)
      left join lateral (
        select *
        from dex_block as block
        where block.number > $1
        order by block.number
        limit 1
      ) as later on true
    `,
    values: [block],
  });
  return rows[0] ?? { previous: null, next: null, nextHasRows: null };
}
