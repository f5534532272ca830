// Retries work that failed by lock_timeout; under load a short lock_timeout often expires.
import { setTimeout as sleep } from "node:timers/promises";
import { connect, urlForRole } from "./connect.ts";

/** lock_timeout expired in every try. The message lists the blocking sessions. */
export class LockHeld extends Error {
  override readonly name = "LockHeld";
}

const TRIES = 20;
const PAUSE_MS = 500;

/** PostgreSQL's SQLSTATE for an expired lock_timeout. */
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Runs `work` with a URL for dex_owner, and again if lock_timeout expires. Throws `LockHeld` after the last
 * try, and any other error immediately.
 */
export async function retryLocks<T>(
  url: string,
  work: (ownerUrl: string) => Promise<T>,
  log: (line: string) => void,
): Promise<T> {
  // The application name identifies the sessions of `work`.
  const name = `dex-market-data migrate ${process.pid}`;
  const blockers = await watchBlockers(url, name);
  try {
    for (let next = 2; ; next += 1) {
      try {
        return await work(urlForRole(url, "dex_owner", name));
      } catch (error) {
        if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
        if (next > TRIES) throw new LockHeld(heldBy(blockers.last()), { cause: error });
      }
      log(`lock_timeout expired before a lock was granted: try ${next} of ${TRIES}.`);
      await sleep(PAUSE_MS);
    }
  } finally {
    await blockers.stop();
  }
}

function heldBy(blockers: Blocker[]): string {
  const failure = `lock_timeout expired before a lock was granted, in ${TRIES} tries.`;
  if (blockers.length === 0) return `${failure} No blocking session was found.`;
  return [
    `${failure} Blocking sessions:`,
    ...blockers.map(
      ({ pid, application, login, seconds, query, lock }) =>
        `  pid ${pid} (${application || "no application_name"}, login ${login ?? "none"}), by ${lock}, ` +
        `for ${seconds ?? "?"} s: ${query.replace(/\s+/g, " ").trim()}`,
    ),
  ].join("\n");
}

/** A session that blocks another. PostgreSQL shows it only during the wait. */
interface Blocker {
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
async function watchBlockers(
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
