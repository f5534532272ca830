// Liveness and readiness, for a process supervisor.
import { Router, type Response } from "express";
import { z } from "zod";
import { DatabaseUnreachable } from "./errors.ts";
import { readOnlyRoute } from "./paths.ts";
import { release } from "./release.ts";

export interface Readiness {
  /** Why the service cannot serve; empty where it can. */
  reasons(): Promise<string[]>;
}

/** As OpenAPI describes it; `answers` by status. */
export interface HealthPath {
  id: string;
  path: string;
  summary: string;
  description: string;
  answers: Record<number, { meaning: string; schema: z.ZodType }>;
}

export const health: HealthPath[] = [
  {
    id: "health",
    path: "/health",
    summary: "Whether the process lives",
    description: "Whatever the database does.",
    answers: {
      200: {
        meaning: "It lives.",
        schema: z.object({
          status: z.literal("ok"),
          version: z.string().describe("The version of the service."),
        }),
      },
    },
  },
  {
    id: "ready",
    path: "/ready",
    summary: "Whether the service can serve",
    description:
      "It can when the database answers, has every migration, lets every figure be read, and has a " +
      "head that is not too old, where the operator has said how old it may be.",
    answers: {
      200: { meaning: "It can.", schema: z.object({ status: z.literal("ready") }) },
      503: {
        meaning: "It cannot.",
        schema: z.object({
          status: z.literal("not ready"),
          reasons: z.array(z.string()).min(1).describe("Why it cannot, a sentence each."),
        }),
      },
    },
  },
];

export function healthRouter(readiness: Readiness): Router {
  const router = Router({ caseSensitive: true });
  const alive = { status: "ok", version: release() };
  readOnlyRoute(router, "/health", (_req, res) => {
    send(res, 200, alive);
  });
  readOnlyRoute(router, "/ready", async (_req, res) => {
    const reasons = await readiness.reasons();
    if (reasons.length === 0) send(res, 200, { status: "ready" });
    else send(res.set(new DatabaseUnreachable().headers), 503, { status: "not ready", reasons });
  });
  return router;
}

// Express's `json` answers `If-None-Match: *` by 304.
function send(res: Response, status: number, body: object): void {
  const text = JSON.stringify(body);
  const length = String(Buffer.byteLength(text));
  res.status(status).set({ "Cache-Control": "no-store", "Content-Length": length });
  res.type("json").end(text);
}
