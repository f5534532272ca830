-- Rights beyond reading: those of dex_reader anywhere; in the schemas $1 those of dex_writer, those granted
-- to other roles, and functions that PUBLIC may execute. Includes inherited rights, and the attributes and
-- memberships of dex_reader's logins. Excludes superusers, owners, and objects of extensions.
with recursive member_of as (
  select
    membership.member,
    membership.roleid
  from pg_auth_members as membership
  union
  select
    member_of.member,
    membership.roleid
  from member_of
  join pg_auth_members as membership on membership.member = member_of.roleid
),
-- Logins of dex_reader, such as the service's. The owner of the database and the present login are the DBA's,
-- who has all three roles.
readers as (
  select
    pg_roles.oid,
    pg_roles.rolname
  from pg_roles
  join member_of on member_of.member = pg_roles.oid
  join pg_database as database on database.datname = current_database()
  where pg_roles.rolcanlogin
    and member_of.roleid = 'dex_reader'::regrole
    and pg_roles.rolname <> session_user
    and pg_roles.oid <> database.datdba
),
ours as (
  select
    pg_roles.oid,
    pg_roles.rolname
  from pg_roles
  where pg_roles.rolname in ('dex_reader', 'dex_writer')
    and not pg_roles.rolsuper
),
of_extensions as (
  select
    dependency.classid,
    dependency.objid
  from pg_depend as dependency
  where dependency.deptype = 'e'
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
    and ('pg_class'::regclass, relation.oid) not in (table of_extensions)
),
functions as (
  select
    function.oid,
    function.proowner,
    function.proacl,
    -- A security definer function has the rights of its owner. Clients cannot call trigger functions.
    function.prosecdef
      and function.provolatile = 'v'
      and function.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype) as writes,
    schema.nspname,
    format('%I.%I(%s)', schema.nspname, function.proname, oidvectortypes(function.proargtypes)) as name
  from pg_proc as function
  join pg_namespace as schema on schema.oid = function.pronamespace
  where schema.nspname <> 'information_schema'
    and schema.nspname !~ '^pg_'
    and ('pg_proc'::regclass, function.oid) not in (table of_extensions)
),
found as (
  -- On tables and views, whole or by column.
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
  select
    ours.rolname,
    'execute on ' || functions.name,
    format('revoke execute on routine %s from %I, public', functions.name, ours.rolname),
    functions.nspname
  from ours
  cross join functions
  where functions.writes
    and has_function_privilege(ours.oid, functions.oid, 'execute')
  union all
  select
    'public',
    'execute on ' || functions.name,
    format('revoke execute on routine %s from public', functions.name),
    functions.nspname
  from functions
  where has_function_privilege('public', functions.oid, 'execute')
    and functions.nspname = any ($1)
  union all
  -- On future functions of dex_owner. Default privileges of a schema add to the global ones.
  select
    'public',
    'execute on new functions of dex_owner' || coalesce(' in ' || quote_ident(schema.nspname), ''),
    format(
      'alter default privileges for role dex_owner%s revoke execute on functions from public',
      ' in schema ' || quote_ident(schema.nspname)
    ),
    schema.nspname
  from (
    select
      0::oid as schema,
      coalesce(
        (
          select defaults.defaclacl
          from pg_default_acl as defaults
          where defaults.defaclrole = 'dex_owner'::regrole
            and defaults.defaclnamespace = 0
            and defaults.defaclobjtype = 'f'
        ),
        acldefault('f', 'dex_owner'::regrole)
      ) as acl
    union all
    select
      defaults.defaclnamespace,
      defaults.defaclacl
    from pg_default_acl as defaults
    where defaults.defaclrole = 'dex_owner'::regrole
      and defaults.defaclnamespace <> 0
      and defaults.defaclobjtype = 'f'
  ) as new_function
  left join pg_namespace as schema on schema.oid = new_function.schema
  cross join lateral aclexplode(new_function.acl) as granted
  where granted.grantee = 0
    -- Before the baseline is applied, dex_owner has no functions.
    and exists (
      select
      from pg_proc as made
      where made.proowner = 'dex_owner'::regrole
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
  -- Memberships in other roles.
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
      ('login', pg_roles.rolcanlogin),
      ('superuser', pg_roles.rolsuper),
      ('createrole', pg_roles.rolcreaterole),
      ('createdb', pg_roles.rolcreatedb),
      ('replication', pg_roles.rolreplication),
      ('bypassrls', pg_roles.rolbypassrls)
  ) as attribute (name, is_set)
  where attribute.is_set
    and (
      pg_roles.rolname in ('dex_owner', 'dex_writer', 'dex_reader')
      or pg_roles.oid in (select readers.oid from readers)
        and attribute.name not in ('login', 'createdb')
    )
  union all
  select
    readers.rolname,
    'membership in ' || quote_ident(other.rolname),
    format('revoke %I from %I', other.rolname, readers.rolname),
    null
  from readers
  join member_of on member_of.member = readers.oid
  join pg_roles as other on other.oid = member_of.roleid
  where other.rolname in (
    'dex_owner',
    'dex_writer',
    'pg_write_all_data',
    'pg_write_server_files',
    'pg_execute_server_program'
  )
  union all
  select
    setting.setrole::regrole::text,
    'the setting ' || pair.text,
    format(
      'alter role %s%s reset %s',
      setting.setrole::regrole,
      ' in database ' || quote_ident(database.datname),
      split_part(pair.text, '=', 1)
    ),
    null
  from pg_db_role_setting as setting
  left join pg_database as database on database.oid = setting.setdatabase
  cross join lateral unnest(setting.setconfig) as pair (text)
  where setting.setrole in ('dex_owner'::regrole, 'dex_writer'::regrole, 'dex_reader'::regrole)
    and (setting.setdatabase = 0 or database.datname = current_database())
  union all
  -- Direct grants to other roles.
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
    -- A site may reference our tables from its own.
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
  union all
  select
    grantee.rolname,
    'execute on ' || functions.name,
    format('revoke execute on routine %s from %I', functions.name, grantee.rolname),
    functions.nspname
  from functions
  cross join lateral aclexplode(functions.proacl) as granted
  join pg_roles as grantee on grantee.oid = granted.grantee
  where functions.writes
    and granted.grantee <> functions.proowner
    and grantee.rolname not in ('dex_owner', 'dex_writer', 'dex_reader')
)
-- Distinct, because several grants can make a role a member of another.
select distinct
  found.role,
  found.right,
  found.revoke,
  found.role in (select readers.rolname from readers) as "isReader"
from found
where found.role = 'dex_reader'
  or found.schema is null
  or found.schema = any ($1)
order by
  found.role,
  found.right
