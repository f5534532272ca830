// Gives facts what neither log nor event has: the time of their block by its header, the sender of their transaction.
import { numberToHex } from "viem";
import { checksumAddress } from "../db/load/checksum.ts";
import type { Header } from "./node-answers.ts";
import { IncompleteLogs } from "./exchange-facts.ts";
import type { BlockFact, TradeFact, UntimedFact, UpdateFact } from "./exchange-facts.ts";
import { Refused, Unavailable, type Requests } from "./requests.ts";

/** How many headers are asked at once: with their transactions' hashes they are large. */
const AT_ONCE = 50;
/** How many blocks with whole transactions: on a main network 100 to 200 kB each. */
const BLOCKS_AT_ONCE = 20;
/**
 * From so many transactions on their block is asked. Nodes count and limit requests; below, the block's other transactions
 * cost more time to send than the one request that it saves.
 */
const WORTH_A_BLOCK = 3;

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
 * trade on for people. A sender comes with its block where that has several such transactions, else by a request for each.
 */
export async function withSenders(facts: BlockFact[], requests: Requests): Promise<BlockFact[]> {
  const sent = new Map(facts.filter(hasTaker).map((fact) => [keyOf(fact), fact]));
  const blocks = [...Map.groupBy(sent.values(), ({ hash }) => hash).values()].filter(
    ({ length }) => length >= WORTH_A_BLOCK,
  );
  const senders = new Map<string, string>();
  for (let at = 0; at < blocks.length; at += BLOCKS_AT_ONCE) {
    const group = blocks.slice(at, at + BLOCKS_AT_ONCE);
    const found = await Promise.all(group.map((block) => sendersIn(block, requests)));
    for (const [key, sender] of found.flat()) senders.set(key, sender);
  }
  const lacking = [...sent].filter(([key]) => !senders.has(key));
  await Promise.all(
    lacking.map(async ([key, fact]) => senders.set(key, await senderOf(fact, requests))),
  );
  return facts.map((fact) =>
    hasTaker(fact) ? { ...fact, taker: senders.get(keyOf(fact)) ?? fact.taker } : fact,
  );
}

type Taken = TradeFact | (UpdateFact & { taker: string });

const hasTaker = (fact: BlockFact): fact is Taken =>
  fact.kind === "trade" || (fact.kind === "update" && fact.taker !== undefined);

const keyOf = ({ tx, hash }: Taken): string => `${tx} ${hash}`;

/**
 * The senders that come with the block of these facts, by their keys. Where it does not come, or comes without one of them,
 * each of these is asked alone: that says what the node lacks.
 */
async function sendersIn(facts: Taken[], requests: Requests): Promise<[string, string][]> {
  const number = numberToHex(facts[0]?.block ?? 0);
  try {
    return await requests.ask("eth_getBlockByNumber", [number, true], (result) => {
      const { transactions } = Object(result) as { transactions?: unknown };
      const all = Array.isArray(transactions) ? (transactions as unknown[]) : [];
      const byHash = new Map(
        all.map((one) => [String((Object(one) as { hash?: unknown }).hash).toLowerCase(), one]),
      );
      return facts.flatMap((fact): [string, string][] => {
        const sender = readSender(byHash.get(fact.tx), fact.hash);
        return sender === undefined ? [] : [[keyOf(fact), sender]];
      });
    });
  } catch (error) {
    if (error instanceof Refused || error instanceof Unavailable) return [];
    throw error;
  }
}

function senderOf({ tx, hash }: Taken, requests: Requests): Promise<string> {
  return requests.ask("eth_getTransactionByHash", [tx], (result) => {
    const sender = readSender(result, hash);
    if (sender !== undefined) return sender;
    throw new Error(`it does not have the transaction ${tx} in the block ${hash}`);
  });
}

/** Undefined where the transaction is none, or of another block: a number alone may be of another branch. */
function readSender(transaction: unknown, block: string): string | undefined {
  const { from, blockHash } = Object(transaction) as { from?: unknown; blockHash?: unknown };
  if (String(blockHash).toLowerCase() !== block) return undefined;
  return typeof from === "string" && /^0x[0-9a-f]{40}$/i.test(from)
    ? checksumAddress(from)
    : undefined;
}
