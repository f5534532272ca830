-- The compared schemas. `public` belongs to PostgreSQL: only its grants are compared.
select
  'schema' as kind,
  schema.nspname as name,
  'pg_namespace'::regclass as class,
  schema.oid as object,
  case when schema.nspname <> 'public' then schema.nspowner end as owner,
  coalesce(schema.nspacl, acldefault('n', schema.nspowner)) as acl,
  '{}'::jsonb as facts
from pg_namespace as schema
where schema.nspname = any ($1)
