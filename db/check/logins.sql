-- The logins that may become one of the three roles, without superusers, which may become any role.
select
  login.rolname as login,
  string_agg(ours.rolname, ', ' order by ours.rolname) as roles
from pg_roles as login
join pg_roles as ours on pg_has_role(login.oid, ours.oid, 'member')
where login.rolcanlogin
  and not login.rolsuper
  and ours.rolname in ('dex_owner', 'dex_writer', 'dex_reader')
group by login.rolname
order by login.rolname
