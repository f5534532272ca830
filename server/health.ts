// What a process supervisor asks: does the process live, and can it serve?
import { Router, type Response } from "express";
import type { Database } from "../db/connect.ts";
import { pendingMigrations } from "../db/migrations.ts";
import type { DatabaseGate } from "./database-gate.ts";
import { databaseFailure } from "./database-failure.ts";
import { DatabaseNotReady, DatabaseUnreachable } from "./errors.ts";
import { findUnreadable } from "../rest/queries/probe.ts";
import { readOnlyRoute } from "./read-only-route.ts";

/**
 * `/health`: 200 while the process lives, whatever the database does. `/ready`: 200 when the
 * database answers, has every migration and lets all figures be read, else 503 with the reasons.
 */
export function healthRouter(
  db: Database,
  gate: DatabaseGate,
  log: (error: unknown) => void,
): Router {
  const router = Router({ caseSensitive: true });
  readOnlyRoute(router, "/health", (_req, res) => {
    uncached(res).json({ status: "ok" });
  });
  readOnlyRoute(router, "/ready", async (_req, res) => {
    const reasons = await reasonsNotReady(db, log);
    // The gate opens a moment after the database does, or not, where it is read as somebody else.
    if (reasons.length === 0 && gate.obstacle !== undefined) {
      reasons.push(new DatabaseNotReady().message);
    }
    if (reasons.length === 0) uncached(res).json({ status: "ready" });
    else
      uncached(res)
        .status(503)
        .set(new DatabaseUnreachable().headers)
        .json({ status: "not ready", reasons });
  });
  return router;
}

const uncached = (res: Response): Response => res.set("Cache-Control", "no-store");

async function reasonsNotReady(db: Database, log: (error: unknown) => void): Promise<string[]> {
  try {
    const pending = await pendingMigrations(db);
    if (pending.length > 0) {
      return pending.map((name) => `The database lacks the migration ${name}`);
    }
    const unreadable = await findUnreadable(db, isOfAll);
    for (const { error } of unreadable) if (databaseFailure(error) === undefined) log(error);
    return unreadable.map(({ figures }) => `The ${figures} cannot be read`);
  } catch (error) {
    const failure = databaseFailure(error);
    if (failure !== undefined) return [failure.message];
    log(error);
    return ["The database answers with an error"];
  }
}

/** Whether whatever else is asked of the database would fail for the same reason. */
function isOfAll(error: unknown): boolean {
  const failure = databaseFailure(error);
  return failure !== undefined && !(failure instanceof DatabaseNotReady);
}
