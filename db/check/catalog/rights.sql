-- Rights on the database itself, and default privileges.
select
  'database' as kind,
  'itself' as name,
  'pg_database'::regclass as class,
  database.oid as object,
  -- Without the owner's own rights; dex_owner may be the owner.
  array(
    select granted
    from unnest(coalesce(database.datacl, acldefault('d', database.datdba))) as granted
    where granted::text not like (database.datdba::regrole || '=%')
      and granted::text not like 'dex_owner=%'
  ) as acl,
  '{}'::jsonb as facts
from pg_database as database
where database.datname = current_database()
union all
select
  'default privileges' as kind,
  format('of %I%s for %s', granting.rolname, ' in ' || schema.nspname, defaults.defaclobjtype) as name,
  'pg_default_acl'::regclass as class,
  defaults.oid as object,
  defaults.defaclacl as acl,
  '{}'::jsonb as facts
from pg_default_acl as defaults
join pg_roles as granting on granting.oid = defaults.defaclrole
left join pg_namespace as schema on schema.oid = defaults.defaclnamespace
where schema.nspname = any ($1)
  or defaults.defaclnamespace = 0 and granting.rolname = 'dex_owner'
