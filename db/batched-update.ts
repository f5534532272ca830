// Updates a table in batches, each in its own transaction.
import { setTimeout } from "node:timers/promises";
import type { Client } from "./connect.ts";

export interface Backfill {
  /** A table with an integer primary key `id`. */
  table: string;
  /** An update of the rows with $1 < id <= $2. It must be idempotent. */
  statement: string;
  /** Number of ids in a batch. */
  batch: number;
  /** Pause after each batch, in milliseconds. */
  pauseMs: number;
  /** Called after each batch: the ids up to `upTo` are done, `last` is the highest id. */
  onBatch?: (done: { upTo: number; last: number; rows: number }) => void;
}

/**
 * Runs the statement for each batch of ids, up to the highest id at the start; newer rows must be filled
 * when they are written. Resolves to the number of updated rows. After an interruption run it again.
 */
export async function backfill(client: Client, task: Backfill): Promise<number> {
  const { rows } = await client.query<{ first: string | null; last: string | null }>(
    `select min(id) as first, max(id) as last from ${client.escapeIdentifier(task.table)}`,
  );
  const last = Number(rows[0]?.last ?? 0);
  let updated = 0;
  for (let after = Number(rows[0]?.first ?? 1) - 1; after < last; after += task.batch) {
    const upTo = Math.min(after + task.batch, last);
    // Without `begin`, each statement is a transaction.
    const { rowCount } = await client.query(task.statement, [after, upTo]);
    updated += rowCount ?? 0;
    task.onBatch?.({ upTo, last, rows: updated });
    if (upTo < last) await setTimeout(task.pauseMs);
  }
  return updated;
}
