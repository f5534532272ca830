set local lock_timeout = '200ms';

-- No row is read: the check says already that there is no null. Not in one statement with what drops
-- the check, which would be dropped first, and every row read while no query may read any.
alter table dex_trade alter column day set not null;
alter table dex_trade drop constraint dex_trade_day_check;
comment on column dex_trade.day is
  'Day of the block, in UTC.';
-- Serves condition: { day }, and the order by it.
comment on index dex_trade_day_id_idx is
  'Serves the trades of a day.';
