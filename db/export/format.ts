// The kinds of files of a day: their columns, and the statements that read their rows.

/** The version of the format: columns, order, encodings. With another one the same facts have other bytes. */
export const FORMAT = 1;

export interface Column {
  name: string;
  type: "integer" | "boolean" | "text" | "time" | "decimal";
  /** A decimal is null in Parquet where it has more digits than its type holds. */
  isNullable?: true;
}

/** The rows of a day: blocks from `first` to `last`, trades by their ids, times from `from` to before `to`. */
export interface DayRange {
  from: string;
  to: string;
  first: number;
  last: number;
  firstTrade: string;
  lastTrade: string;
}

export interface Kind {
  name: string;
  columns: readonly Column[];
  /** Its columns are those of the kind, as text but for integers and booleans. */
  text: string;
  values: (day: DayRange) => (string | number)[];
}

/** Of a column: text, but for integers and booleans. */
export type Value = string | number | boolean | null;

/** What makes the bytes of a file of its rows. */
export interface RowSink {
  /** The bytes that are ready: they depend on the rows alone, not on how many come at once. */
  add: (rows: readonly (readonly Value[])[]) => Uint8Array[];
  /** The last bytes. */
  end: () => Uint8Array[];
}

const integer = (name: string): Column => ({ name, type: "integer" });
const integerOrNull = (name: string): Column => ({ name, type: "integer", isNullable: true });
const text = (name: string): Column => ({ name, type: "text" });
const textOrNull = (name: string): Column => ({ name, type: "text", isNullable: true });
const time = (name: string): Column => ({ name, type: "time" });
const decimal = (name: string): Column => ({ name, type: "decimal" });

export const asTime = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
/** An address is one thing in any letter case. */
export const asAddress = (column: string): string => `lower(${column} collate "C")`;
export const asDecimal = (column: string): string => `trim_scale(${column})::text`;
/** The order's name in a digest: an id from 2^30 on depends on what else the database has. */
export const asOrder = (column: string): string =>
  `case when ${column} >= 1073741824 then dex_private.order_name(${column}) else ${column}::text end`;

/** The same, of a row of dex_offer. */
export const madeOrder = (row: string): string =>
  `case when ${row}.ref is null then ${row}.id::text else coalesce(${asAddress(`${row}.venue`)}, '-') || ':' || to_json(${row}.ref) end`;

const inBlocks = ({ first, last }: DayRange): number[] => [first, last];

const blocks: Kind = {
  name: "blocks",
  columns: [integer("number"), textOrNull("hash"), time("time"), text("digest")],
  text: `
    select
      block.number,
      block.hash,
      ${asTime("block.time")},
      '0x' || encode(block.digest, 'hex')
    from dex_block as block
    where block.number between $1 and $2
      and block.has_rows
    order by block.number`,
  values: inBlocks,
};

const trades: Kind = {
  name: "trades",
  columns: [
    ...[integer("block"), integer("idx"), time("time"), text("tx"), textOrNull("venue")],
    ...[textOrNull("offer"), text("maker"), text("taker"), text("pair")],
    ...[text("lot_gem"), decimal("lot_amt"), text("bid_gem"), decimal("bid_amt")],
  ],
  // The order of ids is that of block and log index.
  text: `
    select
      trade.block,
      trade.idx,
      ${asTime("trade.time")},
      trade.tx,
      ${asAddress("trade.venue")},
      ${asOrder("trade.offer_id")},
      ${asAddress("trade.maker")},
      ${asAddress("trade.taker")},
      trade.pair,
      ${asAddress("trade.lot_gem")},
      ${asDecimal("trade.lot_amt")},
      ${asAddress("trade.bid_gem")},
      ${asDecimal("trade.bid_amt")}
    from dex_trade as trade
    where trade.id between $1 and $2
    order by trade.id`,
  values: ({ firstTrade, lastTrade }) => [firstTrade, lastTrade],
};

const offers: Kind = {
  name: "offers",
  columns: [
    ...[integer("block"), text("offer"), time("time"), text("tx"), textOrNull("venue")],
    ...[text("maker"), text("pair")],
    ...[text("lot_gem"), decimal("lot_amt"), text("bid_gem"), decimal("bid_amt")],
    { name: "closed", type: "boolean" },
  ],
  text: `
    select
      made.block,
      made.name,
      ${asTime("made.time")},
      made.tx,
      ${asAddress("made.venue")},
      ${asAddress("made.maker")},
      made.pair,
      ${asAddress("made.lot_gem")},
      ${asDecimal("made.lot_amt")},
      ${asAddress("made.bid_gem")},
      ${asDecimal("made.bid_amt")},
      made.closed
    from (
      select
        offer.*,
        ${madeOrder("offer")} as name
      from dex_offer as offer
      where offer.block between $1 and $2
    ) as made
    order by
      made.block,
      made.name collate "C"`,
  values: inBlocks,
};

