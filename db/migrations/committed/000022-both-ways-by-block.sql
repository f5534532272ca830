--! Previous: sha1:ab73ccbc213a6d00ff756fd76e7181d9aa973c93
--! Hash: sha1:309833b09443556fa21f73c22d7d4afa5f422f4d
--! Message: both ways by block

--! no-transaction
-- Serves both tokens either way, in the order of block.
create index concurrently if not exists dex_trade_either_way_block_id_idx
on dex_trade (dex_private.either_way_key(lot_gem, bid_gem), block, id);
