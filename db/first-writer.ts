// The lock that one indexer or mirror of a database has while it writes.
import type { Client } from "./connect.ts";

/**
 * Whether this client is the one indexer or mirror of the database now; it stays so until its connection ends. Two at
 * once would write nothing wrong, since `ingest` takes each block once: the lock spares them the refusals, and each
 * what the other records of its source. Anybody can take an advisory lock, so only that of a login that may write is
 * waited for.
 */
export async function isFirstWriter(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ first: boolean }>(
    `with lock as materialized (
      select hashtextextended('dex-market-data index', 0) as key
    )
    select pg_try_advisory_lock(lock.key) or not exists (
      select
      from pg_locks as held
      join pg_stat_activity as holder on holder.pid = held.pid
      where held.locktype = 'advisory'
        and held.granted
        and held.objsubid = 1
        and held.classid::bigint = (lock.key >> 32) & 4294967295
        and held.objid::bigint = lock.key & 4294967295
        and held.database = (select oid from pg_database where datname = current_database())
        and pg_has_role(holder.usesysid, 'dex_writer', 'member')
    ) as first
    from lock`,
  );
  return rows[0]?.first === true;
}
