-- The three roles of the exchange, and what each may do with this database. Roles belong to the
-- cluster, so they are made here and not in a migration; run again, this changes nothing.
-- Run by somebody who may create roles: `npm run db:roles`, or `psql -f db/roles.sql`.

do $$
declare
  role_name text;
begin
  foreach role_name in array array['dex_owner', 'dex_writer', 'dex_reader'] loop
    if not exists (select from pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin', role_name);
      exception when duplicate_object or unique_violation then
        -- Somebody else made it in the same moment.
        null;
      end;
    end if;
  end loop;

  -- Whoever runs this becomes any of the three with `set role`.
  if not (
    select rolsuper
    from pg_roles
    where rolname = current_user
  ) then
    execute format('grant dex_owner, dex_writer, dex_reader to %I', current_user);
  end if;

  -- Whatever a role is granted, it may make large objects. Nobody has a use for them here, and a
  -- reader who could would fill the disk. Only a superuser can forbid it.
  if (
    select rolsuper
    from pg_roles
    where rolname = current_user
  ) then
    revoke execute on function lo_creat(integer) from public;
    revoke execute on function lo_create(oid) from public;
    revoke execute on function lo_from_bytea(oid, bytea) from public;
  end if;

  -- dex_owner makes the objects. `all` takes temporary tables away from everybody.
  execute format('revoke all on database %I from public, dex_writer, dex_reader', current_database());
  execute format(
    'grant connect on database %I to dex_owner, dex_writer, dex_reader',
    current_database()
  );
  execute format('grant create on database %I to dex_owner', current_database());
end
$$;

revoke create on schema public from public;
grant usage, create on schema public to dex_owner;
grant usage on schema public to dex_writer, dex_reader;
