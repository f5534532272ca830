// The SQL that creates trades and offers in sets. Every row is a function of its number, so that the data are
// always the same.
//
// Each group has 1,000 consecutive trades and 100 offers, which are made in the block of the first trade. Ten
// trades take 1 to 10 parts of each offer, 55 in total. Seven offers in ten have 55 parts and are filled; the
// others have 100, and are cancelled in the block of the group's last trade, except those of the last days.
import { MAKERS, MARKETS, TAKERS } from "./registry.ts";

/** Days with 98 % of the trades; the day after has 2 %. */
const OLD_DAYS = 999;
const BLOCKS_A_DAY = 17_280;
const BLOCK_SECONDS = 5;
// Chosen so that the head is inside an hour and a minute, not at their limits.
const GENESIS = "2023-03-04T10:17:35Z";

export const TRADES_A_GROUP = 1000;
export const OFFERS_A_GROUP = 100;
const STANDING_OFFERS = 20_000;

/** SQL expressions for the block of trade number `i` (from 0) and for its ordinal in the block. */
function blockOf(i: string, trades: number): { block: string; idx: string } {
  const recent = Math.round(trades / 50);
  const old = trades - recent;
  const oldBlocks = OLD_DAYS * BLOCKS_A_DAY;
  const oldBlock = `((${i}) * ${oldBlocks} / ${old})`;
  const newBlock = `(((${i}) - ${old}) * ${BLOCKS_A_DAY} / ${recent})`;
  return {
    block: `(case when ${i} < ${old} then ${oldBlock} else ${oldBlocks} + ${newBlock} end)::integer`,
    // The trade's number minus the number of the first trade in its block.
    idx: `(case when ${i} < ${old}
      then ${i} - (${oldBlock} * ${old} + ${oldBlocks - 1}) / ${oldBlocks}
      else ${i} - ${old} - (${newBlock} * ${recent} + ${BLOCKS_A_DAY - 1}) / ${BLOCKS_A_DAY}
    end)::integer`,
  };
}

const timeOf = (block: string): string =>
  `timestamptz '${GENESIS}' + ${block} * interval '${BLOCK_SECONDS} seconds'`;

/** SQL for 24 random bits from the 32 bytes of a hash. */
const bits = (hash: string, at: number): string =>
  `(get_byte(${hash}, ${at}) * 65536 + get_byte(${hash}, ${at + 1}) * 256 + get_byte(${hash}, ${at + 2}))`;
const fraction = (hash: string, at: number): string => `(${bits(hash, at)} / 16777216.0::float8)`;

/** One part of each offer number from $1 to $2 - 1; an offer and its trades are multiples of it. */
const OFFER_PARTS = `
  offer_parts as materialized (
    select
      part.k,
      part.spread,
      market.market_id,
      market.market,
      maker.address as maker,
      case when part.sells then 'sell' else 'buy' end as act,
      case when part.sells then market.sell_hash else market.buy_hash end as pair,
      case when part.sells then market.base_gem else market.quote_gem end as lot_gem,
      case when part.sells then market.base_tkn else market.quote_tkn end as lot_tkn,
      case when part.sells then amounts.base else amounts.quote end as lot_amt,
      case when part.sells then market.quote_gem else market.base_gem end as bid_gem,
      case when part.sells then market.quote_tkn else market.base_tkn end as bid_tkn,
      case when part.sells then amounts.quote else amounts.base end as bid_amt,
      -- All trades of an offer have the same price, because its parts are equal.
      dex_private.quotient(amounts.quote, amounts.base) as price
    from (
      select
        k,
        get_byte(hash, 0) % 2 = 0 as sells,
        case
          when ${bits("hash", 1)} % 3 = 0 then 1
          else 2 + floor(${MARKETS - 1} * power(${fraction("hash", 4)}, 2))::integer
        end as n,
        floor(${MAKERS} * power(${fraction("hash", 7)}, 3))::integer as maker,
        ${bits("hash", 10)}::bigint * 16777216 + ${bits("hash", 13)} + 1 as size,
        ${bits("hash", 16)} % 1000 + 1 as spread
      from (
        select
          k,
          sha256(int8send(k)) as hash
        from generate_series($1::bigint, $2::bigint - 1) as k
      ) as numbered
    ) as part
    join bench.market as market on market.n = part.n
    join bench.account as maker on maker.kind = 'maker' and maker.n = part.maker
    cross join lateral (
      select part.size * 0.000000000000001237 as base
    ) as base_part
    cross join lateral (
      select
        base_part.base,
        round(
          base_part.base * market.price
            * case when part.sells then 1 + part.spread * 0.00001 else 1 - part.spread * 0.00001 end,
          18
        ) as quote
    ) as amounts
  )`;

