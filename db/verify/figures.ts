// The figures of all markets, computed from tokens, pairs, blocks, trades and offers by plain SQL: it shares no function
// with what keeps them, nor the order of trades by id.

const DEALT = `
  select
    pair.id as market_id,
    trade.block,
    trade.idx,
    trade.time,
    trade.price,
    case trade.lot_gem when pair.base_gem then trade.lot_amt else trade.bid_amt end as base_amt,
    case trade.lot_gem when pair.base_gem then trade.bid_amt else trade.lot_amt end as quote_amt
  from dex_trade as trade
  join dex_pair as pair
    on (pair.base_gem, pair.quote_gem) in ((trade.lot_gem, trade.bid_gem), (trade.bid_gem, trade.lot_gem))`;

/** In SQL: the price of the newest of these trades that has one, or of the oldest. */
const priceOf = (which: "newest" | "oldest", condition = "true"): string => {
  const order = which === "newest" ? "dealt.block desc, dealt.idx desc" : "dealt.block, dealt.idx";
  return `(array_agg(dealt.price order by ${order}) filter (where dealt.price is not null and ${condition}))[1]`;
};

const since = (hours: number): string => `dealt.time > head.time - interval '${hours} hours'`;

const sums = [24, 12, 6, 1].flatMap((hours) =>
  ["base", "quote"].map(
    (side) =>
      `coalesce(sum(dealt.${side}_amt) filter (where ${since(hours)}), 0) as ${side}_${hours}h`,
  ),
);

/** The rows of market_figure. */
export const MARKET_FIGURES = `
  select
    pair.id,
    pair.base,
    pair.quote,
    pair.active,
    traded.last,
    traded.last_time,
    traded.open,
    greatest(book.bid, pooled.bid),
    least(book.ask, pooled.ask),
    traded.low,
    traded.high,
    coalesce(traded.trades_24h, 0),
    ${sums.map((sum) => `coalesce(traded.${sum.slice(sum.lastIndexOf(" ") + 1)}, 0)`).join(",\n    ")}
  from dex_pair as pair
  left join (
    select
      dealt.market_id,
      ${priceOf("newest")} as last,
      max(dealt.time) filter (where dealt.price is not null) as last_time,
      ${priceOf("newest", `not ${since(24)}`)} as open,
      min(dealt.price) filter (where ${since(24)}) as low,
      max(dealt.price) filter (where ${since(24)}) as high,
      (count(*) filter (where ${since(24)}))::integer as trades_24h,
      ${sums.join(",\n      ")}
    from (${DEALT}) as dealt
    cross join (select max(time) as time from dex_block) as head
    group by dealt.market_id
  ) as traded on traded.market_id = pair.id
  left join (
    select
      pair.id as market_id,
      max(offer.price) filter (where offer.lot_gem = pair.quote_gem) as bid,
      min(offer.price) filter (where offer.lot_gem = pair.base_gem) as ask
    from dex_offer as offer
    join dex_pair as pair
      on (pair.base_gem, pair.quote_gem) in ((offer.lot_gem, offer.bid_gem), (offer.bid_gem, offer.lot_gem))
    where offer.killed = 0
      and not offer.filled
    group by pair.id
  ) as book on book.market_id = pair.id
  left join (
    select
      has.market_id,
      max(div(2 * has.quote_amt * has.counted * 1e18 + has.base_amt * 1e6, 2 * has.base_amt * 1e6) * 1e-18) as bid,
      min(div(2 * has.quote_amt * 1e6 * 1e18 + has.base_amt * has.counted, 2 * has.base_amt * has.counted) * 1e-18) as ask
    from (
      select
        pair.id as market_id,
        pair.base_precision,
        pair.quote_precision,
        1000000 - pool.fee as counted,
        case lower(pool.gem0) when lower(pair.base_gem) then coalesce(state.reserve0, ranged.first) else coalesce(state.reserve1, ranged.second) end as base_amt,
        case lower(pool.gem0) when lower(pair.base_gem) then coalesce(state.reserve1, ranged.second) else coalesce(state.reserve0, ranged.first) end as quote_amt
      from dex_pool as pool
      join dex_pair as pair
        on (lower(pair.base_gem), lower(pair.quote_gem))
          in ((lower(pool.gem0), lower(pool.gem1)), (lower(pool.gem1), lower(pool.gem0)))
      join (
        select distinct on (venue) *
        from dex_pool_state
        order by venue, block desc
      ) as state on state.venue = pool.venue
      cross join lateral (
        select
          round(2::numeric ^ 192) * round(10::numeric ^ case lower(pool.gem0) when lower(pair.base_gem) then pair.quote_precision else pair.base_precision end) as first,
          state.sqrt_price * state.sqrt_price * round(10::numeric ^ case lower(pool.gem0) when lower(pair.base_gem) then pair.base_precision else pair.quote_precision end) as second
      ) as ranged
      where state.liquidity is distinct from 0
    ) as has
    -- A whole smallest unit of both.
    where has.base_amt * round(10::numeric ^ has.base_precision) >= 1
      and has.quote_amt * round(10::numeric ^ has.quote_precision) >= 1
    group by has.market_id
  ) as pooled on pooled.market_id = pair.id`;

