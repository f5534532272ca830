-- Rewrite rules, without those of views.
select
  'rule' as kind,
  format('%I on %I.%I', rule.rulename, schema.nspname, relation.relname) as name,
  format('%I.%I', schema.nspname, relation.relname) as part_of,
  'pg_rewrite'::regclass as class,
  rule.oid as object,
  relation.oid as within,
  jsonb_build_object('definition', pg_get_ruledef(rule.oid)) as facts
from pg_rewrite as rule
join pg_class as relation on relation.oid = rule.ev_class
join pg_namespace as schema on schema.oid = relation.relnamespace
where schema.nspname = any ($1)
  and rule.rulename <> '_RETURN'
