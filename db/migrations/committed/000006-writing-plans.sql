--! Previous: sha1:fc5518803100e7a703b953eb6156cd29ce0f26e7
--! Hash: sha1:010ddabae289dca2cffc3e635291f04a0bdb2d43
--! Message: writing-plans

-- What writes ask is planned once a session, and a session may begin on empty tables: a plan that
-- reads a whole table is then kept while the table grows. So none of these may be planned that way.

alter function dex_private.derive_state()
set enable_seqscan = off;
alter function dex_private.start_epoch()
set enable_seqscan = off;
alter function dex_private.change_figures()
set enable_seqscan = off;
alter function dex_private.recompute_figures(integer[], timestamptz[])
set enable_seqscan = off;
alter function dex_private.move_figures()
set enable_seqscan = off;

create or replace function dex_private.count_taken() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  if tg_op = 'TRUNCATE' then
    truncate dex_private.offer_taken;
    update public.dex_offer set spent_block = null where spent_block is not null;
    return null;
  end if;

  insert into dex_private.offer_taken as kept (offer_id, lot_amt)
  select
    changed.offer_id,
    sum(case tg_op when 'INSERT' then changed.lot_amt else -changed.lot_amt end)
  from changed
  group by changed.offer_id
  on conflict (offer_id) do update set lot_amt = kept.lot_amt + excluded.lot_amt;

  -- derive_state finds out anew since when it is spent, or that it is not.
  update public.dex_offer as offer
  set spent_block = null
  from (
    select distinct changed.offer_id
    from changed
  ) as touched
  join dex_private.offer_taken as taken on taken.offer_id = touched.offer_id
  where offer.id = touched.offer_id
    and (taken.lot_amt >= offer.lot_amt or offer.spent_block is not null);
  return null;
end
$$;
