-- Reads every row, and keeps nobody from reading or writing meanwhile.
alter table dex_trade validate constraint dex_trade_day_check;
