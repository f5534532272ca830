-- The columns of each valid, non-partial index of the table $1 in index order, up to the first expression.
select
  array(
    select attribute.attname::text
    from unnest(index.indkey::int2[]) with ordinality as key (attnum, position)
    join pg_attribute as attribute
      on attribute.attrelid = index.indrelid
      and attribute.attnum = key.attnum
    where key.position <= index.indnkeyatts
      -- indkey is 0-based, and contains 0 for an expression.
      and key.position <= coalesce(array_position(index.indkey::int2[], 0::int2), index.indnkeyatts)
    order by key.position
  ) as columns
from pg_index as index
where index.indrelid = $1
  and index.indisvalid
  and index.indpred is null
