// A simulated offer: its tokens, its price, and its row.
import type { OfferRow } from "../load/checked-rows.ts";
import { powerOfTen, toDecimal } from "./amount.ts";
import type { Market } from "./simulated-tokens.ts";

/** An offer with something left; amounts in the smallest units of its tokens. */
export interface OpenOffer {
  id: number;
  market: Market;
  /** The maker's side of the base token. */
  act: "sell" | "buy";
  maker: string;
  lot: bigint;
  bid: bigint;
  /** How much of the lot was taken. */
  taken: bigint;
  block: number;
  time: string;
  tx: string;
}

/** An offer's lot and bid token. */
export const tokensOf = ({
  market,
  act,
}: OpenOffer): { lot: Market["base"]; bid: Market["base"] } =>
  act === "sell"
    ? { lot: market.base, bid: market.quote }
    : { lot: market.quote, bid: market.base };

/** Quote per base, times 10^18, rounded down. */
export function priceOf({ market, act, lot, bid }: OpenOffer): bigint {
  const [base, quote] = act === "sell" ? [lot, bid] : [bid, lot];
  return (
    (quote * powerOfTen(18 + market.base.decimals)) / (base * powerOfTen(market.quote.decimals))
  );
}

/** The row of an offer that was cancelled in block `killed`, or not at all: 0. */
export function offerRow(offer: OpenOffer, killed = 0): OfferRow {
  const tokens = tokensOf(offer);
  return {
    id: offer.id,
    pair: offer.market.hashes[offer.act],
    maker: offer.maker,
    lot_gem: tokens.lot.address,
    lot_amt: toDecimal(offer.lot, tokens.lot.decimals),
    bid_gem: tokens.bid.address,
    bid_amt: toDecimal(offer.bid, tokens.bid.decimals),
    killed,
    block: offer.block,
    time: offer.time,
    tx: offer.tx,
  };
}
