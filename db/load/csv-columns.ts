// The columns of the four CSV files, with a parser for each column. README.md in this folder
// documents them for users.
import { pairHash } from "./checksum.ts";
import type { OfferRow, PairRow, TokenRow, TradeRow } from "./checked-rows.ts";
import {
  address,
  amount,
  flag,
  hash,
  integer,
  label,
  NotAccepted,
  time,
  tradeId,
  wholeNumber,
} from "./values.ts";

export interface Column {
  /** Whether the file must have the column, and every row a value in it. */
  required: boolean;
  read: (text: string) => unknown;
}

export interface Format<Row> {
  columns: Record<Exclude<keyof Row, "line">, Column>;
  /** Columns that the database derives; a file must not have them. */
  derived: readonly string[];
  /** Checks that involve more than one column. */
  check?: (row: Row, refuse: (column: keyof Row, accepted: string) => never) => void;
}

const required = (read: Column["read"]): Column => ({ required: true, read });
const optional = (read: Column["read"]): Column => ({ required: false, read });

const SYMBOL = label(100);

function symbol(text: string): string {
  if (text === "") throw new NotAccepted("the symbol of a registered token, in any letter case");
  return SYMBOL(text);
}

const tokens: Format<TokenRow> = {
  columns: {
    address: required(address),
    symbol: optional(SYMBOL),
    decimals: required(integer(0, 255)),
    name: optional(label(1000)),
  },
  derived: [],
};

const pairs: Format<PairRow> = {
  columns: {
    base: required(symbol),
    quote: required(symbol),
    base_gem: optional(address),
    quote_gem: optional(address),
    active: optional(flag),
  },
  derived: ["id", "market", "base_precision", "quote_precision"],
};

type Swap = Pick<TradeRow, "pair" | "lot_gem" | "bid_gem">;

function checkPair(
  { pair, lot_gem, bid_gem }: Swap,
  refuse: (column: "pair", accepted: string) => never,
) {
  if (pair === undefined) return;
  const expected = pairHash(lot_gem, bid_gem);
  if (pair === expected) return;
  refuse("pair", `the hash of this row's lot_gem and bid_gem, ${expected}, or an empty value`);
}

const offers: Format<OfferRow> = {
  columns: {
    id: required(wholeNumber),
    pair: optional(hash),
    maker: required(address),
    lot_gem: required(address),
    lot_amt: required(amount),
    bid_gem: required(address),
    bid_amt: required(amount),
    killed: optional(wholeNumber),
    filled: optional(flag),
    block: required(wholeNumber),
    time: required(time),
    tx: required(hash),
    venue: optional(address),
  },
  derived: ["lot_tkn", "bid_tkn", "market", "act", "price"],
  check: (row, refuse) => {
    checkPair(row, refuse);
    const { killed = 0, block } = row;
    if (killed === 0 || killed >= block) return;
    refuse("killed", `0, or at least ${block}, the block of the offer`);
  },
};

const trades: Format<TradeRow> = {
  columns: {
    id: optional(tradeId),
    offer_id: optional(wholeNumber),
    pair: optional(hash),
    maker: required(address),
    taker: required(address),
    lot_gem: required(address),
    lot_amt: required(amount),
    bid_gem: required(address),
    bid_amt: required(amount),
    block: required(wholeNumber),
    time: required(time),
    tx: required(hash),
    venue: optional(address),
    idx: optional(wholeNumber),
  },
  derived: ["lot_tkn", "bid_tkn", "market", "act", "price"],
  check: checkPair,
};

export const formats = { tokens, pairs, offers, trades };
