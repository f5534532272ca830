-- Volume of each market.

create view dex_volume as
select
  figure.pair,
  figure.base,
  figure.quote,
  figure.vol
from dex_private.head_figure as figure;
comment on view dex_volume is E'@primaryKey pair\n@unique base,quote\n@foreignKey (base, quote) references dex_pair (base, quote)|@fieldName dexPair|@foreignFieldName dexVolume|@forwardDescription The registered pair: its tokens and precisions. Never null.|@backwardDescription The volume of this pair as of the head. Never null.\nVolume of each registered market as of the head.';
comment on column dex_volume.pair is E'@notNull\nPair identifier BASE/QUOTE.';
comment on column dex_volume.base is E'@notNull\nSymbol of the base token, in upper case.';
comment on column dex_volume.quote is E'@notNull\nSymbol of the quote token, in upper case.';
comment on column dex_volume.vol is 'Volume over the last 24 hours, in base units. Null without a trade in them.';
grant select on dex_volume to dex_reader, dex_writer;
