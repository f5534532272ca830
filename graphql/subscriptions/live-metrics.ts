// The metrics of subscriptions.
import { Counter, Gauge, Registry } from "prom-client";
import { CLOSE_REASONS } from "./connection.ts";

interface OpenNow {
  subscriptions: () => number;
  connections: () => number;
}

export function liveMetrics({ subscriptions, connections }: OpenNow) {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: "dex_graphql_subscriptions",
    help: "Subscriptions that are open.",
    registers,
    collect() {
      this.set(subscriptions());
    },
  });
  new Gauge({
    name: "dex_websockets",
    help: "WebSocket connections that are open.",
    registers,
    collect() {
      this.set(connections());
    },
  });
  const over = new Counter({
    name: "dex_graphql_subscriptions_total",
    help: "Subscriptions that are over: ended without an error, by one, or refused.",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of ["ok", "error", "refused"]) over.inc({ outcome }, 0);
  const closed = new Counter({
    name: "dex_websockets_closed_total",
    help: "WebSocket connections that the service has closed, by reason.",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of CLOSE_REASONS) closed.inc({ reason }, 0);
  return { registry, over, closed };
}
