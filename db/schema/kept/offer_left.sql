-- The remaining lot of each offer.

create table dex_private.offer_left (
  offer_id integer
    constraint offer_left_pkey primary key,
  lot_amt numeric not null
)
with (fillfactor = 70);
comment on table dex_private.offer_left is 'The remaining lot of each recorded offer: its lot minus the lots of its recorded trades. Negative if they took more.';
comment on column dex_private.offer_left.lot_amt is 'Remaining amount of the lot token.';
grant select on dex_private.offer_left to dex_reader, dex_writer;

create view dex_private.derived_offer_left as
select
  offer.id as offer_id,
  offer.lot_amt - coalesce(
    (
      select sum(trade.lot_amt)
      from public.dex_trade as trade
      where trade.offer_id = offer.id
    ),
    0
  ) as lot_amt
from public.dex_offer as offer;
comment on view dex_private.derived_offer_left is 'The correct rows of offer_left.';

create function dex_private.keep_left(offers integer[]) returns void
language plpgsql
as $$
declare
  emptied integer[];
begin
  with kept as (
    insert into dex_private.offer_left (offer_id, lot_amt)
    select derived.*
    from unnest(offers) as given (id)
    join dex_private.derived_offer_left as derived on derived.offer_id = given.id
    returning
      offer_id,
      lot_amt
  )
  select array_agg(kept.offer_id)
  into emptied
  from kept
  where kept.lot_amt <= 0;
  if emptied is not null then
    perform dex_private.end_emptied(emptied);
  end if;
end
$$;
comment on function dex_private.keep_left(integer[]) is 'Adds what is left of these new offers, after the trades that are written before them.';
