-- Drops the indexes of offers and trades before a load of many, and makes them again behind it.

-- To make an index of all rows takes a fraction of what their inserts take. Primary keys stay: rows come in their order, and views
-- depend on them. So does the index by which write_staged_offers looks for earlier trades of a new offer, where there can be some.
create function ingest.drop_bulk_indexes() returns text[]
language plpgsql
-- An autovacuum gives way after a second.
set lock_timeout = '5s'
as $$
declare
  -- Not within the loop: no table can be altered that a query in progress reads.
  has_trades constant boolean := exists (select from public.dex_trade as trade);
  index record;
  definitions text[] := '{}';
begin
  -- The lock lasts until the transaction ends, so that others would wait for the load.
  if exists (
    select
    from pg_stat_activity as other
    where other.datname = current_database()
      and other.usesysid is not null
      and other.pid <> pg_backend_pid()
  )
  -- The lock is taken on a standby too, where readers would be cancelled.
  or exists (
    select
    from pg_stat_replication
  )
  -- No index can be made of a table while a trigger of its new rows waits for the commit.
  or exists (
    select
    from pg_trigger as waiting
    where waiting.tgrelid in ('public.dex_trade'::regclass, 'public.dex_offer'::regclass)
      and waiting.tgdeferrable
  )
  -- It fires for each index, and where its function fails the load would.
  or exists (
    select
    from pg_event_trigger as fired
    where fired.evtenabled <> 'D'
  ) then
    return '{}';
  end if;
  lock table public.dex_trade, public.dex_offer in access exclusive mode;
  for index in
    select
      listed.indexrelid::regclass as name,
      listed.indrelid::regclass as of_table,
      made.conname as constraint_name,
      case
        when made.oid is null then pg_get_indexdef(listed.indexrelid)
        else format('alter table %s add constraint %I %s', listed.indrelid::regclass, made.conname, pg_get_constraintdef(made.oid))
      end as definition,
      format('comment on index %s is %L', listed.indexrelid::regclass, obj_description(listed.indexrelid, 'pg_class')) as comment,
      case
        when made.oid is not null then
          format('comment on constraint %I on %s is %L', made.conname, listed.indrelid::regclass, obj_description(made.oid, 'pg_constraint'))
      end as comment_of_constraint
    from pg_index as listed
    left join pg_constraint as made
      on made.conindid = listed.indexrelid
      and made.conrelid = listed.indrelid
    where listed.indrelid in ('public.dex_trade'::regclass, 'public.dex_offer'::regclass)
      and not listed.indisprimary
      -- What a site has set of an index, and its definition does not say, would be lost.
      and listed.indisvalid
      and not listed.indisreplident
      and not listed.indisclustered
      and not exists (
        select
        from pg_class as stored
        where stored.oid = listed.indexrelid
          and (stored.reltablespace <> 0 or made.oid is not null and stored.reloptions is not null)
      )
      and not exists (
        select
        from pg_attribute as counted
        where counted.attrelid = listed.indexrelid
          and counted.attstattarget <> -1
      )
      and not (
        has_trades
        and (listed.indrelid, listed.indkey[0]) = (
          select
            searched.attrelid,
            searched.attnum
          from pg_attribute as searched
          where searched.attrelid = 'public.dex_trade'::regclass
            and searched.attname = 'offer_id'
        )
      )
    order by listed.indexrelid
  loop
    if index.constraint_name is null then
      execute format('drop index %s', index.name);
    else
      execute format('alter table %s drop constraint %I', index.of_table, index.constraint_name);
    end if;
    definitions := definitions || array_remove(array[index.definition, index.comment, index.comment_of_constraint], null);
  end loop;
  return definitions;
exception
  -- A site's foreign key refers to a constraint, or the caller is reading a table. What was dropped is there again.
  when lock_not_available or dependent_objects_still_exist or object_in_use then
    return '{}';
end
$$;
comment on function ingest.drop_bulk_indexes() is 'Drops the indexes of dex_trade and dex_offer, and returns the statements that make them again, in this transaction. Drops none where another session is connected to the database, or a standby streams, since readers would wait; nor where a trigger of the rows can wait for the commit, or the database has an event trigger.';

create function ingest.make_bulk_indexes(definitions text[]) returns void
language plpgsql
-- Where those were that drop_bulk_indexes drops: in the tablespace of the database.
set default_tablespace = ''
as $$
declare
  definition text;
begin
  foreach definition in array definitions loop
    execute definition;
  end loop;
end
$$;
comment on function ingest.make_bulk_indexes(text[]) is 'Makes the indexes that drop_bulk_indexes dropped.';
