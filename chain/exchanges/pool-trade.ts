// The trades of pools.
import { getAddress } from "viem";
import type { Both, ChainLog } from "../exchange-facts.ts";
import type { Tokens } from "./contract-calls.ts";

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
