// Holds a database that was made set-wise against what its triggers and views would have made of it.
import type { Client } from "../../db/connect.ts";

/**
 * The figures of three markets by their definition, from nothing but trades and offers. Not the book
 * of the busiest: what is left of each of its offers is minutes of work at ten million trades.
 */
const BRUTE_FORCE = `
  select
    pair.base || '/' || pair.quote as pair,
    day.vol,
    day.low,
    day.high,
    dex_private.quotient(day.quote_24h, day.vol) as vwap24h,
    dex_private.quotient(day.quote_12h, day.base_12h) as vwap12h,
    dex_private.quotient(day.quote_6h, day.base_6h) as vwap6h,
    dex_private.quotient(day.quote_1h, day.base_1h) as vwap1h,
    (
      select trade.price
      from dex_private.market_row as trade
      where trade.market_id = any (array[pair.id])
      order by
        trade.market_id desc,
        trade.id desc
      limit 1
    ) as last,
    book.bid,
    book.ask
  from dex_pair as pair
  cross join dex_head as head
  cross join lateral (
    select
      sum(trade.base_amt) as vol,
      sum(trade.quote_amt) as quote_24h,
      sum(trade.base_amt) filter (where trade.time > head.time - interval '12 hours') as base_12h,
      sum(trade.quote_amt) filter (where trade.time > head.time - interval '12 hours') as quote_12h,
      sum(trade.base_amt) filter (where trade.time > head.time - interval '6 hours') as base_6h,
      sum(trade.quote_amt) filter (where trade.time > head.time - interval '6 hours') as quote_6h,
      sum(trade.base_amt) filter (where trade.time > head.time - interval '1 hour') as base_1h,
      sum(trade.quote_amt) filter (where trade.time > head.time - interval '1 hour') as quote_1h,
      min(trade.price) as low,
      max(trade.price) as high
    from dex_private.market_row as trade
    where trade.market_id = pair.id
      and trade.time > head.time - interval '24 hours'
      and trade.time <= head.time
  ) as day
  cross join lateral (
    select
      max(offer.price) filter (where offer.act = 'buy') as bid,
      min(offer.price) filter (where offer.act = 'sell') as ask
    from dex_offer as offer
    where offer.market_id = pair.id
      and pair.market <> 'WETHDAI'
      and (offer.killed = 0 or offer.killed > head.block)
      and offer.lot_amt > (
        select coalesce(sum(trade.lot_amt), 0)
        from dex_trade as trade
        where trade.offer_id = offer.id
      )
  ) as book
  where pair.market in ('WETHDAI', 'TKN02USDC', 'TKN37USDC')`;

const SHOWN = `
  select
    pair,
    vol,
    low,
    high,
    vwap24h,
    vwap12h,
    vwap6h,
    vwap1h,
    last,
    case when pair <> 'WETH/DAI' then bid end as bid,
    case when pair <> 'WETH/DAI' then ask end as ask
  from dex_private.market_figure`;

/** Every 9,973rd trade and its offer: enough of each market to notice a rule that differs. */
const SAMPLE = `
  select
    to_jsonb(trade) as trade,
    to_jsonb(offer) as offer
  from dex_trade as trade
  join dex_offer as offer on offer.id = trade.offer_id
  where trade.id % 9973 = 0`;

/** Throws where a figure, a derived column or a sum differs from the database's own. */
export async function verify(client: Client): Promise<void> {
  await expectEqual(client, "figures of the views", `${BRUTE_FORCE} except ${SHOWN}`);
  await client.query("savepoint derived");
  await client.query(`create table bench.sampled as ${SAMPLE}`);
  await client.query("update dex_trade set market = market where id % 9973 = 0");
  await client.query(
    `update dex_offer set
      market = market,
      spent_block = spent_block
    where id in (select (trade ->> 'offer_id')::integer from bench.sampled)`,
  );
  await expectEqual(client, "derived columns", `(${SAMPLE}) except select * from bench.sampled`);
  await client.query(
    `create table bench.kept as
    select *
    from dex_private.minute_figure`,
  );
  await client.query(
    `select dex_private.recompute_figures(array_agg(market_id), array_agg(minute))
    from (
      select
        market_id,
        minute
      from dex_private.minute_figure
      where hashint8(extract(epoch from minute)::bigint) % 997 = 0
      limit 2000
    ) as sample`,
  );
  await expectEqual(
    client,
    "sums of minutes",
    "select * from dex_private.minute_figure except select * from bench.kept",
  );
  // Nothing of this stays: the trades are as they were made.
  await client.query("rollback to savepoint derived");
}

async function expectEqual(client: Client, what: string, differences: string): Promise<void> {
  const { rows } = await client.query<object>(`${differences} limit 1`);
  if (rows.length === 0) return;
  throw new Error(`the database that was made is wrong in its ${what}: ${JSON.stringify(rows[0])}`);
}
