// Retries work that failed by lock_timeout; under load a short lock_timeout often expires.
import { setTimeout as sleep } from "node:timers/promises";
import { urlForRole } from "./connect.ts";
import { watchBlockers, type Blocker } from "./blockers.ts";

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
