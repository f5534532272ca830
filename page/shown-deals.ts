// What a trade or an offer is, in the documents of the server: its market, side, price, and what moves for what.
import type { Deal } from "../market/queries/deals.ts";
import { placesOf, shortened } from "./client/decimal.js";
import { html, type Html } from "./html.ts";
import { tokenOf } from "./shown-addresses.ts";
import { linkTo, numberOf } from "./shown-figures.ts";

export const marketOf = ({ base, quote }: Deal): Html | string =>
  base === null || quote === null ? "no market" : linkTo({ base, quote });

export const lotOf = ({ lotAmt, lotTkn, lotGem }: Deal, amount = lotAmt): Html =>
  html`${numberOf(amount)} ${tokenOf(lotTkn, lotGem)}`;

export const bidOf = ({ bidAmt, bidTkn, bidGem }: Deal): Html =>
  html`${numberOf(bidAmt)} ${tokenOf(bidTkn, bidGem)}`;

export const priceOf = ({ price }: Deal): Html | string =>
  price === null ? "–" : numberOf(price, shortened(price, placesOf(price)));

/** What the maker or the taker did with the base token; `act` is the maker's side. */
export function sideOf(act: Deal["act"], isMaker: boolean): Html | string {
  if (act === null) return "–";
  return (act === "buy") === isMaker
    ? html`<span class="up">Buy</span>`
    : html`<span class="down">Sell</span>`;
}
