// Verifies the history, and compares the derived data with it.
import type { Client } from "../connect.ts";
import { Differences, type Difference } from "./differences.ts";
import { MARKET_FIGURES, PERIOD_FIGURES, RUNNING_SUMS } from "./figures.ts";
import { verifyHistory } from "./history-rules.ts";

/** Two queries with the same columns: the kept rows, by default the whole table, and the correct rows. */
interface Kept {
  name: string;
  key: readonly string[];
  kept?: string;
  right: string;
}

const KEPT: readonly Kept[] = [
  {
    name: "dex_pair",
    key: ["base_gem", "quote_gem"],
    kept: `
      select base_gem, quote_gem, base, quote, base_precision, quote_precision
      from dex_pair`,
    right: `
      select
        pair.base_gem,
        pair.quote_gem,
        upper(base.symbol),
        upper(quote.symbol),
        base.decimals,
        quote.decimals
      from dex_pair as pair
      join dex_token as base on base.address = pair.base_gem
      join dex_token as quote on quote.address = pair.quote_gem`,
  },
  {
    name: "dex_trade",
    key: ["id"],
    kept: `
      select
        trade.id, trade.lot_gem, trade.bid_gem, trade.market_id, trade.market, trade.act, trade.lot_tkn, trade.bid_tkn,
        trade.price
      from dex_trade as trade
      join dex_private.mislabelled_trade as wrong on wrong.id = trade.id`,
    right: "table dex_private.mislabelled_trade",
  },
  {
    name: "dex_offer",
    key: ["id"],
    kept: `
      select
        offer.id, offer.lot_gem, offer.bid_gem, offer.market_id, offer.market, offer.act, offer.lot_tkn, offer.bid_tkn,
        offer.price, offer.filled
      from dex_offer as offer
      join dex_private.mislabelled_offer as wrong on wrong.id = offer.id`,
    right: "table dex_private.mislabelled_offer",
  },
  {
    name: "dex_pool",
    key: ["venue"],
    kept: `
      select pool.venue, pool.market_id, pool.act
      from dex_pool as pool
      join dex_private.mislabelled_pool as wrong on wrong.venue = pool.venue`,
    right: "table dex_private.mislabelled_pool",
  },
  {
    name: "dex_private.pool_tick",
    key: ["venue", "tick", "block"],
    right: "table dex_private.derived_pool_tick",
  },
  {
    name: "dex_private.offer_left",
    key: ["offer_id"],
    right: "table dex_private.derived_offer_left",
  },
  {
    name: "dex_private.cancellation",
    key: ["offer_id"],
    kept: `
      select cancellation.offer_id, cancellation.block
      from dex_private.cancellation
      join dex_offer as offer on offer.id = cancellation.offer_id`,
    right: "select id, killed from dex_offer where killed > 0",
  },
  {
    name: "dex_private.offer_ref",
    key: ["offer_id"],
    right: `
      select
        coalesce(lower(offer.venue), known.venue),
        coalesce(offer.ref, known.ref),
        seen.id,
        seen.block
      from (
        select id, min(block) as block
        from (
          select id, block from dex_offer where ref is not null
          union all
          select offer_id, trade.block from dex_trade as trade join dex_private.offer_ref using (offer_id)
          union all
          select offer_id, ended.block from dex_private.cancellation as ended join dex_private.offer_ref using (offer_id)
        ) as rows
        group by id
      ) as seen
      left join dex_offer as offer on offer.id = seen.id
      left join dex_private.offer_ref as known on known.offer_id = seen.id`,
  },
  {
    name: "dex_private.standing_offer",
    key: ["offer_id"],
    kept: "select offer_id, market_id, act, price, made from dex_private.standing_offer",
    right: "select offer_id, market_id, act, price, made from dex_private.derived_standing_offer",
  },
  {
    name: "dex_offer",
    key: ["id"],
    kept: "select id, ended from dex_offer",
    right: "table dex_private.derived_offer_end",
  },
  {
    name: "dex_private.ended_offer",
    key: ["offer_id"],
    right: "table dex_private.derived_ended_offer",
  },
  {
    name: "dex_private.best_price",
    key: ["market_id", "act", "block"],
    right: `
      select *
      from dex_private.derived_best_prices(array(select id from dex_pair), -1)`,
  },
  {
    name: "dex_private.period_figure",
    key: ["market_id", "minutes", "start"],
    right: PERIOD_FIGURES,
  },
  {
    name: "dex_private.running_sum",
    key: ["market_id", "block"],
    right: RUNNING_SUMS,
  },
  {
    name: "dex_private.market_figure",
    key: ["market_id"],
    right: MARKET_FIGURES,
  },
  {
    name: "dex_block",
    key: ["number"],
    kept: "select number, time, first_trade, has_rows from dex_private.misplaced_block",
    right:
      "select number, right_time, right_first_trade, right_has_rows from dex_private.misplaced_block",
  },
  {
    name: "dex_private.write_state",
    key: ["one_row"],
    kept: "select one_row, head, head_hash, last_trade from dex_private.write_state",
    right: "table dex_private.derived_write_state",
  },
];

/**
 * Returns the differences, first those of the history and its digests, at most 100 per rule and table; `found` has the number of all. There are none if all rows were written by the functions
 * of ingest. Reads the whole history, one statement per table; call it in a repeatable read transaction
 * for a consistent result. Blocks neither readers nor writers.
 */
export async function verify(client: Client, found = new Differences()): Promise<Difference[]> {
  // Autovacuum counts no row of a load in flight. Then the planner takes the tables for empty, and loops over them for hours.
  await client.query("set enable_nestloop = off");
  try {
    await verifyHistory(client, found);
    for (const [n, kept] of KEPT.entries()) {
      await found.add(client, { name: `verify ${n} ${kept.name}`, text: comparing(kept) });
    }
    return found.shown;
  } finally {
    // In a transaction that an error has ended, the setting has ended too.
    await client.query("reset enable_nestloop").catch(() => undefined);
  }
}

function comparing({ name, key, kept = `table ${name}`, right }: Kept): string {
  const columns = key.map((column) => `"${column}"`);
  const shown = `concat_ws(' ', '${name}', ${columns.map((column) => `coalesce(${column}::text, 'null')`).join(", ")})`;
  return `
    with kept as materialized (${kept}),
    expected as materialized (select * from kept where false union all (${right})),
    excess as (select ${shown} as row, to_json(excess)::text as json from (table kept except table expected) as excess),
    missing as (select ${shown} as row, to_json(missing)::text as json from (table expected except table kept) as missing)
    select
      row,
      excess.json as kept,
      missing.json as right
    from excess
    full join missing using (row)
    order by row`;
}
