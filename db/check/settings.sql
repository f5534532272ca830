-- The settings of the database and of its logins that its writers and readers depend on.
select
  pg_encoding_to_char(database.encoding)::text as encoding,
  upper('i') as "capitalOfI",
  upper('i') <> 'I' or lower('I') <> 'i' as "isOtherAlphabet",
  current_setting('max_prepared_transactions')::integer as "maxPrepared",
  array(
    select login.rolname::text
    from pg_roles as login
    cross join pg_settings as server
    left join lateral (
      select split_part(setting.text, '=', 2) as given
      from pg_db_role_setting as own
      cross join unnest(own.setconfig) as setting (text)
      where own.setdatabase in (0, database.oid)
        and own.setrole in (0, login.oid)
        and setting.text like 'idle_in_transaction_session_timeout=%'
      order by
        own.setrole desc,
        own.setdatabase desc
      limit 1
    ) as own on true
    where server.name = 'idle_in_transaction_session_timeout'
      and login.rolcanlogin
      and has_database_privilege(login.oid, database.oid, 'connect')
      and coalesce(
        own.given,
        case when server.source in ('default', 'configuration file', 'command line') then server.setting else server.boot_val end
      ) ~ '^0[a-z]*$'
    order by login.rolname
  ) as "unlimitedLogins"
from pg_database as database
where database.datname = current_database()
