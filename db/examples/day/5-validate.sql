-- Reads every row, and blocks no reader and no writer.
alter table dex_trade validate constraint dex_trade_day_check;
