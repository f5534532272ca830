set local lock_timeout = '200ms';

alter table dex_trade
add constraint dex_trade_day_check check (day is not null) not valid;
