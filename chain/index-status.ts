// How the indexer is doing: its metrics for Prometheus, and why the service may not be ready.
import { createServer, type Server } from "node:http";
import { Counter, Gauge, Registry } from "prom-client";
import type { IndexerEvent } from "./indexer-options.ts";

interface State {
  known: number;
  knownTime: number;
  indexed: number;
  time: number;
}

export class IndexerStatus {
  readonly registry = new Registry();
  readonly #known = this.#gauge(
    "dex_chain_known_block",
    "Last block of the chain that a node has named.",
  );
  readonly #indexed = this.#gauge(
    "dex_chain_indexed_block",
    "Last block that the indexer has written.",
  );
  readonly #lag = this.#gauge(
    "dex_chain_lag_blocks",
    "Blocks that the node knows and the indexer has not written.",
  );
  readonly #lagSeconds = this.#gauge(
    "dex_chain_lag_seconds",
    "Time between the last block written and the last block known, by the chain's clock.",
  );
  readonly #rows = this.#counter(
    "dex_chain_events_total",
    "Offers, trades and cancellations written.",
  );
  readonly #leftOut = this.#counter(
    "dex_chain_events_left_out_total",
    "Offers, trades and cancellations of tokens whose amounts are not exact.",
  );
  readonly #doubts = this.#counter(
    "dex_chain_doubts_total",
    "What was believed although it could not be checked; the log says why.",
  );
  readonly #auditDue = this.#gauge(
    "dex_chain_audit_due",
    "1 while open offers are yet to be compared with the contract's state, else 0.",
  );
  readonly #reorganisations = this.#counter(
    "dex_chain_reorganisations_total",
    "Reorganisations of the chain that the indexer has followed.",
  );
  readonly #depth = this.#gauge(
    "dex_chain_reorganisation_depth_blocks",
    "Depth of the last reorganisation: blocks that were taken back.",
  );
  readonly #requests = new Counter({
    name: "dex_chain_requests_total",
    help: "Requests to the nodes, by method and outcome: ok, refused, limited or failed.",
    labelNames: ["method", "outcome"],
    registers: [this.registry],
  });
  /** What fails, or has ended it. */
  #problem: string | undefined;
  /** What it waits for. */
  #waitsFor: string | undefined = "It has not read the chain yet";
  #state: Partial<State> = {};

  /** Why what it fills is not up to date; none where nothing fails. */
  reasons(): string[] {
    if (this.#problem !== undefined) return [this.#problem];
    return this.#waitsFor === undefined ? [] : [`The indexer waits: ${this.#waitsFor}`];
  }

  readonly report = (event: IndexerEvent): void => {
    switch (event.event) {
      case "known":
      case "begun":
        this.#learn(event);
        break;
      case "waiting":
        this.#waitsFor = event.reason;
        break;
      case "upToDate":
        this.#waitsFor = undefined;
        break;
      case "written":
        this.#problem = undefined;
        this.#waitsFor = undefined;
        this.#learn(event);
        this.#rows.inc(event.rows);
        this.#leftOut.inc(event.leftOut);
        break;
      case "reorganisation":
        this.#reorganisations.inc();
        this.#depth.set(event.depth);
        break;
      case "request":
        this.#requests.inc({ method: event.method, outcome: event.outcome });
        break;
      case "failure":
        this.#problem = `The indexer is interrupted: ${event.reason}`;
        break;
      case "recovered":
        this.#problem = undefined;
        break;
      case "doubt":
        this.#doubts.inc();
        break;
      case "audit":
        this.#auditDue.set(event.isDue ? 1 : 0);
        break;
      case "notice":
      case "leftOut":
    }
  };

  /** It has stopped for good. */
  readonly stopped = (reason: string): void => {
    this.#problem = `The indexer has stopped: ${reason}`;
  };

  #learn(news: Partial<State>): void {
    this.#state = { ...this.#state, ...news };
    const { known, knownTime, indexed, time } = this.#state;
    if (known !== undefined) this.#known.set(known);
    if (indexed !== undefined) this.#indexed.set(indexed);
    if (known === undefined || knownTime === undefined) return;
    if (indexed === undefined || time === undefined) return;
    this.#lag.set(Math.max(0, known - indexed));
    this.#lagSeconds.set(Math.max(0, knownTime - time));
  }

  #gauge(name: string, help: string): Gauge {
    const gauge = new Gauge({ name, help, registers: [this.registry] });
    // Absent until it is known: 0 would say something.
    gauge.remove();
    return gauge;
  }

  #counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.registry] });
  }
}

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
