-- What can be taken back.

create function dex_private.final_block(finality integer) returns setof public.dex_block
language sql stable
rows 1
as $$
  select block.*
  from (
    select least(
      coalesce(
        greatest(
          coalesce(
            (
              select greatest(source.ranged_to, source.audited_to)
              from dex_private.index_source as source
            ),
            head.number - finality
          ),
          state.final_to
        ),
        head.number - 64
      ),
      head.number - finality
    ) as number
    from dex_private.write_state as state
    cross join (
      select max(block.number) as number
      from public.dex_block as block
    ) as head
  ) as final
  cross join lateral (
    select *
    from public.dex_block as recorded
    where recorded.number <= final.number
    order by recorded.number desc
    limit 1
  ) as block
$$;
comment on function dex_private.final_block(integer) is 'The last recorded block that the chain does not take back any more. An indexer has read final blocks up to it, or a mirror has recorded it, and it is at least as many blocks below the head as given. Where no indexer is recorded, a block that far below the head is final too; where nothing is recorded or given, one 64 blocks below it. No row where there is none.';
grant execute on function dex_private.final_block(integer) to dex_reader, dex_writer;