/** The rows of period_figure. */
export const PERIOD_FIGURES = `
  select
    dealt.market_id,
    period.minutes,
    date_trunc(period.unit, dealt.time, 'UTC'),
    count(*)::integer,
    sum(dealt.base_amt),
    sum(dealt.quote_amt),
    ${priceOf("oldest")},
    max(dealt.price),
    min(dealt.price),
    ${priceOf("newest")},
    (count(*) filter (where dealt.price is null))::integer,
    coalesce(sum(dealt.quote_amt) filter (where dealt.price is null), 0)
  from (${DEALT}) as dealt
  cross join (values (1, 'minute'), (60, 'hour')) as period (minutes, unit)
  group by 1, 2, 3`;

/** The rows of running_sum. The 24 hours up to a row are the rest of one day of UTC, from their first row on, and the start of the next. */
export const RUNNING_SUMS = `
  with traded as (
    select
      dealt.market_id,
      dealt.time,
      dealt.block,
      date_trunc('day', dealt.time, 'UTC') as day,
      count(*) as trades,
      sum(dealt.base_amt) as base_amt,
      sum(dealt.quote_amt) as quote_amt,
      ${priceOf("newest")} as last,
      min(dealt.price) as low,
      max(dealt.price) as high
    from (${DEALT}) as dealt
    group by 1, 2, 3
  ),
  of_days as (
    select
      traded.*,
      min(traded.low) over start_of_day as start_low,
      max(traded.high) over start_of_day as start_high,
      min(traded.low) over rest_of_day as rest_low,
      max(traded.high) over rest_of_day as rest_high
    from traded
    window
      start_of_day as (partition by traded.market_id, traded.day order by traded.block),
      rest_of_day as (partition by traded.market_id, traded.day order by traded.block desc)
  )
  select
    summed.market_id,
    summed.time,
    summed.block,
    summed.trades,
    summed.base_amt,
    summed.quote_amt,
    priced.last,
    priced.time,
    summed.low,
    summed.high,
    least(summed.start_low, case when summed.first_day < summed.day then summed.first_rest_low end),
    greatest(summed.start_high, case when summed.first_day < summed.day then summed.first_rest_high end)
  from (
    select
      of_days.market_id,
      of_days.time,
      of_days.block,
      of_days.day,
      of_days.low,
      of_days.high,
      of_days.start_low,
      of_days.start_high,
      first_value(of_days.day) over within_day as first_day,
      first_value(of_days.rest_low) over within_day as first_rest_low,
      first_value(of_days.rest_high) over within_day as first_rest_high,
      (sum(of_days.trades) over up_to)::bigint as trades,
      sum(of_days.base_amt) over up_to as base_amt,
      sum(of_days.quote_amt) over up_to as quote_amt,
      max(of_days.block) filter (where of_days.last is not null) over up_to as priced_block
    from of_days
    window
      up_to as (partition by of_days.market_id order by of_days.block),
      within_day as (
        partition by of_days.market_id
        order by of_days.time
        range between interval '23:59:59.999999' preceding and current row
      )
  ) as summed
  left join traded as priced
    on priced.market_id = summed.market_id
    and priced.block = summed.priced_block`;
