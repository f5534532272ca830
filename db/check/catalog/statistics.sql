-- Extended statistics.
select
  'statistics' as kind,
  format('%I.%I', schema.nspname, statistics.stxname) as name,
  format('%I.%I', of_schema.nspname, relation.relname) as part_of,
  'pg_statistic_ext'::regclass as class,
  statistics.oid as object,
  relation.oid as within,
  statistics.stxowner as owner,
  jsonb_build_object(
    'definition', pg_get_statisticsobjdef(statistics.oid),
    'target', nullif(statistics.stxstattarget, -1)
  ) as facts
from pg_statistic_ext as statistics
join pg_namespace as schema on schema.oid = statistics.stxnamespace
join pg_class as relation on relation.oid = statistics.stxrelid
join pg_namespace as of_schema on of_schema.oid = relation.relnamespace
where schema.nspname = any ($1)
  or of_schema.nspname = any ($1)
