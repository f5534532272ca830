-- Enums, domains, ranges and composite types, without the row types of tables.
select
  case type.typtype when 'd' then 'domain' else 'type' end as kind,
  format('%I.%I', schema.nspname, type.typname) as name,
  schema.nspname as part_of,
  'pg_type'::regclass as class,
  type.oid as object,
  type.typowner as owner,
  coalesce(type.typacl, acldefault('T', type.typowner)) as acl,
  jsonb_build_object(
    'values', (
      select jsonb_agg(label.enumlabel order by label.enumsortorder)
      from pg_enum as label
      where label.enumtypid = type.oid
    ),
    'base', case when type.typtype = 'd' then format_type(type.typbasetype, type.typtypmod) end,
    'nullability', case when type.typtype = 'd' and type.typnotnull then 'not null' end,
    'default', type.typdefault,
    'checks', (
      select jsonb_agg(pg_get_constraintdef(con.oid) order by con.conname)
      from pg_constraint as con
      where con.contypid = type.oid
        and con.contype = 'c'
    )
  ) as facts
from pg_type as type
join pg_namespace as schema on schema.oid = type.typnamespace
left join pg_class as composite on composite.oid = type.typrelid
where schema.nspname = any ($1)
  and (type.typtype in ('e', 'd', 'r') or composite.relkind = 'c')
