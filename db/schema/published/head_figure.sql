-- All market figures in one view; the published views select from it.

create view dex_private.head_figure as
select
  pair.base || '/' || pair.quote as pair,
  pair.base,
  pair.quote,
  pair.active,
  kept.last,
  kept.last_time,
  kept.open,
  kept.last - kept.open as change,
  kept.low,
  kept.high,
  kept.bid,
  kept.ask,
  kept.trades_24h as trades,
  case when kept.trades_24h > 0 then kept.base_24h end as vol,
  case when kept.trades_24h > 0 then kept.quote_24h end as quote_vol,
  dex_private.quotient(kept.quote_24h, kept.base_24h) as vwap24h,
  dex_private.quotient(kept.quote_12h, kept.base_12h) as vwap12h,
  dex_private.quotient(kept.quote_6h, kept.base_6h) as vwap6h,
  dex_private.quotient(kept.quote_1h, kept.base_1h) as vwap1h
from public.dex_pair as pair
join dex_private.market_figure as kept on kept.market_id = pair.id;
comment on view dex_private.head_figure is 'All figures of all registered markets as of the head.';
