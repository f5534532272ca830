// Who keeps a session waiting for a lock: seen only while it waits.
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "./connect.ts";

/** A session that is in the way of another. */
export interface Blocker {
  pid: number;
  application: string;
  /** Null for a process of the server itself. */
  login: string | null;
  /** How long its transaction has gone on; null where it may not be seen. */
  seconds: string | null;
  /** The start of its last query, or why it may not be seen. */
  query: string;
  /** Such as `AccessExclusiveLock on dex_trade`: what is waited for. */
  lock: string;
}

const LOOK_MS = 50;

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

/** Looks from now on who blocks the sessions of this application name; `last` is what it saw last. */
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
      await sleep(LOOK_MS);
    }
  };
  // What is watched fails too where the server goes away, and says so.
  client.on("error", () => undefined);
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
