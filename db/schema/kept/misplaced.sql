-- Compares dex_block and write_state with the rows of history.

create view dex_private.misplaced_block as
select
  found.number,
  block.time,
  block.first_trade,
  block.has_rows,
  coalesce(found.time, block.time) as right_time,
  case
    when block.first_trade > found.highest_before and block.first_trade <= coalesce(found.lowest_from, block.first_trade)
      then block.first_trade
    else coalesce(found.lowest_from, found.highest_before + 1)
  end as right_first_trade,
  found.has_rows as right_has_rows
from (
  select
    row_block.number,
    max(row_block.time) as time,
    bool_or(row_block.is_row) as has_rows,
    coalesce(
      max(max(row_block.highest)) over (
        order by row_block.number
        rows between unbounded preceding and 1 preceding
      ),
      0
    ) as highest_before,
    min(min(row_block.lowest)) over (order by row_block.number desc) as lowest_from
  from (
    select
      trade.block as number,
      trade.time,
      true as is_row,
      min(trade.id) as lowest,
      max(trade.id) as highest
    from public.dex_trade as trade
    group by
      trade.block,
      trade.time
    union all
    select offer.block, offer.time, true, null as lowest, null as highest
    from public.dex_offer as offer
    union all
    select cancellation.block, null as time, true, null as lowest, null as highest
    from dex_private.cancellation
    union all
    select state.block, null as time, true, null as lowest, null as highest
    from public.dex_pool_state as state
    union all
    select block.number, null as time, false, null as lowest, null as highest
    from public.dex_block as block
  ) as row_block
  group by row_block.number
) as found
left join public.dex_block as block on block.number = found.number
where block.number is null
  or block.time <> found.time
  or block.has_rows <> found.has_rows
  or block.first_trade <= found.highest_before
  or block.first_trade > found.lowest_from;
comment on view dex_private.misplaced_block is 'Blocks that are missing or contradict their rows, with the correct values.';

-- No trade has an id that was taken back, but first_trade of a later block is above it.
create view dex_private.derived_write_state as
select
  one.row as one_row,
  head.number as head,
  head.hash as head_hash,
  greatest(
    kept.last_trade,
    head.first_trade - 1,
    (select max(trade.id) from public.dex_trade as trade),
    0
  ) as last_trade
from (values (true)) as one (row)
left join dex_private.write_state as kept on true
left join dex_private.last_block as head on true;
comment on view dex_private.derived_write_state is 'The correct row of write_state, without its epoch.';
