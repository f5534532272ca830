// Gives facts the time of their block by its header, where neither the log nor the event has it.
import type { Header } from "./node-answers.ts";
import { IncompleteLogs, type BlockFact, type UntimedFact } from "./exchange-facts.ts";

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
