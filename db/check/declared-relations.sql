-- The relations of dex_owner's tables and views in the schemas $1: the object and the columns of each foreign
-- key and each smart tag @foreignKey.
select
  relation.oid::integer as oid,
  relation.relkind = 'v' as "isView",
  format('%I.%I', schema.nspname, relation.relname) as name,
  format('foreign key %I', con.conname) as declared,
  array(
    select attribute.attname::text
    from unnest(con.conkey) with ordinality as key (attnum, position)
    join pg_attribute as attribute
      on attribute.attrelid = relation.oid
      and attribute.attnum = key.attnum
    order by key.position
  ) as columns
from pg_constraint as con
join pg_class as relation on relation.oid = con.conrelid
join pg_namespace as schema on schema.oid = relation.relnamespace
where schema.nspname = any ($1)
  and relation.relowner = 'dex_owner'::regrole
  and con.contype = 'f'
  -- A partition inherits the constraint of its table.
  and con.conparentid = 0
union all
select
  relation.oid::integer as oid,
  relation.relkind = 'v' as "isView",
  format('%I.%I', schema.nspname, relation.relname) as name,
  'tag ' || tag.parts[1] as declared,
  array(
    select btrim(part, ' "')
    from unnest(string_to_array(tag.parts[2], ',')) as part
  ) as columns
from pg_class as relation
join pg_namespace as schema on schema.oid = relation.relnamespace
cross join lateral regexp_matches(
  obj_description(relation.oid, 'pg_class'),
  '^(@foreignKey\s*\(([^)]*)\)\s*references\s+[^\n|]*)',
  'gn'
) as tag (parts)
where schema.nspname = any ($1)
  and relation.relowner = 'dex_owner'::regrole
  and relation.relkind in ('r', 'p', 'v', 'm', 'f')
order by
  name,
  declared
