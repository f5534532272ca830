-- Volumes and prices of each day, from the files of a service or a folder: duckdb < volumes.sql
-- The sums are exact: DECIMAL(38,18) in the files, and an error where a sum has more digits. `beyond` counts the minutes with a
-- figure from 10^20 on, which is null, so that the others leave it out: the column `beyond` of the files has it.

set variable base = 'http://localhost:3000/v2/files/';
set variable candles = (
  select list(getvariable('base') || file.name order by file.name)
  from (
    select unnest(day.files) as file
    from (select unnest(days) as day from read_json(getvariable('base') || 'manifest.json'))
  )
  where file.kind = 'candles' and file.name like '%.parquet'
);

select
  base_gem,
  quote_gem,
  time_bucket(interval '1 day', time) as day,
  arg_min(open, time) as open,
  max(high) as high,
  min(low) as low,
  arg_max(close, time) as close,
  sum(vol) as vol,
  sum(quote_vol) as quote_vol,
  sum(trades) as trades,
  count(beyond) as beyond
from read_parquet(getvariable('candles'))
group by base_gem, quote_gem, day
order by base_gem, quote_gem, day;
