// The head, and other recorded blocks.
import { z } from "zod";
import type { Database } from "../../db/connect.ts";
import { basisSchema } from "../../db/export/manifest.ts";
import { NoBlockYet } from "../absent.ts";
import { digest, isoMoment, type KeyedRow } from "../records.ts";
import { withNoSuchBlock } from "./as-of.ts";
import {
  FROM_AS_OF,
  isoTime,
  readSnapshot,
  SELECT_MOMENT,
  type Moment,
  type Snapshot,
} from "./snapshot.ts";

/** No rows: the moment says it all. */
export const findHead = (db: Database): Promise<Snapshot<never>> =>
  readSnapshot<never>(db, {
    name: "rest_head",
    text: `${SELECT_MOMENT}, null as key ${FROM_AS_OF}`,
  });

/** Throws NoBlockYet where none was ever written. */
export function headOf({ block }: Moment): number {
  if (block === null) throw new NoBlockYet();
  return block;
}

const hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/)
  .nullable();

export const headRecord = z
  .object({
    block: z.int().min(0).describe("Its height."),
    hash: hash.describe("Its hash; null where the source has none."),
    parent: hash.describe("The hash of the block before it; null where the source has none."),
    time: isoMoment.describe("Its time, in ISO 8601 UTC with milliseconds."),
    digest,
    basis: basisSchema
      .nullable()
      .describe(
        "What decides digests beside the facts: two services are compared by this first. Null before the " +
          "first block with rows.",
      ),
  })
  .meta({ id: "Block" });

type HeadRow = KeyedRow & z.infer<typeof headRecord>;

/** Null before the first block with rows. */
export const SELECT_BASIS = `(
          select json_build_object(
            'version', basis.version,
            'firstBlock', basis.first_block,
            'hashed', basis.hashed,
            'chainId', basis.chain_id,
            'exchange', basis.exchange,
            'kind', basis.kind,
            'taker', basis.taker
          )
          from dex_digest_basis as basis
        )`;

const SELECT_BLOCK = `
      ${SELECT_MOMENT},
        recorded.number::text as key,
        recorded.number as block,
        recorded.hash,
        recorded.parent,
        ${isoTime("recorded.time")} as time,
        dex_block_digest(recorded) as digest,
        ${SELECT_BASIS} as basis
      ${FROM_AS_OF}`;

/** The head, or the past block that is asked for, with its digest. */
export const findBlock = (db: Database): Promise<Snapshot<HeadRow>> =>
  readSnapshot(db, {
    name: "rest_head_block",
    text: `${SELECT_BLOCK}
      left join dex_block as recorded on recorded.number = as_of.block`,
  });

/** The last recorded block at or below a number. Throws NoSuchBlock where the database does not have it. */
export const findBlockAt = (
  db: Database,
  _pair: undefined,
  { number }: { number: number },
): Promise<Snapshot<HeadRow>> =>
  readSnapshot<HeadRow>(db, {
    name: "rest_block",
    text: `${SELECT_BLOCK}
      left join lateral dex_block_at($1) as recorded on true`,
    values: [number],
  }).catch((error: unknown) => Promise.reject(withNoSuchBlock(error) as Error));

/** Throws NoBlockYet where none was ever written. */
export function onlyBlock([row]: HeadRow[]): z.infer<typeof headRecord> {
  if (row === undefined) throw new NoBlockYet();
  const { key: _key, ...record } = row;
  return record;
}

/** The digest of a block, or of the last recorded block before it. */
export async function readDigestOf(db: Database, block: number): Promise<string | null> {
  const { rows } = await db.query<{ digest: string | null }>({
    name: "block_digest",
    text: `
      select dex_block_digest(block) as digest
      from dex_block as block
      where block.number <= $1
      order by block.number desc
      limit 1`,
    values: [block],
  });
  return rows[0]?.digest ?? null;
}

/** The recorded blocks on both sides of a block; null where there is none. */
export interface Neighbours {
  previous: number | null;
  next: number | null;
  /** Whether both stay: a block without rows is deleted some time later. */
  areLasting: boolean;
}

/** One look into the index for each side. */
export async function findNeighbours(db: Database, block: number | null): Promise<Neighbours> {
  const { rows } = await db.query<Neighbours>({
    name: "block_neighbours",
    text: `
      select
        earlier.number as previous,
        later.number as next,
        coalesce(earlier.has_rows, true) and coalesce(later.has_rows, true) as "areLasting"
      from (values (true)) as one (row)
      left join lateral (
        select *
        from dex_block as block
        where block.number < $1
        order by block.number desc
        limit 1
      ) as earlier on true
      left join lateral (
        select *
        from dex_block as block
        where block.number > $1
        order by block.number
        limit 1
      ) as later on true
    `,
    values: [block],
  });
  return rows[0] ?? { previous: null, next: null, areLasting: false };
}
