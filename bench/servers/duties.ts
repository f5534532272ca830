// The duties of the service by kept libraries, for a hand-written server: id, log, metrics, limit, ETag, compression.
import type { Express, RequestHandler } from "express";
import { rateLimit } from "express-rate-limit";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { collectDefaultMetrics, Histogram } from "prom-client";

const load = createRequire(new URL("../../tools/bench/package.json", import.meta.url));
const pinoHttp = load("pino-http") as (options: {
  genReqId: (req: IncomingMessage, res: ServerResponse) => string;
}) => RequestHandler;
const compression = load("compression") as () => RequestHandler;

/** With the options that the service has, otherwise with their defaults. */
export function addDuties(app: Express): void {
  collectDefaultMetrics();
  const durations = new Histogram({
    name: "http_request_duration_seconds",
    help: "By route and status.",
    labelNames: ["route", "status"],
  });
  app.set("etag", "strong");
  app.use(
    pinoHttp({
      genReqId(req, res) {
        const id = req.headers["x-request-id"]?.toString() ?? randomUUID();
        res.setHeader("X-Request-Id", id);
        return id;
      },
    }),
    (req, res, next) => {
      const observe = durations.startTimer();
      res.once("finish", () => {
        const route = (req.route as { path: string } | undefined)?.path ?? "none";
        observe({ route, status: res.statusCode });
      });
      next();
    },
    rateLimit({ windowMs: 60_000, limit: 1e9, standardHeaders: "draft-8", legacyHeaders: false }),
    compression(),
  );
}
