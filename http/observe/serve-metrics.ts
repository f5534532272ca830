// Serves the metrics: at /metrics of the service, or on their own port.
import { createServer, type Server } from "node:http";
import { Router } from "express";
import { readOnlyRoute } from "../paths.ts";
import type { Metrics } from "./metrics.ts";

export function metricsRouter(metrics: Metrics): Router {
  const router = Router({ caseSensitive: true });
  readOnlyRoute(router, "/metrics", async (_req, res) => {
    const text = await metrics.text();
    res.set("Cache-Control", "no-store").set("Content-Type", metrics.contentType).end(text);
  });
  return router;
}

/** For a port that only Prometheus reaches. It does not listen yet. */
export function metricsServer(metrics: Metrics): Server {
  return createServer((req, res) => {
    const isAsked = req.method === "GET" && req.url?.split("?", 1)[0] === "/metrics";
    if (!isAsked) {
      res.writeHead(404, { "Content-Type": "text/plain" }).end("Only GET /metrics is here\n");
      return;
    }
    metrics.text().then(
      (text) => res.writeHead(200, { "Content-Type": metrics.contentType }).end(text),
      () => res.writeHead(500).end(),
    );
  });
}
