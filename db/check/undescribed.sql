-- Tables, views, columns and functions in the schemas $1 that dex_reader may read and that have no comment, or
-- only smart tags in it. Excludes objects that a tag hides, and objects of extensions.
with commented as (
  select
    case when relation.relkind = 'v' then 'view' when relation.relkind = 'm' then 'materialized view' else 'table' end as kind,
    format('%I.%I', schema.nspname, relation.relname) as name,
    obj_description(relation.oid, 'pg_class') as comment
  from pg_class as relation
  join pg_namespace as schema on schema.oid = relation.relnamespace
  where schema.nspname = any ($1)
    and relation.relkind in ('r', 'p', 'v', 'm', 'f')
    and (
      has_table_privilege('dex_reader', relation.oid, 'select')
      or has_any_column_privilege('dex_reader', relation.oid, 'select')
    )
    and not exists (
      select
      from pg_depend as dependency
      where dependency.classid = 'pg_class'::regclass
        and dependency.objid = relation.oid
        and dependency.deptype = 'e'
    )
  union all
  select
    'column' as kind,
    format('%I.%I.%I', schema.nspname, relation.relname, attribute.attname) as name,
    col_description(relation.oid, attribute.attnum) as comment
  from pg_attribute as attribute
  join pg_class as relation on relation.oid = attribute.attrelid
  join pg_namespace as schema on schema.oid = relation.relnamespace
  where schema.nspname = any ($1)
    and relation.relkind in ('r', 'p', 'v', 'm', 'f')
    and attribute.attnum > 0
    and not attribute.attisdropped
    and has_column_privilege('dex_reader', relation.oid, attribute.attnum, 'select')
    and coalesce(obj_description(relation.oid, 'pg_class'), '') !~ '(^|\n)@behavior -\*'
    and not exists (
      select
      from pg_depend as dependency
      where dependency.classid = 'pg_class'::regclass
        and dependency.objid = relation.oid
        and dependency.deptype = 'e'
    )
  union all
  select
    'function' as kind,
    format('%I.%I(%s)', schema.nspname, function.proname, oidvectortypes(function.proargtypes)) as name,
    obj_description(function.oid, 'pg_proc') as comment
  from pg_proc as function
  join pg_namespace as schema on schema.oid = function.pronamespace
  where schema.nspname = any ($1)
    and function.prokind = 'f'
    and function.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
    -- A volatile function would be a mutation, and GraphQL shows none.
    and function.provolatile <> 'v'
    and has_function_privilege('dex_reader', function.oid, 'execute')
    and not exists (
      select
      from pg_depend as dependency
      where dependency.classid = 'pg_proc'::regclass
        and dependency.objid = function.oid
        and dependency.deptype = 'e'
    )
)
select
  commented.kind,
  commented.name
from commented
where coalesce(commented.comment, '') !~ '(^|\n)@behavior -\*'
  -- Leading lines that begin with @ are tags.
  and regexp_replace(coalesce(commented.comment, ''), '^(@[^\n]*(\n|$))*', '') !~ '\S'
order by
  commented.kind,
  commented.name
