// What the database gives orders and their trades: ids, except to orders of the first contract with offers, and makers.
import type { Client } from "../db/connect.ts";
import { isOfPool, type BlockFact, type Fact, type ReadFact } from "./exchange-facts.ts";
import { Halt } from "./halt.ts";

/** The database gives ids from here on. */
const FIRST_GIVEN = 2 ** 30;

/** The contract's own id of the offer that a fact is of; null where it is of none. */
export function ownIdOf(fact: BlockFact | ReadFact): number | null {
  if (fact.kind === "market" || isOfPool(fact)) return null;
  return fact.kind === "offer" ? fact.id : fact.offerId;
}

/** Facts of a contract whose ids may be those of another: its own are refs. */
export const withRefs = <F extends ReadFact>(facts: readonly F[]): F[] =>
  facts.map((fact) => {
    const id = ownIdOf(fact);
    return id === null ? fact : { ...fact, ref: String(id) };
  });

/** Halts where the contract that keeps its ids has one that the database may have given. */
export function checkKept(address: string, facts: readonly ReadFact[]): void {
  const found = facts.find((fact) => (ownIdOf(fact) ?? 0) >= FIRST_GIVEN);
  if (found === undefined || found.kind === "market") return;
  throw new Halt(
    `The contract ${address} has offer ${ownIdOf(found)}, in block ${found.block}: ids of the first contract with offers are below ${FIRST_GIVEN} where another has offers too`,
  );
}

/**
 * The facts with the ids of their rows, in the order of the chain. Call it in the transaction that writes them.
 * `decimalsOf` gives a token's decimals, or undefined where its rows are left out.
 */
export async function withOfferIds(
  client: Client,
  facts: readonly Fact[],
  decimalsOf: (token: string) => number | undefined,
): Promise<readonly Fact[]> {
  const asked = facts.flatMap((fact) => {
    if (fact.kind === "market" || isOfPool(fact) || fact.ref === undefined) return [];
    const isLeftOut = [fact.lotGem, fact.bidGem].some((gem) => decimalsOf(gem) === undefined);
    return isLeftOut ? [] : [{ fact, ref: fact.ref }];
  });
  if (asked.length === 0) return facts;
  const { rows } = await client.query<{ ids: number[] }>(
    "select ingest.offer_ids($1, $2, $3) as ids",
    [
      asked.map(({ fact }) => fact.venue),
      asked.map(({ ref }) => ref),
      asked.map(({ fact }) => fact.block),
    ],
  );
  const ids = new Map<Fact, number>();
  for (const [n, { fact }] of asked.entries()) ids.set(fact, rows[0]?.ids[n] ?? 0);
  return facts.map((fact) => {
    const id = ids.get(fact);
    if (id === undefined || fact.kind === "market" || isOfPool(fact)) return fact;
    const { ref: _, ...row } = fact;
    return row.kind === "offer" ? { ...row, id } : { ...row, offerId: id };
  });
}

/** A trade whose event need not name the maker has that of its offer, where that is recorded or among these facts; else the event's. */
export async function withMakers(client: Client, facts: readonly Fact[]): Promise<readonly Fact[]> {
  const asked = facts.filter((fact) => fact.kind === "trade" && fact.makerIsOffers === true);
  if (asked.length === 0) return facts;
  const ids = asked.map((fact) => (fact.kind === "trade" ? fact.offerId : null));
  const { rows } = await client.query<{ venue: string; id: string; maker: string }>(
    `select given.venue, coalesce(offer.ref, offer.id::text) as id, offer.maker
    from dex_offer as offer
    join unnest($2::text[]) as given (venue) on lower(given.venue) = lower(offer.venue)
    where (offer.ref is null and offer.id = any($1) or offer.ref = any($1::text[]))`,
    [ids, [...new Set(asked.map((fact) => (fact.kind === "market" ? "" : fact.venue)))]],
  );
  const makers = new Map(rows.map(({ venue, id, maker }) => [`${venue} ${id}`, maker]));
  for (const fact of facts) {
    if (fact.kind === "offer") makers.set(`${fact.venue} ${fact.id}`, fact.maker);
  }
  return facts.map((fact) => {
    if (fact.kind !== "trade" || fact.makerIsOffers !== true) return fact;
    return { ...fact, maker: makers.get(`${fact.venue} ${fact.offerId}`) ?? fact.maker };
  });
}
