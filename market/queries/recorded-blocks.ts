// The recorded blocks on both sides of a block.
import type { Database } from "../../db/connect.ts";

/** Null where there is none. */
export interface Neighbours {
  previous: number | null;
  next: number | null;
  /** Whether both stay: a block without rows is deleted some time later. */
  areLasting: boolean;
}

/** One look into the index for each side. */
export async function findNeighbours(db: Database, block: number | null): Promise<Neighbours> {
  const { rows } = await db.query<Neighbours>({
    name: "block_neighbours",
    text: `
      select
        earlier.number as previous,
        later.number as next,
        coalesce(earlier.has_rows, true) and coalesce(later.has_rows, true) as "areLasting"
      from (values (true)) as one (row)
      left join lateral (
        select *
        from dex_block as block
        where block.number < $1
        order by block.number desc
        limit 1
      ) as earlier on true
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
  return rows[0] ?? { previous: null, next: null, areLasting: false };
}