const ends: Kind = {
  name: "ends",
  columns: [integer("block"), text("offer"), time("time"), text("event")],
  // What fills an offer is a trade of the day, or its making after its trades.
  text: `
    select
      ended.block,
      ended.name,
      ${asTime("block.time")},
      ended.event
    from (
      select
        cancellation.block,
        ${asOrder("cancellation.offer_id")} as name,
        'cancelled' as event
      from dex_private.cancellation
      where cancellation.block between $1 and $2
      union all
      select
        offer.ended,
        ${asOrder("offer.id")},
        'filled'
      from (
        select trade.offer_id as id
        from dex_trade as trade
        where trade.id between $3 and $4
        union
        select made.id
        from dex_offer as made
        where made.block between $1 and $2
      ) as touched
      join dex_offer as offer on offer.id = touched.id
      where offer.ended between $1 and $2
        and (offer.killed = 0 or offer.ended < offer.killed)
    ) as ended
    join dex_block as block on block.number = ended.block
    order by
      ended.block,
      ended.name collate "C",
      ended.event collate "C"`,
  values: ({ first, last, firstTrade, lastTrade }) => [first, last, firstTrade, lastTrade],
};

const pools: Kind = {
  name: "pools",
  columns: [
    ...[integer("block"), text("venue"), time("time")],
    ...[text("gem0"), decimal("reserve0"), text("gem1"), decimal("reserve1"), integer("fee")],
    ...[integerOrNull("tick_spacing"), textOrNull("sqrt_price"), integerOrNull("tick")],
    ...[textOrNull("liquidity"), textOrNull("nets")],
  ],
  text: `
    select
      state.block,
      ${asAddress("state.venue")},
      ${asTime("block.time")},
      ${asAddress("pool.gem0")},
      ${asDecimal("state.reserve0")},
      ${asAddress("pool.gem1")},
      ${asDecimal("state.reserve1")},
      pool.fee,
      pool.tick_spacing,
      state.sqrt_price::text,
      state.tick,
      state.liquidity::text,
      nullif(state.nets, '')
    from dex_pool_state as state
    join dex_pool as pool on pool.venue = state.venue
    join dex_block as block on block.number = state.block
    where state.block between $1 and $2
    order by
      state.block,
      ${asAddress("state.venue")}`,
  values: inBlocks,
};

const candles: Kind = {
  name: "candles",
  columns: [
    ...[text("base_gem"), text("quote_gem"), time("time")],
    ...[decimal("open"), decimal("high"), decimal("low"), decimal("close")],
    ...[decimal("vol"), decimal("quote_vol"), integer("trades")],
  ],
  text: `
    select
      ${asAddress("pair.base_gem")},
      ${asAddress("pair.quote_gem")},
      ${asTime("figure.start")},
      ${asDecimal("figure.open")},
      ${asDecimal("figure.high")},
      ${asDecimal("figure.low")},
      ${asDecimal("figure.close")},
      ${asDecimal("figure.base_amt")},
      ${asDecimal("figure.quote_amt - figure.unpriced_quote_amt")},
      figure.trades - figure.unpriced_trades
    from dex_pair as pair
    join dex_private.period_figure as figure
      on figure.market_id = pair.id
      and figure.minutes = 1
      and figure.start >= $1::timestamptz
      and figure.start < $2::timestamptz
      and figure.low is not null
    order by
      ${asAddress("pair.base_gem")},
      ${asAddress("pair.quote_gem")},
      figure.start`,
  values: ({ from, to }) => [from, to],
};

export const KINDS: readonly Kind[] = [blocks, trades, offers, ends, pools, candles];

/** What is registered when a day is exported, and travels with it: candles are of these markets. */
export interface Registry {
  name: string;
  columns: readonly string[];
  text: string;
}

export const REGISTRIES: readonly Registry[] = [
  {
    name: "tokens",
    columns: ["address", "symbol", "decimals", "name"],
    text: `
      select
        ${asAddress("token.address")},
        token.symbol,
        token.decimals,
        token.name
      from dex_token as token
      order by 1`,
  },
  {
    name: "markets",
    columns: ["base_gem", "quote_gem", "active"],
    text: `
      select
        ${asAddress("pair.base_gem")},
        ${asAddress("pair.quote_gem")},
        pair.active
      from dex_pair as pair
      order by 1, 2`,
  },
];
