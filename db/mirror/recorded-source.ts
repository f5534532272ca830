// Records what the facts of a mirror are from, so that an indexer of another source is refused later.
import type { Client } from "../connect.ts";
import type { Basis } from "../export/manifest.ts";

/** Where the origin names its source and the database has none: before the first block, or after other blocks of it. */
export async function recordSource(client: Client, basis: Basis): Promise<void> {
  const { chainId, exchange, kind, taker, firstBlock } = basis;
  if (chainId === null || exchange === null || kind === null || taker === null) return;
  const { rows } = await client.query("select from dex_private.index_source");
  if (rows.length > 0) return;
  await client.query("select ingest.begin_index($1, $2, $3, $4, $5)", [
    ...[chainId, exchange, kind, firstBlock, taker],
  ]);
}

/** Records up to which block nothing is taken back any more. */
export async function recordFinal(client: Client, block: number): Promise<void> {
  await client.query("select ingest.checked_to($1, null)", [block]);
}
