-- The rights beyond reading: all of dex_reader's and, in the schemas $1, of dex_writer's and of those
-- that other roles were granted; whatever way they come by, also as everybody's. Without superusers,
-- owners, and what belongs to an extension.
with ours as (
  select
    pg_roles.oid,
    pg_roles.rolname
  from pg_roles
  where pg_roles.rolname in ('dex_reader', 'dex_writer')
    and not pg_roles.rolsuper
),
relations as (
  select
    relation.oid,
    relation.relkind,
    relation.relowner,
    relation.relacl,
    schema.nspname,
    format('%I.%I', schema.nspname, relation.relname) as name
  from pg_class as relation
  join pg_namespace as schema on schema.oid = relation.relnamespace
  where relation.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    and schema.nspname <> 'information_schema'
    and schema.nspname !~ '^pg_'
    and not exists (
      select
      from pg_depend as dependency
      where dependency.classid = 'pg_class'::regclass
        and dependency.objid = relation.oid
        and dependency.deptype = 'e'
    )
),
found as (
  -- Of tables and views, whole or by columns.
  select
    ours.rolname as role,
    kind.of_right || ' on ' || relations.name as right,
    format('revoke %s on %s from %I, public', kind.of_right, relations.name, ours.rolname) as revoke,
    relations.nspname as schema
  from ours
  cross join relations
  cross join unnest(array['insert', 'update', 'delete', 'truncate', 'trigger', 'references']) as kind (of_right)
  where relations.relkind <> 'S'
    and (
      has_table_privilege(ours.oid, relations.oid, kind.of_right)
      or kind.of_right in ('insert', 'update', 'references')
        and has_any_column_privilege(ours.oid, relations.oid, kind.of_right)
    )
  union all
  select
    ours.rolname,
    kind.of_right || ' on ' || relations.name,
    format('revoke %s on sequence %s from %I, public', kind.of_right, relations.name, ours.rolname),
    relations.nspname
  from ours
  cross join relations
  cross join unnest(array['usage', 'update']) as kind (of_right)
  where relations.relkind = 'S'
    and has_sequence_privilege(ours.oid, relations.oid, kind.of_right)
  union all
  select
    ours.rolname,
    'create on schema ' || quote_ident(schema.nspname),
    format('revoke create on schema %I from %I, public', schema.nspname, ours.rolname),
    schema.nspname
  from ours
  cross join pg_namespace as schema
  where schema.nspname !~ '^pg_'
    and has_schema_privilege(ours.oid, schema.oid, 'create')
  union all
  -- A function that runs as its owner can do what its owner can. A trigger's is not called.
  select
    ours.rolname,
    'execute on ' || format('%I.%I(%s)', schema.nspname, function.proname, oidvectortypes(function.proargtypes)),
    format(
      'revoke execute on routine %I.%I(%s) from %I, public',
      schema.nspname,
      function.proname,
      oidvectortypes(function.proargtypes),
      ours.rolname
    ),
    schema.nspname
  from ours
  cross join pg_proc as function
  join pg_namespace as schema on schema.oid = function.pronamespace
  where schema.nspname <> 'information_schema'
    and schema.nspname !~ '^pg_'
    and function.prosecdef
    and function.provolatile = 'v'
    and function.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
    and has_function_privilege(ours.oid, function.oid, 'execute')
    and not exists (
      select
      from pg_depend as dependency
      where dependency.classid = 'pg_proc'::regclass
        and dependency.objid = function.oid
        and dependency.deptype = 'e'
    )
  union all
  select
    ours.rolname,
    kind.of_right || ' on the database',
    format('revoke %s on database %I from %I, public', kind.of_right, current_database(), ours.rolname),
    null
  from ours
  cross join unnest(array['create', 'temporary']) as kind (of_right)
  where has_database_privilege(ours.oid, current_database(), kind.of_right)
  union all
  -- What it can do as another.
  select
    ours.rolname,
    'membership in ' || quote_ident(other.rolname),
    format('revoke %I from %I', other.rolname, ours.rolname),
    null
  from ours
  join pg_auth_members as membership on membership.member = ours.oid
  join pg_roles as other on other.oid = membership.roleid
  union all
  select
    pg_roles.rolname,
    'the attribute ' || attribute.name,
    format('alter role %I no%s', pg_roles.rolname, attribute.name),
    null
  from pg_roles
  cross join lateral (
    values
      ('superuser', pg_roles.rolsuper),
      ('createrole', pg_roles.rolcreaterole),
      ('createdb', pg_roles.rolcreatedb),
      ('replication', pg_roles.rolreplication),
      ('bypassrls', pg_roles.rolbypassrls)
  ) as attribute (name, is_set)
  where pg_roles.rolname in ('dex_reader', 'dex_writer')
    and attribute.is_set
  union all
  -- Other roles, where they were granted it themselves.
  select
    grantee.rolname,
    lower(granted.privilege_type) || ' on ' || relations.name,
    format('revoke %s on %s from %I', lower(granted.privilege_type), relations.name, grantee.rolname),
    relations.nspname
  from relations
  cross join lateral aclexplode(relations.relacl) as granted
  join pg_roles as grantee on grantee.oid = granted.grantee
  where granted.grantee <> relations.relowner
    and grantee.rolname not in ('dex_owner', 'dex_writer', 'dex_reader')
    -- To refer to our tables from its own is a site's right.
    and granted.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER')
  union all
  select
    grantee.rolname,
    format('%s (%I) on %s', lower(granted.privilege_type), attribute.attname, relations.name),
    format('revoke %s (%I) on %s from %I', lower(granted.privilege_type), attribute.attname, relations.name, grantee.rolname),
    relations.nspname
  from relations
  join pg_attribute as attribute on attribute.attrelid = relations.oid
  cross join lateral aclexplode(attribute.attacl) as granted
  join pg_roles as grantee on grantee.oid = granted.grantee
  where granted.grantee <> relations.relowner
    and grantee.rolname not in ('dex_owner', 'dex_writer', 'dex_reader')
    and granted.privilege_type in ('INSERT', 'UPDATE')
)
-- Distinct, since a role can be a member of another by several grants.
select distinct
  found.role,
  found.right,
  found.revoke
from found
where found.role = 'dex_reader'
  or found.schema is null
  or found.schema = any ($1)
order by
  found.role,
  found.right
