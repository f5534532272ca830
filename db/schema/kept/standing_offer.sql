-- The standing book: the open offers of all markets.

create table dex_private.standing_offer (
  market_id integer not null,
  act text not null,
  price numeric not null,
  offer_id integer not null,
  made integer not null,
  -- Serves bid and ask, and the levels of a book in price order.
  constraint standing_offer_pkey primary key (market_id, act, price, offer_id) include (made)
);
comment on table dex_private.standing_offer is 'The offers of registered markets that have a price and are neither cancelled nor filled.';
comment on column dex_private.standing_offer.made is 'The block in which the offer was made.';
grant select on dex_private.standing_offer to dex_reader, dex_writer;

create view dex_private.derived_standing_offer as
select
  offer.market_id,
  offer.act,
  offer.price,
  offer.id as offer_id,
  offer.block as made
from public.dex_offer as offer
where offer.market_id is not null
  and offer.price is not null
  and offer.ended is null;
comment on view dex_private.derived_standing_offer is 'The correct rows of standing_offer.';

create function dex_private.enter_book(offers integer[], out touched integer[])
language plpgsql
as $$
begin
  with entered as (
    insert into dex_private.standing_offer
    select derived.*
    from unnest(offers) as given (id)
    join dex_private.derived_standing_offer as derived on derived.offer_id = given.id
    returning market_id
  )
  select coalesce(array_agg(entered.market_id), '{}')
  into touched
  from entered;
end
$$;
comment on function dex_private.enter_book(integer[]) is 'Adds the open ones of these offers to the book. Returns their markets.';

create function dex_private.leave_book(offers integer[], out touched integer[])
language plpgsql
as $$
begin
  with gone as (
    delete from dex_private.standing_offer as standing
    using unnest(offers) as given (id)
    join public.dex_offer as offer on offer.id = given.id
    where standing.market_id = offer.market_id
      and standing.act = offer.act
      and standing.price = offer.price
      and standing.offer_id = offer.id
    returning standing.market_id
  )
  select coalesce(array_agg(gone.market_id), '{}')
  into touched
  from gone;
end
$$;
comment on function dex_private.leave_book(integer[]) is 'Removes these recorded offers from the book. Returns the markets of those that were in it.';
