// The trades of pools, and what those of several kinds are asked.
import { getAddress, toFunctionSelector } from "viem";
import type { Both, ChainLog, ContractCall } from "../exchange-facts.ts";

/** Addresses of the two tokens of a pool. */
export type Tokens = readonly [string, string];

/** What moved to the pool of each token. Undefined where not one moved to it and the other from it. */
export function tradeOf(
  { address, block, hash, time, tx, idx }: ChainLog,
  tokens: Tokens,
  moved: Both,
) {
  if (moved[0] * moved[1] >= 0n) return undefined;
  const [bid, lot] = moved[0] > 0n ? ([0, 1] as const) : ([1, 0] as const);
  return {
    ...{ kind: "trade" as const, offerId: null, block, hash, time, tx, idx },
    maker: getAddress(address),
    ...{ lotGem: tokens[lot], lotAmt: -moved[lot], bidGem: tokens[bid], bidAmt: moved[bid] },
  };
}

/** A function that returns an address. */
export const addressCall = (name: string): ContractCall<string> => ({
  name,
  data: toFunctionSelector(`function ${name}`),
  read: (result) =>
    /^0x0{24}[0-9a-fA-F]{40}$/.test(result) ? getAddress(`0x${result.slice(26)}`) : undefined,
});

/** A function of which only matters whether it is there. */
export const presence = (
  name: string,
  data = toFunctionSelector(`function ${name}`),
): ContractCall<string> => ({ name, data, read: (result) => result });
