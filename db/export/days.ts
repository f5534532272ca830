// The days of a database: which are final, and what blocks and trades each has.
import type { Client } from "../connect.ts";
import type { DayRange } from "./format.ts";
import type { Basis, Contents } from "./manifest.ts";

/** The database cannot be exported, or not into this folder. The message says why, and what to do. */
export class CannotExport extends Error {
  override readonly name = "CannotExport";
}

const DAY_MS = 86_400_000;

export const dayAfter = (day: string): string => dayOf(Date.parse(day) + DAY_MS);

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

export interface KnownDays {
  /** That of the first block with rows. */
  first: string;
  /** That of the last final block: the days before it are final. */
  notFinal: string;
}

/** Undefined where no block with rows was written, or none is final. `finality` is that of FINALITY. */
export async function knownDays(
  db: Pick<Client, "query">,
  finality?: number,
): Promise<KnownDays | undefined> {
  const { rows } = await db.query<KnownDays>({
    name: "known_days",
    text: `
      select
        to_char(first.time at time zone 'UTC', 'YYYY-MM-DD') as first,
        to_char(final.time at time zone 'UTC', 'YYYY-MM-DD') as "notFinal"
      from (
        select block.time
        from dex_block as block
        where block.has_rows
        order by block.number
        limit 1
      ) as first
      cross join dex_private.final_block($1) as final`,
    values: [finality ?? null],
  });
  return rows[0];
}

export interface DayOfDatabase extends DayRange {
  /** Of the last block with rows up to its end, which may be of a day before. */
  digest: string;
  hasBlocks: boolean;
}

/** Throws CannotExport for a block without a digest. */
export async function readDay(db: Pick<Client, "query">, day: string): Promise<DayOfDatabase> {
  const from = `${day}T00:00:00Z`;
  const to = `${dayAfter(day)}T00:00:00Z`;
  const { rows } = await db.query<{
    first: number | null;
    last: number | null;
    undigested: number | null;
    firstTrade: string;
    lastTrade: string;
    digest: string | null;
  }>({
    name: "day_of_files",
    text: `
      select
        min(block.number) as first,
        max(block.number) as last,
        min(block.number) filter (where block.digest is null) as undigested,
        dex_private.first_trade_from($1) as "firstTrade",
        dex_private.first_trade_from($2) - 1 as "lastTrade",
        (
          select '0x' || encode(before.digest, 'hex')
          from dex_block as before
          where before.time < $2
            and before.has_rows
          order by before.number desc
          limit 1
        ) as digest
      from dex_block as block
      where block.time >= $1
        and block.time < $2
        and block.has_rows`,
    values: [from, to],
  });
  const [found] = rows;
  if (found?.digest == null || found.undigested !== null) {
    throw new CannotExport(
      `block ${found?.undigested ?? ""} has no digest: make those that are missing by \`npm run db:digests\``,
    );
  }
  const { first, last, firstTrade, lastTrade, digest } = found;
  return {
    ...{ from, to, firstTrade, lastTrade, digest },
    ...{ first: first ?? 0, last: last ?? 0, hasBlocks: first !== null },
  };
}

/** Undefined where no block with rows was ever written. */
export async function findBasis(db: Pick<Client, "query">): Promise<Basis | undefined> {
  const { rows } = await db.query<Basis>({
    name: "basis_of_files",
    text: `
      select
        basis.version,
        basis.first_block as "firstBlock",
        basis.hashed,
        basis.chain_id::float8 as "chainId",
        basis.exchange,
        basis.kind,
        basis.taker
      from dex_digest_basis as basis`,
  });
  return rows[0];
}

export async function readBasis(db: Pick<Client, "query">): Promise<Basis> {
  const basis = await findBasis(db);
  if (basis === undefined) throw new CannotExport("no block with rows was ever written");
  return basis;
}

/** Throws CannotExport where the folder is of other facts than the database. */
export async function refuseOtherFacts(
  db: Pick<Client, "query">,
  { basis, days }: Contents,
): Promise<void> {
  const own = await readBasis(db);
  for (const name of ["version", "firstBlock", "hashed"] as const) {
    if (basis[name] === own[name]) continue;
    throw new CannotExport(
      `the folder is of another recording: its ${name} is ${basis[name]}, and that of the database ${own[name]}`,
    );
  }
  const last = days.findLast(({ lastBlock }) => lastBlock !== null);
  if (last === undefined) return;
  const { rows } = await db.query<{ digest: string | null }>({
    name: "digest_of_files",
    text: `
      select '0x' || encode(block.digest, 'hex') as digest
      from dex_block as block
      where block.number = $1`,
    values: [last.lastBlock],
  });
  const digest = rows[0]?.digest ?? "none";
  if (digest === last.digest) return;
  throw new CannotExport(
    `the folder is of other facts: at block ${last.lastBlock} its digest is ${last.digest}, and that of the database ${digest}`,
  );
}
