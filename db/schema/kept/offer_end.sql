-- When offers ended.

-- Reads all trades of each offer, but each offer is emptied once.
create function dex_private.end_emptied(offers integer[]) returns void
language plpgsql
as $$
begin
  update public.dex_offer as offer
  set
    filled = true,
    ended = least(offer.ended, emptied.block)
  from (
    select
      dealt.id,
      min(dealt.block) as block
    from (
      select
        made.id,
        case when made.lot_amt <= 0 then made.block else greatest(made.block, trade.block) end as block,
        made.lot_amt - coalesce(sum(trade.lot_amt) over (partition by made.id order by trade.id), 0) as lot_amt
      from unnest(offers) as given (id)
      join public.dex_offer as made on made.id = given.id
      left join public.dex_trade as trade on trade.offer_id = made.id
    ) as dealt
    where dealt.lot_amt <= 0
    group by dealt.id
  ) as emptied
  where offer.id = emptied.id
    and not offer.filled;
end
$$;
comment on function dex_private.end_emptied(integer[]) is 'Records that nothing is left of these offers, and since which block.';

create view dex_private.derived_offer_end as
select
  offer.id as offer_id,
  least(
    nullif(offer.killed, 0),
    case when offer.closed or offer.lot_amt <= 0 then offer.block end,
    emptied.block
  ) as ended
from public.dex_offer as offer
left join (
  select
    dealt.id,
    min(dealt.block) as block
  from (
    select
      offers.id,
      greatest(offers.block, trade.block) as block,
      offers.lot_amt - sum(trade.lot_amt) over (partition by trade.offer_id order by trade.id) as lot_amt
    from public.dex_trade as trade
    join public.dex_offer as offers on offers.id = trade.offer_id
  ) as dealt
  where dealt.lot_amt <= 0
  group by dealt.id
) as emptied on emptied.id = offer.id;
comment on view dex_private.derived_offer_end is 'The correct `ended` of each offer.';
