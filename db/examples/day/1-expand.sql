-- A lock that is not free at once is given up: all readers would queue behind the wait for it.
set local lock_timeout = '200ms';

create function dex_private.derive_day() returns trigger
language plpgsql
as $$
begin
  new.day := (new.time at time zone 'UTC')::date;
  return new;
end
$$;
comment on function dex_private.derive_day() is
  'Trigger: fills in the day of a trade.';

-- Without a default no row is written. GraphQL does not show it while most rows have none.
alter table dex_trade add column day date;
comment on column dex_trade.day is
  E'@behavior -*\nDay of the block, in UTC.';

-- db:lint allow trigger: it fills in the new column alone.
create trigger derive_day
before insert or update on dex_trade
for each row execute function dex_private.derive_day();
