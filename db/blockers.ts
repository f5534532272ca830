// Finds the sessions that hold up another session's lock. PostgreSQL shows them only during the wait.
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "./connect.ts";

/** A session that blocks another. */
export interface Blocker {
  pid: number;
  application: string;
  /** Null for a process of the server itself. */
  login: string | null;
  /** The age of its transaction; null if the login may not see it. */
  seconds: string | null;
  /** The start of its last query, or PostgreSQL's note that the login may not see it. */
  query: string;
  /** The lock that the blocked session waits for, such as `AccessExclusiveLock on dex_trade`. */
  lock: string;
}

const POLL_MS = 50;

const BLOCKERS = `
  select distinct on (blocker.pid)
    blocker.pid,
    blocker.application_name as application,
    blocker.usename as login,
    to_char(extract(epoch from clock_timestamp() - blocker.xact_start), 'FM999990.0') as seconds,
    left(blocker.query, 200) as query,
    format('%s on %s', waited.mode, coalesce(waited.relation::regclass::text, waited.locktype)) as lock
  from pg_stat_activity as waiting
  join pg_locks as waited
    on waited.pid = waiting.pid
    and not waited.granted
  cross join lateral unnest(pg_blocking_pids(waiting.pid)) as blocking (pid)
  join pg_stat_activity as blocker on blocker.pid = blocking.pid
  where waiting.application_name = $1
    and waiting.datname = current_database()
    and waiting.wait_event_type = 'Lock'
  order by blocker.pid
`;

/** Polls for sessions that block those with this application name; `last` returns the latest found. */
export async function watchBlockers(
  url: string,
  applicationName: string,
): Promise<{ last: () => Blocker[]; stop: () => Promise<void> }> {
  const client = await connect(url);
  let last: Blocker[] = [];
  let isOver = false;
  const look = async (): Promise<void> => {
    while (!isOver) {
      const { rows } = await client.query<Blocker>(BLOCKERS, [applicationName]);
      if (rows.length > 0) last = rows;
      await sleep(POLL_MS);
    }
  };
  // If the server goes away, the watched sessions report it.
  const looking = look().catch(() => undefined);
  return {
    last: () => last,
    stop: async () => {
      isOver = true;
      await looking;
      await client.end();
    },
  };
}
