-- Indexes, without those of constraints.
select
  'index' as kind,
  format('%I.%I', schema.nspname, indexed.relname) as name,
  format('%I.%I', schema.nspname, relation.relname) as part_of,
  'pg_class'::regclass as class,
  indexed.oid as object,
  relation.oid as within,
  jsonb_build_object(
    'definition', pg_get_indexdef(index.indexrelid),
    'state', case when index.indisvalid and index.indisready then 'valid' else 'invalid' end,
    'options', to_jsonb(indexed.reloptions)
  ) as facts
from pg_index as index
join pg_class as indexed on indexed.oid = index.indexrelid
join pg_class as relation on relation.oid = index.indrelid
join pg_namespace as schema on schema.oid = relation.relnamespace
where schema.nspname = any ($1)
  and relation.relkind in ('r', 'p', 'm')
  and not exists (
    select
    from pg_constraint as con
    where con.conindid = index.indexrelid
      and con.contype in ('p', 'u', 'x')
  )
