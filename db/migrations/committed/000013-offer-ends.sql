--! Previous: sha1:3c216faf74eaa4ba2c0a85b7f003c99d92e92d46
--! Hash: sha1:93133ecd80e69795dc3f6b0a37a77eaaa1cd1958
--! Message: offer ends

--! no-transaction
-- Serves dex_private.last_end: whether any offer has ended after the head.
create index concurrently if not exists dex_offer_end_idx on dex_offer (greatest(killed, spent_block))
where killed > 0 or spent_block is not null;
