// The listing formats: each is a separate version, below its name.
import type { Version } from "../endpoint.ts";
import { coingecko } from "./coingecko.ts";
import { coinmarketcap } from "./coinmarketcap.ts";
import { dexscreener } from "./dexscreener.ts";
import { udf } from "./udf.ts";

export interface ListingSettings {
  /** What the formats call the exchange. */
  exchangeName: string;
  /** Tokens that are worth a dollar: symbols in upper case, and addresses in lower case. */
  usdTokens: readonly string[];
}

export const LISTING_SETTINGS: ListingSettings = { exchangeName: "dex", usdTokens: [] };

export const listingFormats = ({ exchangeName, usdTokens }: ListingSettings): Version[] => [
  coingecko(usdTokens),
  coinmarketcap,
  dexscreener(exchangeName),
  udf(exchangeName),
];
