// Serves the metrics and the readiness of an indexer that runs by itself.
import { createServer, type Server } from "node:http";
import type { IndexerStatus } from "./index-status.ts";

/** GET /metrics for Prometheus, and GET /ready: 200, or 503 with the reasons. Not listening yet. */
export function statusServer(status: IndexerStatus): Server {
  return createServer((req, res) => {
    const path = req.method === "GET" ? req.url?.split("?", 1)[0] : undefined;
    if (path === "/ready") {
      const reasons = status.reasons();
      const body = reasons.length === 0 ? { status: "ready" } : { status: "not ready", reasons };
      const code = reasons.length === 0 ? 200 : 503;
      res.writeHead(code, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    } else if (path === "/metrics") {
      status.registry.metrics().then(
        (text) => res.writeHead(200, { "Content-Type": status.registry.contentType }).end(text),
        () => res.writeHead(500).end(),
      );
    } else {
      res
        .writeHead(404, { "Content-Type": "text/plain" })
        .end("GET /metrics and GET /ready are here\n");
    }
  });
}
