// Fills a column of a table batch by batch, each in a transaction of its own.
import { setTimeout } from "node:timers/promises";
import type { Client } from "./connect.ts";

export interface Backfill {
  /** The table, whose primary key `id` is an integer. */
  table: string;
  /** An update of the rows with an id above $1 and up to $2. It must be harmless when done twice. */
  statement: string;
  /** How many ids a batch is of. */
  batch: number;
  /** Milliseconds without work after each batch. */
  pauseMs: number;
  /** Hears how far it is after each batch: all ids up to this one are done, of those up to the last. */
  onBatch?: (done: { upTo: number; last: number; rows: number }) => void;
}

/**
 * Runs the statement for each batch of ids up to the greatest that there is now; newer rows have to be
 * filled as they are written. Resolves to how many rows were updated. Interrupted, it is begun again,
 * and its statement passes over what is filled.
 */
export async function backfill(client: Client, task: Backfill): Promise<number> {
  const { rows } = await client.query<{ first: string | null; last: string | null }>(
    `select min(id) as first, max(id) as last from ${client.escapeIdentifier(task.table)}`,
  );
  const last = Number(rows[0]?.last ?? 0);
  let updated = 0;
  for (let after = Number(rows[0]?.first ?? 1) - 1; after < last; after += task.batch) {
    const upTo = Math.min(after + task.batch, last);
    // By itself a statement is a transaction.
    const { rowCount } = await client.query(task.statement, [after, upTo]);
    updated += rowCount ?? 0;
    task.onBatch?.({ upTo, last, rows: updated });
    if (upTo < last) await setTimeout(task.pauseMs);
  }
  return updated;
}
