// Gives each trade the sender of its transaction as taker, for exchanges that contracts trade on for people.
import { checksumAddress } from "../db/load/checksum.ts";
import type { BlockFact, TradeFact, UpdateFact } from "./exchange-facts.ts";
import type { Requests } from "./requests.ts";

/** The facts with each trade's taker in place of the event's: one request for each transaction. */
export async function withSenders(facts: BlockFact[], requests: Requests): Promise<BlockFact[]> {
  const transactions = new Set(
    facts.flatMap((fact) => (hasTaker(fact) ? [`${fact.tx} ${fact.hash}`] : [])),
  );
  const senders = new Map<string, string>();
  await Promise.all(
    [...transactions].map(async (key) => {
      const [tx = "", block = ""] = key.split(" ");
      senders.set(tx, await senderOf(tx, block, requests));
    }),
  );
  return facts.map((fact) =>
    hasTaker(fact) ? { ...fact, taker: senders.get(fact.tx) ?? fact.taker } : fact,
  );
}

const hasTaker = (fact: BlockFact): fact is TradeFact | (UpdateFact & { taker: string }) =>
  fact.kind === "trade" || (fact.kind === "update" && fact.taker !== undefined);

function senderOf(tx: string, block: string, requests: Requests): Promise<string> {
  return requests.ask("eth_getTransactionByHash", [tx], (result) => {
    const { from, blockHash } = (result ?? {}) as { from?: unknown; blockHash?: unknown };
    if (
      String(blockHash).toLowerCase() !== block ||
      typeof from !== "string" ||
      !/^0x[0-9a-f]{40}$/i.test(from)
    ) {
      throw new Error(`it does not have the transaction ${tx} in the block ${block}`);
    }
    return checksumAddress(from);
  });
}
