// What DEX Screener's adapter 1.1 asks for: the latest block, assets, pairs, and the swaps of ranges of blocks.
import { z } from "zod";
import { bareEnvelope } from "../../http/envelope.ts";
import { BadParameter } from "../../http/errors.ts";
import { UnknownAsset, UnknownPair } from "../../market/absent.ts";
import { endpoint, type Version } from "../endpoint.ts";
import { integerAccepted, integerIn, type Parameter } from "../params.ts";
import { findHead, headOf } from "../../market/queries/head.ts";
import { findListedMarket, findToken } from "../../market/queries/listed-markets.ts";
import { findSwaps, type SwapRow } from "../../market/queries/listed-trades.ts";
import {
  address,
  addressesOf,
  byAddresses,
  marketByAddresses,
  requiredText,
} from "./listing-params.ts";

const pairId = z.string().regex(/^0x[0-9a-fA-F]{40}_0x[0-9a-fA-F]{40}$/);

const block = z
  .object({
    blockNumber: z.int().min(0),
    blockTimestamp: z.int().describe("In seconds since the Unix epoch."),
  })
  .meta({ id: "DexScreenerBlock" });

const asset = z
  .object({
    id: address,
    name: z.string().min(1).describe("The symbol where the name is not known."),
    symbol: z.string().min(1).describe("As on chain; the address where it is not known."),
  })
  .meta({ id: "DexScreenerAsset" });

const pair = z
  .object({
    id: pairId.describe("The addresses of both tokens, joined by an underscore."),
    dexKey: z.string().describe("`EXCHANGE_NAME` of the service."),
    asset0Id: address.describe("The base token."),
    asset1Id: address.describe("The quote token."),
  })
  .meta({ id: "DexScreenerPair" });

/** More than 18 fractional digits, but no exponent and no zero. */
const positive = z.string().regex(/^(?!0$)(0|[1-9]\d*)(\.\d{0,49}[1-9])?$/);

const swapped = {
  block,
  eventType: z.literal("swap"),
  txnId: z.string().describe("The hash of the transaction."),
  txnIndex: z
    .int()
    .min(0)
    .describe(
      "The place of the transaction among those of its block that have trades: the chain's own is not recorded.",
    ),
  eventIndex: z.int().min(0).describe("The trade's log index within its block."),
  maker: address.describe("The sender of the transaction, which is the taker of the trade."),
  pairId,
};
const priceNative = positive.describe(
  "The price of asset0 in asset1, rounded once to 50 fractional digits.",
);
const swap = z
  .union([
    z.object({ ...swapped, asset0In: positive, asset1Out: positive, priceNative }),
    z.object({ ...swapped, asset1In: positive, asset0Out: positive, priceNative }),
  ])
  .meta({ id: "DexScreenerSwap" });

function swapOf(row: SwapRow): z.infer<typeof swap> {
  const common = {
    block: { blockNumber: row.block, blockTimestamp: Number(row.seconds) },
    eventType: "swap",
    txnId: row.tx,
    txnIndex: Number(row.txPlace),
    eventIndex: row.idx,
    maker: row.taker,
    pairId: addressesOf(row),
  } as const;
  const { base, quote, price: priceNative } = row;
  return row.act === "buy"
    ? { ...common, asset0In: base, asset1Out: quote, priceNative }
    : { ...common, asset1In: quote, asset0Out: base, priceNative };
}

/** One answer is of no more blocks. */
const MAX_BLOCKS = 1000;

// One more than this is an integer of PostgreSQL too.
const LAST_BLOCK = 2 ** 31 - 2;

const blockNumber = (description: string, example: string): Parameter<number> => ({
  description,
  accepted: integerAccepted(0, LAST_BLOCK),
  schema: integerIn(0, LAST_BLOCK),
  example,
  required: true,
});

export const dexscreener = (exchangeName: string): Version => ({
  name: "dexscreener",
  description: "DEX Screener's adapter 1.1. Answers are the data alone.",
  envelope: bareEnvelope,
  endpoints: [
    endpoint({
      id: "dexscreenerLatestBlock",
      path: "/latest-block",
      summary: "The head",
      description: "`/dexscreener/events` has every block up to it. 503 before the first block.",
      find: findHead,
      shape: (_rows, moment) => ({
        block: {
          blockNumber: headOf(moment),
          blockTimestamp: Math.floor(Date.parse(moment.time) / 1000),
        },
      }),
      data: z.object({ block }),
    }),
    endpoint({
      id: "dexscreenerAsset",
      path: "/asset",
      summary: "A registered token",
      description: "Supplies are not recorded, and absent.",
      query: {
        id: requiredText(/^0x[0-9a-fA-F]{40}$/, {
          description: "The token's address, in any case.",
          accepted: "an address: 0x and 40 hex digits",
          example: "0x5359e9235cc41cabee78f7f2a4fcf01e650ab475",
        }),
      },
      find: (db, _pair, { id }) => findToken(db, id),
      shape: ([token]) => {
        if (token === undefined) throw new UnknownAsset();
        const symbol = token.symbol ?? token.key;
        // DEX Screener stops at an empty name.
        return {
          asset: {
            id: token.key,
            name: token.name === null || token.name === "" ? symbol : token.name,
            symbol,
          },
        };
      },
      data: z.object({ asset }),
    }),
    endpoint({
      id: "dexscreenerPair",
      path: "/pair",
      summary: "A registered market",
      description: "When it was created, and its fees, are not recorded, and absent.",
      query: { id: marketByAddresses("The market, as `pairId` of `/dexscreener/events`.") },
      find: (db, _pair, { id }) => findListedMarket(db, byAddresses(id)),
      shape: ([market]) => {
        if (market === undefined) throw new UnknownPair();
        const { baseGem, quoteGem } = market;
        return {
          pair: {
            id: addressesOf(market),
            dexKey: exchangeName,
            asset0Id: baseGem,
            asset1Id: quoteGem,
          },
        };
      },
      data: z.object({ pair }),
    }),
    endpoint({
      id: "dexscreenerEvents",
      path: "/events",
      summary: "The swaps of a range of blocks, oldest first",
      description:
        "Of registered markets. A trade of nothing on one side, or at a price that 50 digits do not hold, is " +
        `left out. Both blocks are included; at most ${MAX_BLOCKS} blocks, none after the head.`,
      query: {
        fromBlock: blockNumber("The first block.", "3600"),
        toBlock: blockNumber("The last block.", "3700"),
      },
      find: async (db, _pair, { fromBlock, toBlock }) => {
        if (toBlock < fromBlock || toBlock - fromBlock >= MAX_BLOCKS) {
          const max = fromBlock + MAX_BLOCKS - 1;
          throw new BadParameter(
            "toBlock",
            `an integer from fromBlock, ${fromBlock}, to ${max}: at most ${MAX_BLOCKS} blocks`,
          );
        }
        const swaps = await findSwaps(db, fromBlock, toBlock);
        const head = headOf(swaps);
        // A block is asked for once, so an answer without it must not pass for one without trades.
        if (toBlock > head) throw new BadParameter("toBlock", `at most the head, block ${head}`);
        return swaps;
      },
      shape: (rows) => ({ events: rows.map(swapOf) }),
      data: z.object({ events: z.array(swap) }),
    }),
  ],
});
