-- Gives ids to the orders of contracts beside the first book.

create function ingest.offer_ids(venues text[], refs text[], blocks integer[]) returns integer[]
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  before constant dex_private.write_state := ingest.take_turn();
  last_id constant integer := greatest(
    1073741823,
    (select max(known.offer_id) from dex_private.offer_ref as known),
    -- After a restore of the history alone, rows have ids that no table of refs has.
    (select max(offer.id) from public.dex_offer as offer),
    (select max(trade.offer_id) from public.dex_trade as trade)
  );
begin
  perform ingest.refuse((
    select case
      when coalesce(given.venue, '') !~ '^0x[0-9a-fA-F]{40}$' then
        format('venues[%s] is %s: it must be 0x and 40 hex digits', given.place - 1, coalesce(left(given.venue, 90), 'null'))
      when coalesce(length(given.ref), 0) not between 1 and 100 or given.ref !~ '\S' then
        format('refs[%s] is %s: it must be a text of 1 to 100 characters, not of blanks alone', given.place - 1, coalesce(left(given.ref, 90), 'null'))
      else format('blocks[%s] is %s: it must be after the head, block %s', given.place - 1, coalesce(given.block::text, 'null'), before.head)
    end
    from unnest(offer_ids.venues, offer_ids.refs, offer_ids.blocks) with ordinality as given (venue, ref, block, place)
    where coalesce(given.venue, '') !~ '^0x[0-9a-fA-F]{40}$'
      or coalesce(length(given.ref), 0) not between 1 and 100
      or given.ref !~ '\S'
      or given.block is null
      or given.block <= before.head
    order by given.place
    limit 1
  ));
  perform ingest.refuse(case
    when last_id > 2147483647 - cardinality(offer_ids.venues)
      and last_id > 2147483647 - (
        select count(distinct (lower(given.venue), given.ref))
        from unnest(offer_ids.venues, offer_ids.refs) as given (venue, ref)
        left join dex_private.offer_ref as known
          on known.venue = lower(given.venue)
          and known.ref = given.ref
        where known.offer_id is null
      )
    then
      format('no id is left for %s orders: offer %s is recorded, and the highest id is 2147483647', cardinality(offer_ids.venues), last_id)
  end);

  insert into dex_private.offer_ref (venue, ref, offer_id, block)
  select
    lower(fresh.venue),
    fresh.ref,
    last_id + row_number() over (order by fresh.place),
    fresh.block
  from (
    select distinct on (lower(given.venue), given.ref)
      given.*
    from unnest(offer_ids.venues, offer_ids.refs, offer_ids.blocks) with ordinality as given (venue, ref, block, place)
    order by
      lower(given.venue),
      given.ref,
      given.place
  ) as fresh
  left join dex_private.offer_ref as known
    on known.venue = lower(fresh.venue)
    and known.ref = fresh.ref
  where known.offer_id is null;

  return array(
    select known.offer_id
    from unnest(offer_ids.venues, offer_ids.refs) with ordinality as given (venue, ref, place)
    join dex_private.offer_ref as known
      on known.venue = lower(given.venue)
      and known.ref = given.ref
    order by given.place
  );
end
$$;
comment on function ingest.offer_ids(text[], text[], integer[]) is 'Returns the ids of orders by their contract and the id that it gave them, in the order given. Gives one to each that has none, from 2^30 on. Call it in the transaction that writes the blocks, with the block of each row; take_back frees the ids of what it removes.';
grant execute on function ingest.offer_ids(text[], text[], integer[]) to dex_writer;
