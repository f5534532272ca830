// What a row to load is, once it is checked. Amounts are decimals in text, addresses have their
// EIP-55 checksum, hashes are in lower case, times carry their offset.
// `line` is where the row stands in its file; without it, errors count the rows.

export interface TokenRow {
  line?: number;
  address: string;
  /** Without one, what the database has stays. So for every optional field of a token. */
  symbol?: string | undefined;
  decimals: number;
  name?: string | undefined;
}

export interface PairRow {
  line?: number;
  /** Symbols, in any case. Where one names several tokens, the addresses say which is meant. */
  base: string;
  quote: string;
  base_gem?: string | undefined;
  quote_gem?: string | undefined;
  /** Without it a new pair is active, and one that is there stays as it is. */
  active?: boolean | undefined;
}

export interface OfferRow {
  line?: number;
  id: number;
  /** Without it, it is computed of the two addresses. */
  pair?: string | undefined;
  maker: string;
  lot_gem: string;
  lot_amt: string;
  bid_gem: string;
  bid_amt: string;
  /** The block of the cancellation; 0 says nothing of it, and takes none back. */
  killed?: number | undefined;
  /** That nothing is left; `false` says nothing of it, and opens no offer again. */
  filled?: boolean | undefined;
  block: number;
  time: string;
  tx: string;
}

export interface TradeRow {
  line?: number;
  /** All trades of a load have one, or none has: then the series continues. */
  id?: number | undefined;
  offer_id: number;
  /** Without it, it is computed of the two addresses. */
  pair?: string | undefined;
  maker: string;
  taker: string;
  lot_gem: string;
  lot_amt: string;
  bid_gem: string;
  bid_amt: string;
  block: number;
  time: string;
  tx: string;
  /** All trades of a load have one, or none has: then it is the row's ordinal in its block. */
  idx?: number | undefined;
}

export type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;

/** What to load: any of the four. */
export interface LoadSource {
  tokens?: Rows<TokenRow>;
  pairs?: Rows<PairRow>;
  offers?: Rows<OfferRow>;
  trades?: Rows<TradeRow>;
}

/** The four kinds of rows, in the order in which they are loaded. */
export const TABLES = ["tokens", "pairs", "offers", "trades"] as const;
export type TableName = (typeof TABLES)[number];
