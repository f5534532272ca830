// Takes staged tokens over into dex_token.
import type { Client } from "../connect.ts";
import { refuseContradictions, type Recorded } from "./contradictions.ts";
import { LoadError } from "./load-error.ts";
import type { Merged } from "./merged.ts";
import type { Staged } from "./staging.ts";

const TOKEN: Recorded = {
  kind: "token",
  key: ["address"],
  name: ({ address }) => `token ${String(address)}`,
};
const COLUMNS = ["symbol", "decimals", "name"] as const;

/** Registers new tokens and changes those that differ. What a row leaves out stays. */
export async function mergeTokens(client: Client, { place }: Staged): Promise<Merged> {
  await refuseContradictions(client, place, TOKEN, COLUMNS);
  await refuseOtherSpelling(client, place);
  const { rowCount: changed } = await client.query(
    `update dex_token as kept
    set
      symbol = coalesce(staged.symbol, kept.symbol),
      decimals = staged.decimals,
      name = coalesce(staged.name, kept.name)
    from pg_temp.load_token as staged
    where kept.address = staged.address
      and (
        kept.symbol is distinct from coalesce(staged.symbol, kept.symbol)
        or kept.decimals <> staged.decimals
        or kept.name is distinct from coalesce(staged.name, kept.name)
      )`,
  );
  const { rowCount: added } = await client.query(
    `insert into dex_token (address, symbol, decimals, name)
    select distinct on (staged.address)
      staged.address,
      staged.symbol,
      staged.decimals,
      staged.name
    from pg_temp.load_token as staged
    where not exists (
      select
      from dex_token as kept
      where kept.address = staged.address
    )
    order by staged.address, staged.line`,
  );
  return { added: added ?? 0, changed: changed ?? 0 };
}

// Plain SQL may have written an address without its checksum. Rows that are loaded would not
// belong to that token, as an address is compared letter by letter.
async function refuseOtherSpelling(client: Client, place: Staged["place"]): Promise<void> {
  const { rows } = await client.query<{ line: number; given: string; kept: string }>(
    `select staged.line, staged.address as given, kept.address as kept
    from pg_temp.load_token as staged
    join dex_token as kept on lower(kept.address) = lower(staged.address)
    where kept.address <> staged.address
    order by staged.line
    limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  throw new LoadError(
    `${place(found.line)}: token ${found.given} is in the database without its checksum, as ` +
      `${found.kept}: correct it there first`,
  );
}
