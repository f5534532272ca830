// Parameters that several listing formats have, and the names of markets in them.
import { z } from "zod";
import type { PairName } from "../../market/queries/snapshot.ts";
import { integerAccepted, integerIn, type Parameter } from "../params.ts";
import type { BookRecord } from "../../market/queries/book.ts";
import { MAX_TRADES, SIDES, side, type Side } from "../../market/queries/listed-trades.ts";

/** An address in any letter case. */
export const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);

/** A text that names a market or a token, and must be given. */
export const requiredText = (
  pattern: RegExp,
  { description, accepted, example }: Omit<Parameter<string>, "schema" | "required">,
): Parameter<string> => ({
  description,
  accepted: `${accepted}, given once`,
  schema: z.string().regex(pattern),
  example,
  none: "",
  required: true,
});

/** Two token addresses; base first. */
export const marketByAddresses = (description: string): Parameter<string> =>
  requiredText(/^0x[0-9a-fA-F]{40}_0x[0-9a-fA-F]{40}$/, {
    description,
    accepted: "the addresses of base and quote token in hex, such as 0x12…_0x34…",
    example:
      "0x5359e9235cc41cabee78f7f2a4fcf01e650ab475_0xbbeab13af26280e72d04c5794aa71659b1a1a318",
  });

/** One more than a text can be split into would be refused by the parameter's pattern. */
export function byAddresses(id: string): PairName {
  const [base = "", quote = ""] = id.split("_");
  return { base, quote, by: "addresses" };
}

/** The id of a market. No two have the same tokens. */
export const addressesOf = ({ baseGem, quoteGem }: { baseGem: string; quoteGem: string }): string =>
  `${baseGem}_${quoteGem}`;

/** The greatest depth that dex_book takes. */
const MAX_LEVELS = 1000;
const MAX_DEPTH = 2 * MAX_LEVELS;

/** How many levels of both sides together; 0 for all that one answer can have. */
export const depthOfBothSides: Parameter<number> = {
  description:
    "How many levels of both sides together, at most: half of them, rounded up, of each side. " +
    `0 for ${MAX_LEVELS} of each side.`,
  accepted: integerAccepted(0, MAX_DEPTH),
  schema: integerIn(0, MAX_DEPTH).default(0),
  example: "20",
};

export const levelsOfASide = (depth: number): number =>
  depth === 0 ? MAX_LEVELS : Math.ceil(depth / 2);

const levels = z.array(z.tuple([z.string(), z.string()]));

export const book = {
  timestamp: z.int().describe("The head's time, in milliseconds since the Unix epoch."),
  bids: levels.describe("Price and base amount, from the highest price down."),
  asks: levels.describe("Price and base amount, from the lowest price up."),
};

const levelsOf = (side: BookRecord["bids"]): [price: string, amount: string][] =>
  side.map(({ price, vol }) => [price, vol]);

export const listedBook = ({ bids, asks }: BookRecord, time: string) => ({
  timestamp: Date.parse(time),
  bids: levelsOf(bids),
  asks: levelsOf(asks),
});

export const sideAsked: Parameter<Side | undefined> = {
  description: "The side of the taker; without it, both.",
  accepted: `one of ${SIDES.join(", ")}, given once`,
  schema: side.optional(),
  example: "buy",
};

export const tradesAsked = (initial: number): Parameter<number> => ({
  description: `How many trades, at most: the newest of them. 0 for ${MAX_TRADES}.`,
  accepted: integerAccepted(0, MAX_TRADES),
  schema: integerIn(0, MAX_TRADES).default(initial),
  example: "2",
});
