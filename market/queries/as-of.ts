// Reads what the data were as of a past block.
import type { Database, Pool } from "../../db/connect.ts";
import { NoSuchBlock } from "../absent.ts";
import { inSnapshot, isoTime, type Snapshot } from "./snapshot.ts";

/** A past block: by its number, by a time that it is the last block at or before, or by its hash. */
export type AsOf = { block: number } | { time: string } | { hash: string };

export type PastSnapshot<Row> = Snapshot<Row> & Pick<PastBlock, "head" | "final" | "isFinal">;

/**
 * SQL that begins a statement with `asked`, the moment that $1 names, and has what follows in the transaction be as of
 * it. The settings are of the transaction, so that they work behind a pooler. `case` has the block set before it is
 * looked up, once for all statements, since they have one snapshot. What follows joins by `left join`: a plan of any other
 * join may find no row before it reads `asked`, and so raises no error that there is no such block.
 */
const WITH_ASKED = `
  with named as materialized (
    select case
      when set_config('dex.as_of_block', $1, true) is not null then dex_private.named_moment()
    end as moment
  ),
  asked as materialized (
    select named.moment
    from named
    where set_config('dex.as_of_moment', $1 || ' ' || named.moment::text, true) is not null
  )`;

/** SQLSTATE of dex_private.past_moment. */
const NO_SUCH_BLOCK = "DX002";

/** What is thrown for an error of a statement as of a past block. */
export function withNoSuchBlock(error: unknown): unknown {
  const { code, detail } = error as { code?: string; detail?: string };
  return code === NO_SUCH_BLOCK ? new NoSuchBlock(detail ?? "") : error;
}

/** Reads as of a past block. Throws NoSuchBlock for a block that the database does not have. */
export type FindAsOf = <Row>(
  asOf: AsOf,
  find: (db: Database) => Promise<Snapshot<Row>>,
) => Promise<PastSnapshot<Row>>;

/** `finality` is how many blocks the chain may take back; undefined for what an indexer or a mirror has recorded, or 64. */
export const makeFindAsOf =
  (pool: Pool, finality?: number): FindAsOf =>
  (asOf, find) =>
    inSnapshot(pool, async (db) => {
      // Sent together: the database executes them one after another.
      const [{ rows }, found] = await Promise.all([
        db.query<FoundBlock>(beginningAsOf(asOf, finality)),
        find(db),
      ]).catch((error: unknown) => {
        throw withNoSuchBlock(error);
      });
      const { head, final, isFinal } = pastBlock(asOf, rows);
      return { ...found, head, final, isFinal };
    });

// A later block can still come between the one that was found and the number or the time that was asked for.
function isFinal(asOf: AsOf, { number, final, finalTime }: FoundBlock): boolean {
  if (final === null || finalTime === null) return false;
  if ("block" in asOf) return asOf.block <= final;
  if ("time" in asOf) return Date.parse(asOf.time) < Date.parse(finalTime);
  return number <= final;
}

/** What a transaction is as of. */
export interface PastBlock {
  number: number;
  /** Stands for its facts, hash and time: a block of the same number may be another after a reorganisation. */
  mark: string;
  /** No trade up to it has a greater id. */
  lastTrade: number;
  /** The head of the same snapshot. */
  head: number;
  /** The last final block of the same snapshot; null where there is none. */
  final: number | null;
  /** Whether what was asked for will always name this block: nothing takes it back, comes between or deletes it. */
  isFinal: boolean;
  asked: AsOf;
}

interface FoundBlock extends Omit<PastBlock, "asked" | "isFinal"> {
  finalTime: string | null;
  /** Others are deleted some time later. */
  hasRows: boolean;
}

interface Statement {
  name: string;
  text: string;
  values: unknown[];
}

const BEGIN_AS_OF = {
  name: "begin_as_of",
  text: `
    ${WITH_ASKED}
    select
      block.number,
      left(md5(concat_ws(' ', encode(block.digest, 'hex'), block.hash, extract(epoch from block.time))), 8) as mark,
      least((asked.moment).beyond - 1, state.last_trade)::float8 as "lastTrade",
      (
        select max(head.number)
        from dex_block as head
      ) as head,
      final.number as final,
      ${isoTime("final.time")} as "finalTime",
      block.has_rows as "hasRows"
    from asked
    left join dex_block as block on block.number = (asked.moment).block
    left join dex_private.write_state as state on true
    left join dex_private.final_block($2) as final on true
  `,
};

const beginningAsOf = (asked: AsOf, finality?: number): Statement => ({
  ...BEGIN_AS_OF,
  values: [String(Object.values(asked)[0]), finality ?? null],
});

function pastBlock(asked: AsOf, [found]: readonly FoundBlock[]): PastBlock {
  if (found === undefined) throw new Error(`no row of the block that is ${JSON.stringify(asked)}`);
  const { finalTime: _finalTime, hasRows, ...block } = found;
  return { ...block, isFinal: hasRows && isFinal(asked, found), asked };
}

/** What follows in the transaction is as of this block. Throws NoSuchBlock for one that the database does not have. */
export async function beginAsOf(
  db: { query: (statement: Statement) => Promise<{ rows: readonly FoundBlock[] }> },
  asked: AsOf,
  finality?: number,
): Promise<PastBlock> {
  const { rows } = await db
    .query(beginningAsOf(asked, finality))
    .catch((error: unknown) => Promise.reject(withNoSuchBlock(error) as Error));
  return pastBlock(asked, rows);
}
