// What decides digests beside the facts: it is compared before them, and recorded.
import type { Client } from "../connect.ts";
import type { Basis } from "../export/manifest.ts";
import { MirrorError } from "./mirror-error.ts";

const WHERE: Record<keyof Basis, string> = {
  version: "the canonical form of digests is another",
  firstBlock: "the recordings begin with different blocks",
  hashed: "one of them has no hashes of blocks",
  chainId: "they are of different chains",
  exchange: "they are of different contracts",
  kind: "they are of different kinds of exchanges",
  taker: "another rule decides whose trade it is",
};

/** What only an indexer records is compared where both have it. Throws a MirrorError that names the first difference. */
export function refuseOtherBasis(own: Basis, theirs: Basis): void {
  for (const name of Object.keys(WHERE) as (keyof Basis)[]) {
    const [here, there] = [own[name], theirs[name]];
    if (here === there || here === null || there === null) continue;
    throw new MirrorError(
      `${name} is ${here} in this database and ${there} at the origin: ${WHERE[name]}. A mirror begins with an empty database, or goes on with one of the same origin`,
    );
  }
}

/**
 * Records what the facts are from, so that an indexer of another source is refused later, where the origin names its source
 * and the database has none: before the first block, or after other blocks of it.
 */
export async function recordSource(client: Client, basis: Basis): Promise<void> {
  const { chainId, exchange, kind, taker, firstBlock } = basis;
  if (chainId === null || exchange === null || kind === null || taker === null) return;
  const { rows } = await client.query("select from dex_private.index_source");
  if (rows.length > 0) return;
  await client.query("select ingest.begin_index($1, $2, $3, $4, $5)", [
    ...[chainId, exchange, kind, firstBlock, taker],
  ]);
}

/** Records up to which block nothing is taken back any more, -1 for none. */
export async function recordFinal(client: Client, block: number): Promise<void> {
  await client.query("select ingest.checked_to($1, null)", [block]);
}
