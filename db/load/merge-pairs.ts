// Takes staged pairs over into dex_pair.
import type { Client } from "../connect.ts";
import { LoadError } from "./load-error.ts";
import type { Merged } from "./merged.ts";
import type { Staged } from "./staging.ts";

interface StagedPair {
  line: number;
  base: string;
  quote: string;
  base_gem: string | null;
  quote_gem: string | null;
  active: boolean | null;
}

interface KeptPair {
  id: number;
  base_gem: string;
  quote_gem: string;
  active: boolean;
}

/**
 * Registers new pairs and switches `active` of those that are there. A registry is short, so it is
 * taken row by row, which lets each fault name its row.
 */
export async function mergePairs(client: Client, { place }: Staged): Promise<Merged> {
  const { rows } = await client.query<StagedPair>(
    `select line, base, quote, base_gem, quote_gem, active
    from pg_temp.load_pair
    order by line`,
  );
  const merged: Merged = { added: 0, changed: 0 };
  const givenBy = new Map<number, StagedPair>();
  for (const pair of rows) {
    const kept = await findPair(client, pair);
    if (kept === undefined) {
      givenBy.set(await addPair(client, pair, place), pair);
      merged.added += 1;
      continue;
    }
    refuseOtherTokens(pair, kept, place);
    const earlier = givenBy.get(kept.id);
    if (earlier !== undefined && earlier.active !== pair.active) {
      throw new LoadError(
        `${place(pair.line)}: pair ${pair.base}/${pair.quote} stands there twice with other ` +
          `values: active is ${earlier.active ?? "empty"} on line ${earlier.line}, ` +
          `${pair.active ?? "empty"} here`,
      );
    }
    givenBy.set(kept.id, pair);
    if (pair.active === null || pair.active === kept.active) continue;
    await client.query("update dex_pair set active = $2 where id = $1", [kept.id, pair.active]);
    merged.changed += 1;
  }
  return merged;
}

async function findPair(client: Client, pair: StagedPair): Promise<KeptPair | undefined> {
  const { rows } = await client.query<KeptPair>(
    `select id, base_gem, quote_gem, active
    from dex_pair
    where base = upper($1)
      and quote = upper($2)`,
    [pair.base, pair.quote],
  );
  return rows[0];
}

function refuseOtherTokens(pair: StagedPair, kept: KeptPair, place: Staged["place"]): void {
  for (const column of ["base_gem", "quote_gem"] as const) {
    if (pair[column] === null || pair[column] === kept[column]) continue;
    throw new LoadError(
      `${place(pair.line)}: pair ${pair.base}/${pair.quote} is registered with other tokens: ` +
        `${column} is ${kept[column]} in the database, ${pair[column]} here`,
    );
  }
}

async function addPair(client: Client, pair: StagedPair, place: Staged["place"]): Promise<number> {
  try {
    const { rows } = await client.query<{ id: number }>(
      `insert into dex_pair (base, quote, base_gem, quote_gem, active)
      values ($1, $2, $3, $4, $5)
      returning id`,
      [pair.base, pair.quote, pair.base_gem, pair.quote_gem, pair.active ?? true],
    );
    return (rows[0] as { id: number }).id;
  } catch (error) {
    throw new LoadError(
      `${place(pair.line)}: pair ${pair.base}/${pair.quote} cannot be registered: ` +
        reason(error as DatabaseError),
      { cause: error },
    );
  }
}

interface DatabaseError extends Error {
  code?: string;
  constraint?: string;
  hint?: string;
}

/** What the registry refuses a pair for, in its own words or, for a constraint, in ours. */
function reason({ message, constraint, hint }: DatabaseError): string {
  if (constraint === "dex_pair_market_key") {
    return "another pair has the same base and quote symbol together, which name a market";
  }
  if (constraint === "dex_pair_gems_key") {
    return "its two tokens are registered as a pair already, perhaps the other way round";
  }
  if (constraint === "dex_pair_two_tokens_check") return "base and quote are the same token";
  return hint === undefined ? message : `${message}. ${hint}`;
}
