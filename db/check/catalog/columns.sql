-- Columns of tables, views and composite types. Their order is not compared, because no code depends on it.
select
  'column' as kind,
  format('%I.%I.%I', schema.nspname, relation.relname, attribute.attname) as name,
  format('%I.%I', schema.nspname, relation.relname) as part_of,
  'pg_class'::regclass as class,
  relation.oid as object,
  attribute.attnum as part,
  attribute.attacl as acl,
  jsonb_build_object(
    'type', format_type(attribute.atttypid, attribute.atttypmod),
    'nullability', case when attribute.attnotnull then 'not null' else 'null' end,
    'default', pg_get_expr(expression.adbin, expression.adrelid),
    'generated', nullif(attribute.attgenerated, ''),
    'identity', nullif(attribute.attidentity, ''),
    'collation', (
      select pg_collation.collname
      from pg_collation
      where pg_collation.oid = attribute.attcollation
    )
  ) as facts
from pg_attribute as attribute
join pg_class as relation on relation.oid = attribute.attrelid
join pg_namespace as schema on schema.oid = relation.relnamespace
left join pg_attrdef as expression
  on expression.adrelid = attribute.attrelid
  and expression.adnum = attribute.attnum
where schema.nspname = any ($1)
  and relation.relkind in ('r', 'p', 'v', 'm', 'f', 'c')
  and attribute.attnum > 0
  and not attribute.attisdropped
