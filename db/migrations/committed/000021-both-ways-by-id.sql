--! Previous: sha1:179faf8a9f6e10fa5618080827c1e83a0817c36e
--! Hash: sha1:ab73ccbc213a6d00ff756fd76e7181d9aa973c93
--! Message: both ways by id

--! no-transaction
-- Serves both tokens either way, in the order of id.
create index concurrently if not exists dex_trade_either_way_id_idx
on dex_trade (dex_private.either_way_key(lot_gem, bid_gem), id);
