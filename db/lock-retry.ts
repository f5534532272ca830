// Tries again what a lock_timeout has broken off: under load, a short one often does.
import { setTimeout as sleep } from "node:timers/promises";
import { urlForRole } from "./connect.ts";
import { watchBlockers, type Blocker } from "./blockers.ts";

/** The lock was not to be had in any of the tries. The message says who holds it. */
export class LockHeld extends Error {
  override readonly name = "LockHeld";
}

const TRIES = 20;
const PAUSE_MS = 500;

/** What PostgreSQL says when a statement waits too long for a lock. */
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Does what takes locks, by the URL of dex_owner that it is given, until none is refused. Throws
 * `LockHeld` after so many tries; any other error at once.
 */
export async function retryLocks<T>(
  url: string,
  work: (ownerUrl: string) => Promise<T>,
  tell: (line: string) => void,
): Promise<T> {
  // By its name, its sessions are found among others.
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
      tell(`A lock was not to be had within lock_timeout: try ${next} of ${TRIES}.`);
      await sleep(PAUSE_MS);
    }
  } finally {
    await blockers.stop();
  }
}

function heldBy(blockers: Blocker[]): string {
  const said = `A lock was not to be had within lock_timeout in ${TRIES} tries.`;
  if (blockers.length === 0) return `${said} Nobody was seen to hold it for long.`;
  return [
    `${said} In its way were:`,
    ...blockers.map(
      ({ pid, application, login, seconds, query, lock }) =>
        `  pid ${pid} (${application || "no application_name"}, login ${login ?? "none"}), by ${lock}, ` +
        `for ${seconds ?? "?"} s: ${query.replace(/\s+/g, " ").trim()}`,
    ),
  ].join("\n");
}
