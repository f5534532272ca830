-- Refuses staged blocks that cannot be the next ones, and staged rows that are invalid or of another transaction.

-- Where nothing is its own, or an earlier transaction of its session staged a part, the caller expects rows to be
-- written that are not. What other sessions left is none of its business.
create function ingest.refuse_rows_of_others() returns void
language sql stable
as $$
  select ingest.refuse((
    select format(
      'ingest.%1$s has %2$s that transaction %3$s of process %4$s staged and committed: a transaction writes only the rows that it staged itself. Stage %5$s again in the transaction that writes, and remove %5$s: delete from ingest.%1$s where staged_by = ''%3$s''',
      staged.name,
      case staged.rows when 1 then '1 row' else staged.rows || ' rows' end,
      staged.staged_by,
      staged.session,
      case staged.rows when 1 then 'it' else 'them' end
    )
    from (
      select
        listed.*,
        bool_or(listed.staged_by = pg_current_xact_id()) over () as has_own
      from (
        select 'staged_block' as name, staged.staged_by, staged.session, count(*) as rows
        from ingest.staged_block as staged
        group by staged.staged_by, staged.session
        union all
        select 'staged_offer', staged.staged_by, staged.session, count(*)
        from ingest.staged_offer as staged
        group by staged.staged_by, staged.session
        union all
        select 'staged_cancellation', staged.staged_by, staged.session, count(*)
        from ingest.staged_cancellation as staged
        group by staged.staged_by, staged.session
        union all
        select 'staged_trade', staged.staged_by, staged.session, count(*)
        from ingest.staged_trade as staged
        group by staged.staged_by, staged.session
        union all
        select 'staged_pool', staged.staged_by, staged.session, count(*)
        from ingest.staged_pool as staged
        group by staged.staged_by, staged.session
      ) as listed
    ) as staged
    where staged.staged_by <> pg_current_xact_id()
      and (staged.session = pg_backend_pid() or not staged.has_own)
    order by
      staged.staged_by desc,
      staged.name
    limit 1
  ))
$$;
comment on function ingest.refuse_rows_of_others() is 'Raises an error that names staged rows of an earlier transaction of this session, or of any other if this one staged none.';

create function ingest.refuse_staged(last_trade bigint) returns void
language plpgsql stable
as $$
begin
  perform ingest.refuse((
    select format('offers line %s.killed is %s: it must be 0, or a block from %s on, in which the offer was made', staged.line, staged.killed, staged.block)
    from ingest.own_offer as staged
    where staged.killed <> 0
      and staged.killed < staged.block
    order by staged.line
    limit 1
  ));
  perform ingest.refuse((
    select found.problem
    from (
      select
        block.number,
        case
          when block.time < block.latest then
            format('block %s is at both %s and %s: a block has one time', block.number, block.time, block.latest)
          when block.hash <> block.other_hash then
            format('block %s has both the hash %s and the hash %s', block.number, block.hash, block.other_hash)
          when block.parent <> block.other_parent then
            format('block %s has both the parent %s and the parent %s', block.number, block.parent, block.other_parent)
          else ingest.block_problem(
            block.number, block.time, block.hash, block.parent, block.number_before, block.time_before, block.hash_before
          )
        end as problem
      from ingest.staged_head as block
    ) as found
    where found.problem is not null
    order by found.number
    limit 1
  ));
  perform ingest.refuse((
    select ingest.hash_problem(block.number, block.hash, coalesce(recorded.number, block.other))
    from (
      select
        staged.number,
        staged.hash,
        lag(staged.number) over (partition by staged.hash order by staged.number) as other
      from (
        select distinct
          given.number,
          given.hash
        from ingest.own_block as given
        where given.hash is not null
      ) as staged
    ) as block
    left join public.dex_block as recorded on recorded.hash = block.hash
    where recorded.number is not null
      or block.other is not null
    order by block.number
    limit 1
  ));
  perform ingest.refuse((
    select 'only some trades have an id or an idx: give it to every trade or to none'
    from ingest.own_trade as staged
    having count(staged.id) not in (0, count(*))
      or count(staged.idx) not in (0, count(*))
  ));
  perform ingest.refuse((
    select case
      when trade.id > 4503599627370495 then
        format('trades line %s.id is %s: it must be an integer from 1 to 4503599627370495', trade.line, trade.id)
      else format('id %s of block %s, idx %s is not greater than %s: ids increase with block and idx, and are above the highest ever used', trade.id, trade.block, trade.idx, trade.id_before)
    end
    from (
      select
        staged.line,
        staged.id,
        staged.block,
        staged.idx,
        lag(staged.id, 1, last_trade) over (order by staged.block, staged.idx, staged.line) as id_before
      from ingest.own_trade as staged
      where staged.id is not null
    ) as trade
    where trade.id <= trade.id_before
      or trade.id > 4503599627370495
    limit 1
  ));
  perform ingest.refuse((
    select format('trades line %s.idx is %s, as in line %s: it is the log''s, of which block %s has one', max(staged.line), staged.idx, min(staged.line), staged.block)
    from ingest.own_trade as staged
    where staged.idx is not null
    group by
      staged.block,
      staged.idx
    having min(staged.tx) <> max(staged.tx)
    order by
      staged.block,
      staged.idx
    limit 1
  ));
end
$$;
comment on function ingest.refuse_staged(bigint) is 'Raises an error if the staged blocks cannot be the next ones.';

-- A batch is of 1,000 rows, because a jsonb value has at most 1 GB.
create function ingest.refuse_staged_rows() returns void
language sql stable
as $$
  select ingest.refuse_rows(batch.listed, jsonb_agg(batch.value order by batch.line), null, null)
  from (
    select
      staged_row.listed,
      staged_row.line,
      (
        select jsonb_object_agg(field.key, field.value)
        from jsonb_each_text(staged_row.value - '{filled,killed}'::text[]) as field
      ) as value
    from (
      select
        'offers' as listed,
        staged.line,
        to_jsonb(staged) as value
      from ingest.own_offer as staged
      union all
      select
        'trades',
        staged.line,
        to_jsonb(staged)
      from ingest.own_trade as staged
      union all
      select
        'pools',
        row_number() over (order by staged.block, staged.venue),
        to_jsonb(staged)
      from ingest.own_pool as staged
    ) as staged_row
  ) as batch
  group by
    batch.listed,
    batch.line / 1000
  order by
    batch.listed,
    batch.line / 1000;
  select ingest.refuse_known_offers(
    array_agg(staged.line order by staged.line),
    array_agg(staged.id order by staged.line),
    array_agg(staged.block order by staged.line)
  )
  from ingest.own_offer as staged;
  select ingest.refuse_known_trades(
    array_agg(staged.line order by staged.line),
    array_agg(staged.tx order by staged.line),
    array_agg(staged.idx order by staged.line)
  )
  from (
    select
      trade.line,
      trade.tx,
      coalesce(trade.idx, row_number() over (partition by trade.block order by trade.line) - 1) as idx
    from ingest.own_trade as trade
  ) as staged
$$;
comment on function ingest.refuse_staged_rows() is 'Raises an error that names the line if a staged offer, trade or pool is invalid, recorded already or staged twice.';
