// The kinds of exchange that the indexer reads: one entry each.
import type { Decoder } from "../exchange-facts.ts";
import { matchingMarket } from "./matching-market.ts";
import { rubiconV2 } from "./rubicon-v2.ts";
import { tempo } from "./tempo.ts";
import { uniswapV2 } from "./uniswap-v2.ts";
import { uniswapV3 } from "./uniswap-v3.ts";

/** The first is the kind of an exchange that is given without one. */
export const EXCHANGE_KINDS: readonly Decoder[] = [
  matchingMarket,
  rubiconV2,
  uniswapV2,
  uniswapV3,
  tempo,
];

export const kindNames = (): string => EXCHANGE_KINDS.map(({ kind }) => kind).join(", ");

/** Those of which a fee can be given. */
export const kindsWithFee = (): string =>
  EXCHANGE_KINDS.filter(({ withFee }) => withFee !== undefined)
    .map(({ kind }) => kind)
    .join(", ");
