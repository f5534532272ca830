// How nodes and providers refuse a wide eth_getLogs: their texts, codes and statuses, as users quote them.
import { numberToHex } from "viem";

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

/** What a request asked, and what its limit would have allowed. */
interface Refused {
  from: number;
  to: number;
  limit: number;
  /** The last block of a range that the limit allows. */
  allowed: number;
}

interface Refusal {
  /** What is limited, and to how many. */
  of: "blocks" | "logs";
  limit: number;
  /** The HTTP status, 200 if not given. */
  status?: number;
  error: (refused: Refused) => RpcError;
}

const hexRange = ({ from, allowed }: Refused): string =>
  `[${numberToHex(from)}, ${numberToHex(allowed)}]`;

const counted = (n: number): string => n.toLocaleString("en");

/** The codes are those quoted in issues of the clients; -32000 where only the text is known. */
export const REFUSALS = {
  "Alchemy, logs": {
    of: "logs",
    limit: 10_000,
    error: (refused) => ({
      code: -32602,
      message:
        "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range " +
        "and no limit on the response size, or you can request any block range with a cap of 10K " +
        "logs in the response. Based on your parameters and the response size limit, this block " +
        `range should work: ${hexRange(refused)}`,
    }),
  },
  "Alchemy, blocks": {
    of: "blocks",
    limit: 500,
    error: (refused) => ({
      code: -32600,
      message:
        `You can make eth_getLogs requests with up to a ${refused.limit} block range. Based on your ` +
        `parameters, this block range should work: ${hexRange(refused)}`,
    }),
  },
  "Infura, logs": {
    of: "logs",
    limit: 10_000,
    error: (refused) => ({
      code: -32005,
      message: `query returned more than ${refused.limit} results. Try with this block range ${hexRange(refused)}.`,
      data: {
        from: numberToHex(refused.from),
        limit: refused.limit,
        to: numberToHex(refused.allowed),
      },
    }),
  },
  "Infura, blocks": {
    of: "blocks",
    limit: 10_000,
    error: ({ from, to, limit }) => ({
      code: -32602,
      message: `range ${to - from} exceeds limit of ${limit}`,
    }),
  },
  "Infura, time": {
    of: "blocks",
    limit: 5_000,
    error: () => ({ code: -32005, message: "query timeout exceeded" }),
  },
  QuickNode: {
    of: "blocks",
    limit: 10_000,
    status: 413,
    error: ({ limit }) => ({
      code: -32614,
      message: `eth_getLogs is limited to a ${counted(limit)} range`,
    }),
  },
  Ankr: {
    of: "blocks",
    limit: 3_000,
    error: () => ({ code: -32600, message: "block range is too wide" }),
  },
  "Reth, logs": {
    of: "logs",
    limit: 20_000,
    error: ({ from, allowed, limit }) => ({
      code: -32602,
      message: `query exceeds max results ${limit}, retry with the range ${from}-${allowed}`,
    }),
  },
  "Reth, blocks": {
    of: "blocks",
    limit: 100_000,
    error: ({ limit }) => ({ code: -32602, message: `query exceeds max block range ${limit}` }),
  },
  "zkEVM, logs": {
    of: "logs",
    limit: 10_000,
    error: ({ limit }) => ({
      code: -32005,
      message: `query returned more than ${limit} results`,
    }),
  },
  Arbitrum: {
    of: "logs",
    limit: 10_000,
    error: ({ limit }) => ({
      code: -32000,
      message: `logs matched by query exceeds limit of ${limit}`,
    }),
  },
  Base: {
    of: "blocks",
    limit: 2_000,
    error: () => ({ code: -32000, message: "block range too large" }),
  },
  Optimism: {
    of: "blocks",
    limit: 10_000,
    error: () => ({ code: -32000, message: "Block range is too large" }),
  },
  "Optimism, size": {
    of: "logs",
    limit: 10_000,
    status: 500,
    error: () => ({ code: -32020, message: "backend response too large" }),
  },
  Avalanche: {
    of: "blocks",
    limit: 2_048,
    error: ({ from, to, limit }) => ({
      code: -32000,
      message: `requested too many blocks from ${from} to ${to}, maximum is set to ${limit}`,
    }),
  },
  "BNB Chain, PublicNode": {
    of: "blocks",
    limit: 5_000,
    error: ({ limit }) => ({ code: -32000, message: `exceed maximum block range: ${limit}` }),
  },
  Morph: {
    of: "blocks",
    limit: 5_000,
    error: ({ from, to, limit }) => ({
      code: -32000,
      message: `block range is larger than max block range, block range = ${to - from + 1}, max block range = ${limit}`,
    }),
  },
  Tenderly: {
    of: "blocks",
    limit: 2_000,
    error: ({ from, to, limit }) => ({
      code: -32602,
      message: "invalid params",
      data: { payload: `range ${to - from} is bigger than range limit ${limit}` },
    }),
  },
  Cloudflare: {
    of: "blocks",
    limit: 800,
    error: ({ limit }) => ({ code: -32000, message: `Max range: ${limit}` }),
  },
  "1RPC": {
    of: "blocks",
    limit: 1_000,
    error: ({ limit }) => ({
      code: -32000,
      message: `eth_getLogs is limited to a ${limit} blocks range`,
    }),
  },
  BlockPI: {
    of: "blocks",
    limit: 1_024,
    error: ({ limit }) => ({
      code: -32000,
      message: `eth_getLogs is limited to ${limit} block range`,
    }),
  },
  Coinbase: {
    of: "blocks",
    limit: 1_000,
    error: ({ limit }) => ({
      code: -32000,
      message: `please limit the query to at most ${limit} blocks`,
    }),
  },
  Thirdweb: {
    of: "blocks",
    limit: 1_000,
    error: ({ limit }) => ({
      code: -32000,
      message: `Maximum allowed number of requested blocks is ${limit}`,
    }),
  },
  Chainstack: {
    of: "blocks",
    limit: 100,
    error: () => ({ code: -32000, message: "Block range limit exceeded." }),
  },
  Merkle: {
    of: "blocks",
    limit: 1_000,
    error: ({ limit }) => ({
      code: -32000,
      message: `eth_getLogs range is too large, max is ${limit / 1000}k blocks`,
    }),
  },
} as const satisfies Record<string, Refusal>;

export type Provider = keyof typeof REFUSALS;

/** With the type that all have in common. */
export const refusalOf = (provider: Provider): Refusal => REFUSALS[provider];
