// The makers of trades whose event need not name the maker that the offer's event named.
import type { Client } from "../db/connect.ts";
import type { Fact } from "./exchange-facts.ts";

/** Such a trade has the maker of its offer, where that is recorded or among these facts; else the event's. */
export async function withMakers(client: Client, facts: readonly Fact[]): Promise<readonly Fact[]> {
  const asked = facts.filter((fact) => fact.kind === "trade" && fact.makerIsOffers === true);
  if (asked.length === 0) return facts;
  const ids = asked.map((fact) => (fact.kind === "trade" ? fact.offerId : null));
  const { rows } = await client.query<{ venue: string; id: string; maker: string }>(
    `select venue, coalesce(ref, id::text) as id, maker
    from dex_offer
    where (ref is null and id = any($1) or ref = any($1::text[]))
      and venue = any($2)`,
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
