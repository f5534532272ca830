// What pools have of their two tokens, as the database keeps it.
import type { Client } from "../db/connect.ts";
import { smallestUnits, type PoolRow } from "./block-rows.ts";
import type { Both } from "./exchange-facts.ts";

export interface KeptReserves {
  /** The block after which it has this. */
  block: number;
  has: Both;
}

const LARGEST_BLOCK = 2 ** 31 - 1;

/** Of these pools that have a state, up to this block, by address. `decimalsOf` gives the decimals of a token. */
export async function keptReserves(
  client: Client,
  venues: readonly string[],
  decimalsOf: (token: string) => number | undefined,
  upTo = LARGEST_BLOCK,
): Promise<Map<string, KeptReserves>> {
  if (venues.length === 0) return new Map();
  const { rows } = await client.query<Omit<PoolRow, "time" | "fee">>(
    `select
      given.venue,
      state.block,
      pool.gem0,
      trim_scale(state.reserve0)::text as reserve0,
      pool.gem1,
      trim_scale(state.reserve1)::text as reserve1
    from unnest($1::text[]) as given (venue)
    join dex_pool as pool on pool.venue = given.venue
    cross join lateral dex_private.pool_state_at(given.venue, $2) as state`,
    [venues, upTo],
  );
  const kept = new Map<string, KeptReserves>();
  for (const { venue, block, gem0, reserve0, gem1, reserve1 } of rows) {
    const [first, second] = [decimalsOf(gem0), decimalsOf(gem1)];
    if (first === undefined || second === undefined) continue;
    kept.set(venue, {
      block,
      has: [smallestUnits(reserve0, first), smallestUnits(reserve1, second)],
    });
  }
  return kept;
}

/** The pools that have another state after this block. */
export async function changedPools(client: Client, after: number): Promise<string[]> {
  const { rows } = await client.query<{ venue: string }>(
    "select distinct venue from dex_pool_state where block > $1 order by venue",
    [after],
  );
  return rows.map(({ venue }) => venue);
}

/** For `ingest.write_blocks` in the same transaction. */
export async function stagePools(client: Client, pools: readonly PoolRow[]): Promise<void> {
  if (pools.length === 0) return;
  await client.query(
    `insert into ingest.staged_pool (venue, gem0, reserve0, gem1, reserve1, fee, block, time)
    select venue, gem0, reserve0, gem1, reserve1, fee, block, time
    from jsonb_to_recordset($1) as pool (
      venue text, gem0 text, reserve0 numeric, gem1 text, reserve1 numeric, fee integer, block integer, time timestamptz
    )`,
    [JSON.stringify(pools)],
  );
}
