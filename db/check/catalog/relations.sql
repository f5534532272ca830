-- Tables and views, without their columns.
select
  case relation.relkind
    when 'v' then 'view'
    when 'm' then 'materialized view'
    when 'f' then 'foreign table'
    else 'table'
  end as kind,
  format('%I.%I', schema.nspname, relation.relname) as name,
  schema.nspname as part_of,
  'pg_class'::regclass as class,
  relation.oid as object,
  relation.relowner as owner,
  coalesce(relation.relacl, acldefault('r', relation.relowner)) as acl,
  jsonb_build_object(
    'definition', case when relation.relkind in ('v', 'm') then pg_get_viewdef(relation.oid) end,
    'options', to_jsonb(relation.reloptions),
    'persistence', case relation.relpersistence when 'u' then 'unlogged' else 'logged' end,
    'partition key', pg_get_partkeydef(relation.oid),
    'partition bound', pg_get_expr(relation.relpartbound, relation.oid),
    'row security', relation.relrowsecurity
  ) as facts
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
where schema.nspname = any ($1)
  and relation.relkind in ('r', 'p', 'v', 'm', 'f')
