-- All market figures in one view; the published views select from it.

-- In plpgsql, which the planner does not inline: as of the head it is one expression of the plan instead of ten.
create function dex_private.vwap_of(quote_amt numeric, base_amt numeric) returns numeric
language plpgsql immutable parallel safe
as $$
begin
  return dex_private.quotient(quote_amt, base_amt);
end
$$;
comment on function dex_private.vwap_of(numeric, numeric) is 'The volume weighted price of these sums, as quotient.';
grant execute on function dex_private.vwap_of(numeric, numeric) to dex_reader, dex_writer;

-- What a past block needs is in functions, and in few expressions. As of the head they are not called, and each node or expression of
-- a plan costs time before the first row. The volatile column keeps the planner from evaluating `windows` and `prices` for
-- each column that reads them. It drops the one of which no column is selected. Conditions on the pair
-- are evaluated before them. `asked` is as_of in fewer nodes. It refuses figures that are not of the head, and a block that is not
-- there: whatever is selected, and also where there is no row. The condition has it evaluated first, and once for all columns.
create view dex_private.head_figure as
select
  kept.base || '/' || kept.quote as pair,
  kept.base,
  kept.quote,
  coalesce((kept.prices).active, kept.active) as active,
  case when kept.is_past then (kept.windows).last else kept.last end as last,
  case when kept.is_past then (kept.windows).last_time else kept.last_time end as last_time,
  case when kept.is_past then (kept.windows).open else kept.open end as open,
  case when kept.is_past then (kept.windows).last - (kept.windows).open else kept.last - kept.open end as change,
  case when kept.is_past then (kept.windows).low else kept.low end as low,
  case when kept.is_past then (kept.windows).high else kept.high end as high,
  case when kept.is_past then (kept.prices).bid else kept.bid end as bid,
  case when kept.is_past then (kept.prices).ask else kept.ask end as ask,
  case when kept.is_past then (kept.windows).trades_24h else kept.trades_24h end as trades,
  case when kept.is_past then (kept.windows).base_24h when kept.trades_24h > 0 then kept.base_24h end as vol,
  case when kept.is_past then (kept.windows).quote_24h when kept.trades_24h > 0 then kept.quote_24h end as quote_vol,
  case when kept.is_past then dex_private.vwap_of((kept.windows).quote_24h, (kept.windows).base_24h) else dex_private.quotient(kept.quote_24h, kept.base_24h) end as vwap24h,
  case when kept.is_past then dex_private.vwap_of((kept.windows).quote_12h, (kept.windows).base_12h) else dex_private.quotient(kept.quote_12h, kept.base_12h) end as vwap12h,
  case when kept.is_past then dex_private.vwap_of((kept.windows).quote_6h, (kept.windows).base_6h) else dex_private.quotient(kept.quote_6h, kept.base_6h) end as vwap6h,
  case when kept.is_past then dex_private.vwap_of((kept.windows).quote_1h, (kept.windows).base_1h) else dex_private.quotient(kept.quote_1h, kept.base_1h) end as vwap1h
from (
  with asked as materialized (
    select case
      when (state.head is distinct from head.number or state.head_hash is distinct from head.hash) and dex_private.is_checked() then null
      when dex_private.is_past() then dex_private.named_moment_below(head.number)
      else row(head.number, null, null)::dex_private.last_moment
    end as moment
    from dex_private.write_state as state
    left join dex_private.last_block as head on true
  )
  select
    market.*,
    dex_private.is_past() as is_past,
    case when dex_private.is_past() then dex_private.windows_at(market.market_id, (select asked.moment from asked)) end as windows,
    case when dex_private.is_past() then dex_private.prices_at(market.market_id, (select asked.moment from asked)) end as prices,
    clock_timestamp() as fence
  from dex_private.market_figure as market
  where (select asked.moment from asked) is distinct from null
) as kept;
comment on view dex_private.head_figure is 'All figures of all registered markets, as of what as_of names.';
