-- The logins that may become one of the three roles, by whatever way they were granted it.
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
)
select
  login.rolname as login,
  string_agg(ours.rolname, ', ' order by ours.rolname) as roles
from member_of
join pg_roles as login on login.oid = member_of.member
join pg_roles as ours on ours.oid = member_of.roleid
where login.rolcanlogin
  and ours.rolname in ('dex_owner', 'dex_writer', 'dex_reader')
group by login.rolname
order by login.rolname
