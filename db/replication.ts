// Whether a database is a primary or a standby, as every role can read it.
import type { Database } from "./connect.ts";

export interface Replication {
  isStandby: boolean;
  /** Seconds since the last transaction that a standby has replayed; null where there is none. */
  lag: number | null;
  /** Connections that replicate from this server. Only their number is readable for every role. */
  receivers: number;
}

export async function readReplication(db: Database): Promise<Replication> {
  const { rows } = await db.query<Replication>(`
    select
      pg_is_in_recovery() as "isStandby",
      floor(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()))::float8 as lag,
      (select count(*)::int from pg_stat_replication) as receivers
  `);
  const [row] = rows;
  if (row === undefined) throw new Error("A statement without a table has one row");
  return row;
}
