-- Functions and procedures, identified by their argument types.
select
  case function.prokind
    when 'p' then 'procedure'
    when 'a' then 'aggregate'
    else 'function'
  end as kind,
  format('%I.%I(%s)', schema.nspname, function.proname, oidvectortypes(function.proargtypes)) as name,
  schema.nspname as part_of,
  'pg_proc'::regclass as class,
  function.oid as object,
  function.proowner as owner,
  coalesce(function.proacl, acldefault('f', function.proowner)) as acl,
  jsonb_build_object(
    'arguments', pg_get_function_arguments(function.oid),
    'result', pg_get_function_result(function.oid),
    'language', language.lanname,
    'body', coalesce(pg_get_function_sqlbody(function.oid), function.prosrc),
    'volatility', case function.provolatile
      when 'i' then 'immutable'
      when 's' then 'stable'
      else 'volatile'
    end,
    'parallel', case function.proparallel
      when 's' then 'safe'
      when 'r' then 'restricted'
      else 'unsafe'
    end,
    'security', case when function.prosecdef then 'definer' else 'invoker' end,
    'strict', function.proisstrict,
    'leakproof', function.proleakproof,
    'cost', function.procost,
    'rows', function.prorows,
    'settings', to_jsonb(function.proconfig)
  ) as facts
from pg_proc as function
join pg_namespace as schema on schema.oid = function.pronamespace
join pg_language as language on language.oid = function.prolang
where schema.nspname = any ($1)
