// Mines a block of transactions.
import type { TestChain } from "../../test/chain/chain.ts";

/** With its time so many seconds after that of the block before, else the present. */
export async function mineBlock(
  chain: TestChain,
  transactions: readonly (() => Promise<unknown>)[],
  secondsApart?: number,
): Promise<bigint> {
  for (const send of transactions) await send();
  return chain.mine(1, secondsApart === undefined ? {} : { secondsApart });
}
