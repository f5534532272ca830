// What a process supervisor asks: does the process live, and can it serve?
import { Router, type Response } from "express";
import { DatabaseUnreachable } from "./errors.ts";
import { readOnlyRoute } from "./read-only-route.ts";
import type { Readiness } from "./readiness.ts";

/**
 * `/health`: 200 while the process lives, whatever the database does. `/ready`: 200 when the service
 * can serve, else 503 with the reasons.
 */
export function healthRouter(readiness: Readiness): Router {
  const router = Router({ caseSensitive: true });
  readOnlyRoute(router, "/health", (_req, res) => {
    uncached(res).json({ status: "ok" });
  });
  readOnlyRoute(router, "/ready", async (_req, res) => {
    const reasons = await readiness.reasons();
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
