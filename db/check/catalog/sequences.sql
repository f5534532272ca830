-- Sequences. A column's sequence is part of the column, and has the owner of its table.
select
  'sequence' as kind,
  format('%I.%I', schema.nspname, relation.relname) as name,
  coalesce(of_column.name, schema.nspname) as part_of,
  'pg_class'::regclass as class,
  relation.oid as object,
  case when of_column.name is null then relation.relowner end as owner,
  coalesce(relation.relacl, acldefault('s', relation.relowner)) as acl,
  jsonb_build_object(
    'type', format_type(sequence.seqtypid, null),
    'start', sequence.seqstart,
    'increment', sequence.seqincrement,
    'bounds', format('%s to %s', sequence.seqmin, sequence.seqmax),
    'cycle', sequence.seqcycle
  ) as facts
from pg_sequence as sequence
join pg_class as relation on relation.oid = sequence.seqrelid
join pg_namespace as schema on schema.oid = relation.relnamespace
left join lateral (
  select format('%I.%I.%I', of_schema.nspname, owning.relname, attribute.attname) as name
  from pg_depend as dependency
  join pg_class as owning on owning.oid = dependency.refobjid
  join pg_namespace as of_schema on of_schema.oid = owning.relnamespace
  join pg_attribute as attribute
    on attribute.attrelid = dependency.refobjid
    and attribute.attnum = dependency.refobjsubid
  where dependency.classid = 'pg_class'::regclass
    and dependency.objid = relation.oid
    and dependency.deptype in ('a', 'i')
    and dependency.refclassid = 'pg_class'::regclass
) as of_column on true
where schema.nspname = any ($1)
