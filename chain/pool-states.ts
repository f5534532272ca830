// What pools have, as the database keeps it: reserves, or a price with liquidity in ranges.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { from as copyFrom } from "pg-copy-streams";
import type { Client } from "../db/connect.ts";
import { checksumAddress } from "../db/load/checksum.ts";
import { smallestUnits, type PoolRow } from "./block-rows.ts";
import { LARGEST_BLOCK, type Fact, type RangesFact, type TickLiquidity } from "./exchange-facts.ts";
import { Contradiction } from "./offers-left.ts";

export interface KeptState {
  /** The block after which it has this. */
  block: number;
  /** Its reserves in the smallest units; or the square root of its price, its tick and its liquidity. */
  has: readonly bigint[];
}

/** Of these pools that have a state, up to this block, by address. */
export async function keptStates(
  client: Client,
  venues: readonly string[],
  upTo = LARGEST_BLOCK,
): Promise<Map<string, KeptState>> {
  if (venues.length === 0) return new Map();
  const { rows } = await client.query<
    { venue: string; block: number; gem0: string; gem1: string } & Record<
      "reserve0" | "reserve1",
      string | null
    > & { decimals: [number | null, number | null]; ranges: string[] }
  >(
    `select
      given.venue,
      state.block,
      pool.gem0,
      trim_scale(state.reserve0)::text as reserve0,
      pool.gem1,
      trim_scale(state.reserve1)::text as reserve1,
      array[token0.decimals, token1.decimals] as decimals,
      array[state.sqrt_price::text, state.tick::text, state.liquidity::text] as ranges
    from unnest($1::text[]) as given (venue)
    join dex_pool as pool on lower(pool.venue) = lower(given.venue)
    left join dex_token as token0 on lower(token0.address) = lower(pool.gem0)
    left join dex_token as token1 on lower(token1.address) = lower(pool.gem1)
    cross join lateral dex_private.pool_state_at(pool.venue, $2) as state`,
    [venues, upTo],
  );
  const kept = new Map<string, KeptState>();
  for (const { venue, block, gem0, reserve0, gem1, reserve1, decimals, ranges } of rows) {
    const [first, second] = decimals;
    const has =
      reserve0 === null || reserve1 === null
        ? ranges.map(BigInt)
        : [smallestUnits(reserve0, gem0, first), smallestUnits(reserve1, gem1, second)];
    kept.set(venue, { block, has });
  }
  return kept;
}

/**
 * The facts with whole states of pools with liquidity in ranges: what their logs do not say is that of the facts before, or of the
 * database, up to this block. Throws a `Contradiction` where neither has it.
 */
export async function withRanges(
  client: Client,
  facts: readonly Fact[],
  decimalsOf: (token: string) => number | undefined,
  upTo = LARGEST_BLOCK,
): Promise<readonly Fact[]> {
  const isKept = ({ lotGem, bidGem }: RangesFact): boolean =>
    [lotGem, bidGem].every((token) => decimalsOf(token) !== undefined);
  const changed = facts.filter((fact) => fact.kind === "ranges").filter(isKept);
  if (changed.length === 0) return facts;
  const venues = [...new Set(changed.map(({ venue }) => venue))];
  const kept = await keptStates(client, venues, upTo);
  const ticks = await keptTicks(client, changed, upTo);
  return facts.map((fact) => {
    if (fact.kind !== "ranges" || !isKept(fact)) return fact;
    const { venue, block } = fact;
    const price = fact.price ?? priceAfter(fact, kept.get(venue));
    const { sqrtPrice, tick, liquidity } = price;
    kept.set(venue, { block, has: [sqrtPrice, BigInt(tick), liquidity] });
    const changes = [...fact.changes].sort(([one], [other]) => one - other);
    const own = changes.map(([at, change]) => {
      const { net, gross } = ticks.get(`${venue} ${at}`) ?? { net: 0n, gross: 0n };
      const has = { net: net + change.net, gross: gross + change.gross };
      ticks.set(`${venue} ${at}`, has);
      return textOf(fact, at, has);
    });
    return { ...fact, price, nets: own.join(" ") };
  });
}

/** The gross liquidity is left out where all ranges begin at the tick, or all end there. */
function textOf({ venue, block }: RangesFact, tick: number, { net, gross }: TickLiquidity): string {
  const least = net < 0n ? -net : net;
  if (gross < least) {
    throw new Contradiction(
      `the tick ${tick} of the pool ${venue} has the net liquidity ${net} and the gross liquidity ${gross} after block ${block}: a change of its liquidity is missing`,
      0,
    );
  }
  return gross === least ? `${tick}:${net}` : `${tick}:${net}:${gross}`;
}

/** Where no log of a block says the price, ranges that it is in have changed, and the price has not. */
function priceAfter({ venue, block, changes }: RangesFact, before: KeptState | undefined) {
  const [sqrtPrice, tick, liquidity] = before?.has ?? [];
  if (sqrtPrice === undefined || tick === undefined || liquidity === undefined) {
    throw new Contradiction(
      `the pool ${venue} has a change of its liquidity in block ${block}, and no Initialize before it: its first block is that in which it was made`,
      block,
    );
  }
  let after = liquidity;
  for (const [at, { net }] of changes) if (BigInt(at) <= tick) after += net;
  return { sqrtPrice, tick: Number(tick), liquidity: after };
}

/** The liquidity of the ticks that these facts change, by pool and tick. */
async function keptTicks(
  client: Client,
  facts: readonly RangesFact[],
  upTo: number,
): Promise<Map<string, TickLiquidity>> {
  const ticks = facts.flatMap(({ venue, changes }) =>
    [...changes.keys()].map((at) => ({ venue, at })),
  );
  const { rows } = await client.query<{ name: string; net: string; gross: string }>(
    `select given.venue || ' ' || given.tick as name, kept.net::text as net, kept.gross::text as gross
    from (
      select distinct *
      from unnest($1::text[], $2::integer[]) as listed (venue, tick)
    ) as given
    join dex_pool as pool on lower(pool.venue) = lower(given.venue)
    cross join lateral dex_private.pool_ticks_at(pool.venue, given.tick, given.tick, $3) as kept`,
    [ticks.map(({ venue }) => venue), ticks.map(({ at }) => at), upTo],
  );
  return new Map(
    rows.map(({ name, net, gross }) => [name, { net: BigInt(net), gross: BigInt(gross) }]),
  );
}

/** The pools that have another state after this block. */
export async function changedPools(client: Client, after: number): Promise<string[]> {
  const { rows } = await client.query<{ venue: string }>(
    "select distinct venue from dex_pool_state where block > $1 order by venue",
    [after],
  );
  return rows.map(({ venue }) => checksumAddress(venue));
}

const STAGED = [
  ...["venue", "gem0", "reserve0", "gem1", "reserve1", "fee", "tick_spacing", "sqrt_price"],
  ...["tick", "liquidity", "nets", "block", "time"],
] as const;

/** For `ingest.write_blocks` in the same transaction. No value has a character that COPY treats specially. */
export async function stagePools(client: Client, pools: readonly PoolRow[]): Promise<void> {
  if (pools.length === 0) return;
  const lines = pools.map((row) => STAGED.map((name) => row[name] ?? "\\N").join("\t"));
  const sql = `copy ingest.staged_pool (${STAGED.join(", ")}) from stdin`;
  await pipeline(Readable.from(`${lines.join("\n")}\n`), client.query(copyFrom(sql)));
}
