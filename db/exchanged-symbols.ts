// Frees the symbols that tokens exchange, which `ingest` gives one token after the other: two markets may not have one name
// in between.
import type { Client } from "./connect.ts";

/**
 * Each of these tokens whose symbol becomes another one's gets its address as its symbol, until it gets its own. In a
 * transaction that the caller has begun.
 */
export async function freeSymbols(
  client: Client,
  tokens: readonly { address: string; symbol?: string | null | undefined }[],
): Promise<void> {
  const given = tokens.map(({ address, symbol = null }) => ({ address, symbol }));
  await client.query(
    `with changed as materialized (
      select known.*, upper(given.symbol) as next
      from jsonb_to_recordset($1) as given (address text, symbol text)
      join dex_token as known on lower(known.address) = lower(given.address)
      where upper(known.symbol) <> upper(given.symbol)
    )
    select ingest.register_token(held.address, held.address, held.decimals, held.name)
    from changed as held
    where upper(held.symbol) in (
      select taken.next
      from changed as taken
    )`,
    [JSON.stringify(given)],
  );
}
