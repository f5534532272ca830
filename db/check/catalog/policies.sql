-- Row security policies.
select
  'policy' as kind,
  format('%I on %I.%I', policy.polname, schema.nspname, relation.relname) as name,
  format('%I.%I', schema.nspname, relation.relname) as part_of,
  'pg_policy'::regclass as class,
  policy.oid as object,
  relation.oid as within,
  jsonb_build_object(
    'command', policy.polcmd,
    'permissive', policy.polpermissive,
    'roles', to_jsonb(array(select unnest(policy.polroles)::regrole::text order by 1)),
    'using', pg_get_expr(policy.polqual, policy.polrelid),
    'check', pg_get_expr(policy.polwithcheck, policy.polrelid)
  ) as facts
from pg_policy as policy
join pg_class as relation on relation.oid = policy.polrelid
join pg_namespace as schema on schema.oid = relation.relnamespace
where schema.nspname = any ($1)
