-- Triggers, without the internal ones of constraints.
select
  'trigger' as kind,
  format('%I on %I.%I', trigger.tgname, schema.nspname, relation.relname) as name,
  format('%I.%I', schema.nspname, relation.relname) as part_of,
  'pg_trigger'::regclass as class,
  trigger.oid as object,
  relation.oid as within,
  jsonb_build_object(
    'definition', pg_get_triggerdef(trigger.oid),
    'state', case trigger.tgenabled
      when 'O' then 'enabled'
      when 'D' then 'disabled'
      when 'R' then 'enabled on a replica alone'
      else 'enabled always'
    end
  ) as facts
from pg_trigger as trigger
join pg_class as relation on relation.oid = trigger.tgrelid
join pg_namespace as schema on schema.oid = relation.relnamespace
where schema.nspname = any ($1)
  and not trigger.tgisinternal
