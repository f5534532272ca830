-- Constraints of tables, without `not null`, which is compared as a column's nullability, and without
-- constraint triggers, which are compared as triggers.
select
  'constraint' as kind,
  format('%I on %I.%I', con.conname, schema.nspname, relation.relname) as name,
  format('%I.%I', schema.nspname, relation.relname) as part_of,
  'pg_constraint'::regclass as class,
  con.oid as object,
  relation.oid as within,
  jsonb_build_object('definition', pg_get_constraintdef(con.oid)) as facts
from pg_constraint as con
join pg_class as relation on relation.oid = con.conrelid
join pg_namespace as schema on schema.oid = relation.relnamespace
where schema.nspname = any ($1)
  and con.contype not in ('n', 't')
