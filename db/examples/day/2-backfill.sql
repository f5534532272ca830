update dex_trade as trade
set day = (trade.time at time zone 'UTC')::date
where trade.id > $1
  and trade.id <= $2
  and trade.day is null
