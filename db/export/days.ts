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

const startOf = (day: string): string => `${day}T00:00:00Z`;

export interface KnownDays {
  /** That of the first block with rows after `block`; null where there is none. */
  next: string | null;
  /** That of the last final block, or today: the days before it are final and over. */
  notFinal: string;
}

/** Times of chains are counted from it. */
const FIRST_DAY = "1970-01-01";

const MEND =
  "take back the blocks of wrong times by `set role dex_writer; select ingest.take_back(N)`, N being the last block of a right one";

/**
 * Undefined where no block is final. `finality` is that of FINALITY. Throws CannotExport for a time that cannot be right:
 * each day up to it would be listed, and none of them can be mended later.
 */
export async function knownDays(
  db: Pick<Client, "query">,
  finality?: number,
  block = -1,
): Promise<KnownDays | undefined> {
  const { rows } = await db.query<KnownDays & { number: number }>({
    name: "known_days",
    text: `
      select
        to_char(next.time at time zone 'UTC', 'YYYY-MM-DD') as next,
        to_char(final.time at time zone 'UTC', 'YYYY-MM-DD') as "notFinal",
        final.number
      from dex_private.final_block($1) as final
      left join lateral (
        select block.time
        from dex_block as block
        where block.number > $2
          and block.has_rows
        order by block.number
        limit 1
      ) as next on true`,
    values: [finality ?? null, block],
  });
  const [found] = rows;
  if (found === undefined) return undefined;
  const { next, notFinal, number } = found;
  const today = dayOf(Date.now());
  if (next !== null && next < FIRST_DAY) {
    throw new CannotExport(
      `there is a block of ${next}, and no chain has one from before 1970: ${MEND}`,
    );
  }
  // A chain may be ahead of this machine by some seconds.
  if (notFinal > dayAfter(today)) {
    throw new CannotExport(
      `block ${number} is final, and of ${notFinal}, later than tomorrow by the clock of this machine: set the clock, or ${MEND}`,
    );
  }
  return { next, notFinal: notFinal < today ? notFinal : today };
}

export interface DayOfDatabase extends DayRange {
  /** Of its last block. */
  digest: string;
}

/** Of a day that has blocks with rows. Throws CannotExport for a block without a digest. */
export async function readDay(db: Pick<Client, "query">, day: string): Promise<DayOfDatabase> {
  const from = startOf(day);
  const to = startOf(dayAfter(day));
  const { rows } = await db.query<
    Omit<DayOfDatabase, "from" | "to"> & { undigested: number | null }
  >({
    name: "day_of_files",
    text: `
      select
        min(block.number) as first,
        max(block.number) as last,
        min(block.number) filter (where block.digest is null) as undigested,
        dex_private.first_trade_from($1) as "firstTrade",
        dex_private.first_trade_from($2) - 1 as "lastTrade",
        (
          select '0x' || encode(newest.digest, 'hex')
          from dex_block as newest
          where newest.number = max(block.number)
        ) as digest
      from dex_block as block
      where block.time >= $1
        and block.time < $2
        and block.has_rows`,
    values: [from, to],
  });
  const [{ undigested, ...range }] = rows as [(typeof rows)[number]];
  if (undigested === null) return { from, to, ...range };
  throw new CannotExport(
    `block ${undigested} has no digest: make those that are missing by \`npm run db:digests\``,
  );
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

async function readBasis(db: Pick<Client, "query">): Promise<Basis> {
  const basis = await findBasis(db);
  if (basis === undefined) throw new CannotExport("no block with rows was ever written");
  return basis;
}

/**
 * Throws CannotExport where the folder is of other facts than the database. A digest has all facts up to it: where the
 * others were compared, the last day is enough as `suspects`.
 */
export async function refuseOtherFacts(
  db: Pick<Client, "query">,
  { basis, days }: Contents,
  suspects = days,
): Promise<void> {
  const own = await readBasis(db);
  for (const name of ["version", "firstBlock", "hashed"] as const) {
    if (basis[name] === own[name]) continue;
    throw new CannotExport(
      `the folder is of another recording: its ${name} is ${basis[name]}, and that of the database ${own[name]}`,
    );
  }
  if ((await firstOther(db, suspects)) === undefined) return;
  const other = await firstOther(db, days);
  if (other === undefined) return;
  throw new CannotExport(
    `the folder is of other facts: at the end of ${other.day} its digest is ${other.listed}, and that of the database ${other.digest ?? "none"}; unless the database gets those blocks again, export into a new folder`,
  );
}

/** The first of the days at whose end the database has another digest, by one probe of an index for each. */
export async function firstOther(
  db: Pick<Client, "query">,
  days: Contents["days"],
): Promise<{ day: string; listed: string; digest: string | null } | undefined> {
  const { rows } = await db.query<{ day: string; listed: string; digest: string | null }>({
    name: "other_day_of_files",
    text: `
      select
        listed.day,
        listed.digest as listed,
        '0x' || encode(last.digest, 'hex') as digest
      from unnest($1::text[], $2::timestamptz[], $3::text[]) as listed (day, "end", digest)
      left join lateral (
        select block.digest
        from dex_block as block
        where block.time < listed."end"
          and block.has_rows
        order by
          block.time desc,
          block.number desc
        limit 1
      ) as last on true
      where '0x' || encode(last.digest, 'hex') is distinct from listed.digest
      order by listed.day
      limit 1`,
    values: [
      days.map(({ day }) => day),
      days.map(({ day }) => startOf(dayAfter(day))),
      days.map(({ digest }) => digest),
    ],
  });
  return rows[0];
}
