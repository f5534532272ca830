// What a service gives to those who follow it: pages of blocks with all their facts, and what is registered.
import { z } from "zod";
import { basisSchema } from "../export/manifest.ts";

/** Rows of a page, unless its first block alone has more. */
export const PAGE_ROWS = 2000;

/** Blocks of a page. */
export const PAGE_BLOCKS = 1000;

/** Tokens of a page of registrations. */
export const PAGE_TOKENS = 1000;

export const LARGEST_INTEGER = 2_147_483_647;
const LARGEST_TICK = 887_272;

const number = z.int().min(0).max(LARGEST_INTEGER);
const address = z.string().regex(/^0x[0-9a-f]{40}$/);
const hash = z.string().regex(/^0x[0-9a-f]{64}$/);
const amount = z
  .string()
  .regex(/^(0|[1-9]\d{0,77})(\.\d{0,17}[1-9])?$/)
  .describe("In whole tokens, without trailing zeros.");
const units = z.string().regex(/^(0|[1-9]\d{0,48})$/);
const exactTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  .describe("Its time in UTC, with six fractional digits.");
const orderName = z
  .string()
  .max(1000)
  .describe("The id that the contract gave the order, as in a digest.");
const digest = hash.nullable().describe("The digest of all facts up to the block.");
const venue = address.nullable().describe("The contract or pool.");

const swap = {
  maker: address,
  pair: hash,
  lotGem: address,
  lotAmt: amount,
  bidGem: address,
  bidAmt: amount,
  tx: hash,
  venue,
};

export const factBlock = z
  .object({
    number,
    hash: hash.nullable(),
    parent: hash.nullable().describe("The hash of the block before it."),
    time: exactTime,
    digest,
    offers: z.array(
      z.object({
        offer: orderName,
        ...swap,
        closed: z.boolean().describe("Whether nothing is left of it when it is made."),
      }),
    ),
    trades: z
      .array(
        z.object({
          idx: number.describe("The log index."),
          offer: orderName.nullable(),
          taker: address,
          ...swap,
        }),
      )
      .describe("In the order of `idx`."),
    cancelled: z.array(orderName),
    pools: z
      .array(
        z.object({
          ...{ venue: address, gem0: address, gem1: address },
          reserve0: amount.nullable().describe("Null where the pool has liquidity in ranges."),
          reserve1: amount.nullable(),
          fee: number.describe("What the pool keeps of each amount, in millionths."),
          tickSpacing: number
            .nullable()
            .describe("Null where the pool has reserves, like what follows."),
          sqrtPrice: units.nullable().describe("The square root of its price times 2^96."),
          tick: z.int().min(-LARGEST_TICK).max(LARGEST_TICK).nullable(),
          liquidity: units.nullable(),
          nets: z
            .string()
            .max(100_000)
            .regex(/^(-?\d{1,6}:-?\d{1,50}(:\d{1,50})?( -?\d{1,6}:-?\d{1,50}(:\d{1,50})?)*)?$/)
            .nullable()
            .describe(
              "Each tick whose liquidity the block changed, with its net liquidity after it, and its gross liquidity where ranges begin and end there.",
            ),
        }),
      )
      .describe("What each pool that the block changed has after it."),
  })
  .meta({ id: "BlockFacts" });

const place = z.object({ number, hash: hash.nullable(), digest });

export const blockPage = z
  .object({
    basis: basisSchema.nullable().describe("As in `/v2/head`."),
    before: place
      .nullable()
      .describe(
        "The last recorded block below `from`: whoever has another digest there has other facts.",
      ),
    blocks: z
      .array(factBlock)
      .describe("In the order of their numbers. Blocks without rows are not kept for long."),
    head: place.describe("The last block that there is."),
    final: number
      .nullable()
      .describe(
        "The last block up to the head that is not taken back any more, as is known now; null where there is none.",
      ),
    next: number.nullable().describe("`from` of the next page; null where the head is on this."),
  })
  .meta({ id: "BlockPage" });

export const registrationPage = z
  .object({
    tokens: z.array(
      z.object({
        address,
        symbol: z.string().max(100).nullable(),
        decimals: z.int().min(0).max(255),
        name: z.string().max(1000).nullable(),
      }),
    ),
    pairs: z
      .array(z.object({ baseGem: address, quoteGem: address, active: z.boolean() }))
      .describe("The pairs of which a token of this page is the base."),
    next: address.nullable().describe("`after` of the next page; null on the last."),
  })
  .meta({ id: "RegistrationPage" });

export type FactBlock = z.infer<typeof factBlock>;
export type BlockPage = z.infer<typeof blockPage>;
export type RegistrationPage = z.infer<typeof registrationPage>;