/** Inserts the trades of the offers number $1 to $2 - 1, ten per offer. */
export function insertTrades(trades: number): string {
  const { block, idx } = blockOf("i", trades);
  return `
    with ${OFFER_PARTS},
    numbered as (
      select
        i,
        ${block} as block,
        ${idx} as idx,
        sha256(int8send(i + 1000000000000)) as hash,
        i % ${TRADES_A_GROUP} * 617 % ${TRADES_A_GROUP} as place
      from generate_series($1::bigint * 10, $2::bigint * 10 - 1) as i
    )
    insert into dex_trade (
      id, offer_id, market_id, market, act, pair, maker, taker, lot_gem, lot_tkn, lot_amt, bid_gem,
      bid_tkn, bid_amt, price, block, time, tx, idx
    )
    select
      trade.i + 1,
      offer.k + 1,
      offer.market_id,
      offer.market,
      offer.act,
      offer.pair,
      offer.maker,
      taker.address,
      offer.lot_gem,
      offer.lot_tkn,
      round(offer.lot_amt * (1 + trade.place % 10), 18),
      offer.bid_gem,
      offer.bid_tkn,
      round(offer.bid_amt * (1 + trade.place % 10), 18),
      offer.price,
      trade.block,
      ${timeOf("trade.block")},
      '0x' || encode(trade.hash, 'hex'),
      trade.idx
    from numbered as trade
    join offer_parts as offer
      on offer.k = trade.i / ${TRADES_A_GROUP} * ${OFFERS_A_GROUP} + trade.place / 10
    join bench.account as taker
      on taker.kind = 'taker'
      and taker.n = floor(${TAKERS} * power(${fraction("trade.hash", 0)}, 3))::integer
    order by trade.i`;
}

/** Inserts the offers number $1 to $2 - 1, in their state after all trades. */
export function insertOffers(trades: number): string {
  const made = blockOf(`(k / ${OFFERS_A_GROUP} * ${TRADES_A_GROUP})`, trades).block;
  const ended = blockOf(
    `(k / ${OFFERS_A_GROUP} * ${TRADES_A_GROUP} + ${TRADES_A_GROUP - 1})`,
    trades,
  ).block;
  const offers = trades / 10;
  const standing = Math.min(STANDING_OFFERS, offers / 5);
  return `
    with ${OFFER_PARTS}
    insert into dex_offer (
      id, block, killed, market_id, market, act, pair, maker, lot_gem, lot_tkn, lot_amt, bid_gem,
      bid_tkn, bid_amt, price, time, tx, filled, closed
    )
    select
      offer.k + 1,
      state.block,
      case when state.filled or offer.k >= ${offers - standing} then 0 else state.ended end,
      offer.market_id,
      offer.market,
      offer.act,
      offer.pair,
      offer.maker,
      offer.lot_gem,
      offer.lot_tkn,
      round(offer.lot_amt * state.parts, 18),
      offer.bid_gem,
      offer.bid_tkn,
      round(offer.bid_amt * state.parts, 18),
      offer.price,
      ${timeOf("state.block")},
      '0x' || encode(sha256(int8send(offer.k + 2000000000000)), 'hex'),
      state.filled,
      false
    from (
      select
        k,
        k % 10 < 7 as filled,
        case when k % 10 < 7 then 55 else 100 end as parts,
        ${made} as block,
        ${ended} as ended
      from offer_parts
    ) as state
    join offer_parts as offer using (k)
    order by k`;
}

/** The blocks of all rows: offers are made and cancelled only in blocks with trades. */
export const INSERT_BLOCKS = `
  insert into dex_block (number, time, first_trade, has_rows)
  select
    trade.block,
    min(trade.time),
    min(trade.id),
    true
  from dex_trade as trade
  group by trade.block
  order by trade.block`;
