// Gives facts what neither log nor event has: the time of their block by its header, the sender of their transaction.
import { checksumAddress } from "../db/load/checksum.ts";
import type { Header } from "./node-answers.ts";
import { IncompleteLogs } from "./exchange-facts.ts";
import type { BlockFact, TradeFact, UntimedFact, UpdateFact } from "./exchange-facts.ts";
import type { Requests } from "./requests.ts";

/** How many headers are asked at once: with their transactions' hashes they are large. */
const AT_ONCE = 50;

type Moment = Pick<Header, "hash" | "time">;

/** Only headers of blocks with such facts are asked, beyond those that are `known`. */
export async function withTimes(
  facts: UntimedFact[],
  known: readonly Header[],
  headerAt: (number: number) => Promise<Header>,
): Promise<BlockFact[]> {
  if (facts.every(isTimed)) return facts;
  const moments = new Map<number, Moment>(known.map((header) => [header.number, header]));
  const blocks = new Set(facts.filter((fact) => !isTimed(fact)).map(({ block }) => block));
  const lacking = [...blocks].filter((block) => !moments.has(block));
  for (let at = 0; at < lacking.length; at += AT_ONCE) {
    const headers = await Promise.all(lacking.slice(at, at + AT_ONCE).map(headerAt));
    for (const { number, hash, time } of headers) moments.set(number, { hash, time });
  }
  return facts.map((fact) => {
    if (isTimed(fact)) return fact;
    const { hash, time = 0 } = moments.get(fact.block) ?? {};
    if (hash === fact.hash) return { ...fact, time };
    throw new IncompleteLogs(
      `block ${fact.block} is ${hash} by its header, and ${fact.hash} by its logs`,
    );
  });
}

const isTimed = (fact: UntimedFact): fact is BlockFact =>
  fact.kind === "market" || fact.time !== undefined;

/**
 * The facts with the sender of the transaction as each trade's taker in place of the event's, for exchanges that contracts
 * trade on for people: one request for each transaction.
 */
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
