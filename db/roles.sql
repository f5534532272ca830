-- Creates the three roles and grants their rights on this database. Roles belong to the cluster, so no
-- migration creates them. Idempotent.
-- Needs a login with the right to create roles: `npm run db:roles`, or `psql -f db/roles.sql`.

do $$
declare
  role_name text;
  function regprocedure;
begin
  -- Of several runs at once PostgreSQL refuses one that changes the same rights: each waits for the one before it in this database.
  begin
    perform pg_advisory_xact_lock(hashtext('dex roles'));
  exception when insufficient_privilege then
    -- The login gets the right below.
    null;
  end;

  foreach role_name in array array['dex_owner', 'dex_writer', 'dex_reader'] loop
    if not exists (select from pg_roles where rolname = role_name) then
      begin
        execute format('create role %I nologin', role_name);
      exception when duplicate_object or unique_violation then
        -- Another session created the role at the same moment.
        null;
      end;
    end if;
  end loop;

  -- The login that runs this may `set role` to all three.
  if not (
    select rolsuper
    from pg_roles
    where rolname = current_user
  ) then
    execute format('grant dex_owner, dex_writer, dex_reader to %I', current_user);
  end if;

  -- By default every role may create large objects, and write messages of any size to the write-ahead log also in
  -- a read-only transaction: a reader could fill the disk. With advisory locks it could take all memory for locks.
  -- Only a superuser can revoke these rights.
  if (
    select rolsuper
    from pg_roles
    where rolname = current_user
  ) then
    for function in
      select oid
      from pg_proc
      where pronamespace = 'pg_catalog'::regnamespace
        and (
          proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'pg_logical_emit_message')
          or proname like 'pg%advisory%'
        )
    loop
      execute format('revoke execute on function %s from public', function);
    end loop;
    for function in
      select oid
      from pg_proc
      where pronamespace = 'pg_catalog'::regnamespace
        and proname like 'pg%advisory%'
    loop
      execute format('grant execute on function %s to dex_owner, dex_writer', function);
    end loop;
  end if;

  -- `all` includes the right to create temporary tables.
  execute format('revoke all on database %I from public, dex_writer, dex_reader', current_database());
  execute format(
    'grant connect on database %I to dex_owner, dex_writer, dex_reader',
    current_database()
  );
  execute format('grant create on database %I to dex_owner', current_database());

  revoke create on schema public from public;
  grant usage, create on schema public to dex_owner;
  grant usage on schema public to dex_writer, dex_reader;
end
$$;
