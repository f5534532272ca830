// The types of checked rows. Amounts are decimal strings, addresses have an EIP-55 checksum, hashes are
// in lower case, times have an offset.
// `line` is the row's line in its file; without it, error messages give the number of the row.

export interface TokenRow {
  line?: number;
  address: string;
  /** If it is missing, the database keeps its value; the same goes for `name`. */
  symbol?: string | undefined;
  decimals: number;
  name?: string | undefined;
}

export interface PairRow {
  line?: number;
  /** Symbols in any letter case. If several tokens share a symbol, the address selects one. */
  base: string;
  quote: string;
  base_gem?: string | undefined;
  quote_gem?: string | undefined;
  /** If it is missing, a new pair is active and an existing pair stays as it is. */
  active?: boolean | undefined;
}

interface SwapRow {
  line?: number;
  /** Computed from the two addresses if it is missing. */
  pair?: string | undefined;
  maker: string;
  lot_gem: string;
  lot_amt: string;
  bid_gem: string;
  bid_amt: string;
  block: number;
  time: string;
  tx: string;
  /** Address of the contract or pool. */
  venue?: string | undefined;
}

export interface OfferRow extends SwapRow {
  id: number;
  /** The block of the cancellation. 0 means unknown: it does not revoke a recorded cancellation. */
  killed?: number | undefined;
  /** Whether nothing is left. `false` means unknown: it does not reopen an offer. */
  filled?: boolean | undefined;
}

export interface TradeRow extends SwapRow {
  /** Given for all trades of a load or for none; if missing, the database continues its ids. */
  id?: number | undefined;
  /** Missing where the trade matched no offer, as in a pool. */
  offer_id?: number | undefined;
  taker: string;
  /** Given for all trades of a load or for none; if missing, the row's ordinal in its block, from 0. */
  idx?: number | undefined;
}

export type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;

/** The rows to load; each kind is optional. */
export interface LoadSource {
  tokens?: Rows<TokenRow>;
  pairs?: Rows<PairRow>;
  offers?: Rows<OfferRow>;
  trades?: Rows<TradeRow>;
}

/** The four kinds of rows, in loading order. */
export const TABLES = ["tokens", "pairs", "offers", "trades"] as const;
export type TableName = (typeof TABLES)[number];
