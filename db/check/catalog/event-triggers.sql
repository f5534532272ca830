-- Event triggers that call a function of these schemas.
select
  'event trigger' as kind,
  quote_ident(trigger.evtname) as name,
  'pg_event_trigger'::regclass as class,
  trigger.oid as object,
  trigger.evtowner as owner,
  jsonb_build_object(
    'event', trigger.evtevent,
    'function', format('%I.%I()', schema.nspname, function.proname),
    'commands', to_jsonb(trigger.evttags),
    'state', case trigger.evtenabled
      when 'O' then 'enabled'
      when 'D' then 'disabled'
      when 'R' then 'enabled on a replica alone'
      else 'enabled always'
    end
  ) as facts
from pg_event_trigger as trigger
join pg_proc as function on function.oid = trigger.evtfoid
join pg_namespace as schema on schema.oid = function.pronamespace
where schema.nspname = any ($1)
