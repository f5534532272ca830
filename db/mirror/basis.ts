// What decides digests beside the facts: it is compared before them.
import type { Basis } from "../export/manifest.ts";
import { versionProblem } from "../export/recompute.ts";
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

/** An empty database has no basis to compare with. Throws a MirrorError. */
export function refuseOtherVersion({ version }: Basis): void {
  const problem = versionProblem(version);
  if (problem !== undefined) throw new MirrorError(problem);
}

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
