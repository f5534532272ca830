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
 * Records what the facts are from, before blocks are written: an indexer of another source is refused later, and one of
 * this source asks first which contracts factories have made. The origin has no basis before its first row.
 */
export async function recordSource(client: Client, basis: Basis | null): Promise<void> {
  const { chainId, exchange, kind, firstBlock, taker } = basis ?? {};
  await client.query("select ingest.begin_mirror($1, $2, $3, $4, $5)", [
    ...[chainId, exchange, kind, firstBlock, taker],
  ]);
}

/** Records up to which block nothing is taken back any more, -1 for none. */
export async function recordFinal(client: Client, block: number): Promise<void> {
  await client.query("select ingest.checked_to($1, null)", [block]);
}
