// Compares the ticks at which the ranges of a pool end, by its logs, with those that it returns.
import type { Client } from "../db/connect.ts";
import type { ContractCall, PoolTicks, TickLiquidity } from "./exchange-facts.ts";

/** A pool, and the ticks that are compared. */
interface TickedPool {
  venue: string;
  tickSpacing: number;
  /** Those that have changed. */
  changed: readonly number[];
  /** Which words of ticks. */
  words: readonly number[];
  /** The ticks in these words at which ranges end, by the logs. */
  ends: ReadonlyMap<number, TickLiquidity>;
}

/** How many of the ticks that have changed are compared: those that are nearest to the price. */
const MAX_TICKS = 50;
/** How many ticks a word has. */
const WORD = 256;

/**
 * These pools with the ticks that have changed after the block `after`, and the words of these, of the price and beside it, as they
 * are after the block `upTo`.
 */
export async function tickedPools(
  client: Client,
  pools: readonly { venue: string; tick: number }[],
  { after, upTo }: { after: number; upTo: number },
): Promise<TickedPool[]> {
  if (pools.length === 0) return [];
  const { rows } = await client.query<{ venue: string; spacing: number; changed: number[] }>(
    `select
      given.venue,
      pool.tick_spacing as spacing,
      array(
        select distinct split_part(given.pair, ':', 1)::integer
        from dex_pool_state as state
        cross join lateral string_to_table(state.nets, ' ') as given (pair)
        where state.venue = pool.venue
          and state.block > $2
          and state.block <= $3
          and state.nets <> ''
      ) as changed
    from unnest($1::text[]) as given (venue)
    join dex_pool as pool on lower(pool.venue) = lower(given.venue)`,
    [pools.map(({ venue }) => venue), after, upTo],
  );
  const found = rows.map(({ venue, spacing, changed }) => {
    const price = pools.find((pool) => pool.venue === venue)?.tick ?? 0;
    const near = changed
      .sort((one, other) => Math.abs(one - price) - Math.abs(other - price))
      .slice(0, MAX_TICKS);
    const wordOf = (tick: number): number => Math.floor(tick / (WORD * spacing));
    const middle = wordOf(price);
    const words = [...new Set([middle - 1, middle, middle + 1, ...near.map(wordOf)])];
    const ends = new Map<number, TickLiquidity>();
    return { venue, tickSpacing: spacing, changed: near, words, ends };
  });
  const listed = found.flatMap(({ words, ...pool }) => words.map((word) => ({ ...pool, word })));
  const { rows: kept } = await client.query<
    { venue: string; tick: number } & Record<keyof TickLiquidity, string>
  >(
    `select
      given.venue,
      kept.tick,
      kept.net::text as net,
      kept.gross::text as gross
    from unnest($1::text[], $2::integer[], $3::integer[]) as given (venue, low, high)
    join dex_pool as pool on lower(pool.venue) = lower(given.venue)
    cross join lateral dex_private.pool_ticks_at(pool.venue, given.low, given.high, $4) as kept`,
    [
      listed.map(({ venue }) => venue),
      listed.map(({ word, tickSpacing }) => WORD * word * tickSpacing),
      listed.map(({ word, tickSpacing }) => (WORD * (word + 1) - 1) * tickSpacing),
      upTo,
    ],
  );
  const ends = new Map(found.map((pool) => [pool.venue, pool.ends]));
  for (const { venue, tick, net, gross } of kept) {
    ends.get(venue)?.set(tick, { net: BigInt(net), gross: BigInt(gross) });
  }
  return found;
}

/** The first tick that differs; undefined also where the pool does not return one. */
export async function tickDifference(
  { tickSpacing, changed, words, ends }: TickedPool,
  ticks: PoolTicks,
  ask: <T>(call: ContractCall<T>) => Promise<T | undefined>,
) {
  const doubtful = new Set(changed);
  const all = await Promise.all(words.map((n) => ask(ticks.word(n))));
  for (const [index, n] of words.entries()) {
    const bits = all[index];
    if (bits === undefined) return undefined;
    for (let place = 0; place < WORD; place += 1) {
      const tick = (WORD * n + place) * tickSpacing;
      const isEnd = ((bits >> BigInt(place)) & 1n) === 1n;
      if (isEnd !== ends.has(tick)) doubtful.add(tick);
    }
  }
  for (const tick of doubtful) {
    const returned = await ask(ticks.at(tick));
    if (returned === undefined) return undefined;
    const kept = ends.get(tick) ?? { net: 0n, gross: 0n };
    if (returned.net !== kept.net || returned.gross !== kept.gross) {
      return { tick, kept, onChain: returned };
    }
  }
  return undefined;
}
