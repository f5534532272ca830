// The metrics for Prometheus: counted as requests end, and read when it asks.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Database, Pool } from "../../../db/connect.ts";
import { release } from "../release.ts";
import type { Observation } from "./observation.ts";

export interface MetricsSources {
  /** Whose connections are counted, by name. */
  pools: Record<string, Pool>;
  /** Asked for the head, once each time that the metrics are. */
  db: Database;
  /** What is kept of answers; undefined where none are. */
  kept: { readonly bytes: number; readonly size: number } | undefined;
  /** How many lines of the log were dropped. */
  droppedLines: () => number;
}

// A hung database must not have Prometheus wait until it gives up on all the other figures.
const SELECT_HEAD = {
  name: "metrics_head",
  text: `
    select
      head.block,
      extract(epoch from clock_timestamp() - head.time)::float8 as age
    from dex_head as head
  `,
  query_timeout: 1000,
};

/** Seconds: an answer from memory is in the first, one that the database is slow at in the last. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The codes are the service's own; whatever else stands there is counted together. */
const CODE = /^[A-Z][A-Z_]{0,49}$/;

/** One for each process: it counts that, too. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #sources: MetricsSources;
  readonly #durations: Histogram<"route" | "status">;
  readonly #aborted: Counter;
  readonly #rejections: Counter<"code">;
  // Counted here and handed over when asked for: each answer from memory passes this way.
  readonly #answers = { hit: 0, shared: 0, miss: 0 };
  readonly #operations = { ok: 0, error: 0 };
  readonly #databaseUp: Gauge;
  readonly #headBlock: Gauge;
  readonly #headAge: Gauge;
  #asking: Promise<string> | undefined;

  constructor(sources: MetricsSources) {
    this.#sources = sources;
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    // Gauges by a counter's name, and the sums of those by type.
    for (const kind of ["handles", "requests", "resources"]) {
      this.#registry.removeSingleMetric(`nodejs_active_${kind}_total`);
    }
    this.#durations = new Histogram({
      name: "dex_http_request_duration_seconds",
      help: "Requests that are over, by the pattern of their path and their status; how long they took.",
      labelNames: ["route", "status"],
      buckets: BUCKETS,
      registers,
    });
    this.#aborted = new Counter({
      name: "dex_http_requests_aborted_total",
      help: "Requests whose client went away before it had the answer whole.",
      registers,
    });
    const operations = this.#operations;
    new Counter({
      name: "dex_graphql_operations_total",
      help: "GraphQL requests that are over: answered without an error, or with one.",
      labelNames: ["outcome"],
      registers,
      collect() {
        this.reset();
        for (const [outcome, count] of Object.entries(operations)) this.inc({ outcome }, count);
      },
    });
    this.#rejections = new Counter({
      name: "dex_graphql_errors_total",
      help: "Errors in GraphQL answers, by extensions.code; those without one as none.",
      labelNames: ["code"],
      registers,
    });
    this.#databaseUp = new Gauge({
      name: "dex_database_up",
      help: "Whether the database has answered just now.",
      registers,
    });
    this.#headBlock = new Gauge({
      name: "dex_head_block",
      help: "The block of the head. Absent where no block is written or the database does not answer.",
      registers,
    });
    this.#headAge = new Gauge({
      name: "dex_head_age_seconds",
      help: "How long ago the head's block was made. Absent where the head's block is.",
      registers,
    });
    this.#readOff();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The names of all metrics, as they are registered. */
  get names(): string[] {
    return this.#registry.getMetricsAsArray().map(({ name }) => name);
  }

  /** Counts a request that is over. */
  readonly count = (observation: Observation): void => {
    const { route = "none", status, ms, cache, isAborted, errors } = observation;
    this.#durations.observe({ route, status }, ms / 1000);
    if (isAborted) this.#aborted.inc();
    if (cache !== undefined) this.#answers[cache] += 1;
    if (route !== "/graphql") return;
    this.#operations[errors === undefined ? "ok" : "error"] += 1;
    for (const code of errors ?? []) {
      this.#rejections.inc({ code: CODE.test(code) ? code : "none" });
    }
  };

  /** All of them in Prometheus's text format. Who asks at the same time gets the same. */
  text(): Promise<string> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #ask(): Promise<string> {
    for (const gauge of [this.#headBlock, this.#headAge]) gauge.remove();
    try {
      const { rows } = await this.#sources.db.query<{ block: number; age: number }>(SELECT_HEAD);
      this.#databaseUp.set(1);
      const [head] = rows;
      if (head !== undefined) {
        this.#headBlock.set(head.block);
        this.#headAge.set(head.age);
      }
    } catch {
      // That is what the metric is for; what failed, the requests that meet it log.
      this.#databaseUp.set(0);
    }
    return this.#registry.metrics();
  }

  /** Those that somebody else counts. */
  #readOff(): void {
    const { kept, droppedLines } = this.#sources;
    const pools = Object.entries(this.#sources.pools);
    const registers = [this.#registry];
    const answers = this.#answers;
    new Gauge({
      name: "dex_pool_connections",
      help: "Connections to the database that are open, by what they are doing.",
      labelNames: ["pool", "state"],
      registers,
      collect() {
        for (const [name, { totalCount, idleCount }] of pools) {
          this.set({ pool: name, state: "used" }, totalCount - idleCount);
          this.set({ pool: name, state: "idle" }, idleCount);
        }
      },
    });
    new Gauge({
      name: "dex_pool_connections_max",
      help: "Connections to the database that may be open: POOL_SIZE and GRAPHQL_POOL_SIZE.",
      labelNames: ["pool"],
      registers,
      collect() {
        for (const [name, { options }] of pools) this.set({ pool: name }, options.max);
      },
    });
    new Gauge({
      name: "dex_pool_waiting",
      help: "How many wait for a connection to the database.",
      labelNames: ["pool"],
      registers,
      collect() {
        for (const [name, { waitingCount }] of pools) this.set({ pool: name }, waitingCount);
      },
    });
    new Counter({
      name: "dex_cache_requests_total",
      help: "Requests of the kind whose answers are kept: from memory, shared with another request's, or made.",
      labelNames: ["result"],
      registers,
      collect() {
        this.reset();
        for (const [result, count] of Object.entries(answers)) this.inc({ result }, count);
      },
    });
    new Gauge({
      name: "dex_cache_bytes",
      help: "What the answers in memory take.",
      registers,
      collect() {
        this.set(kept?.bytes ?? 0);
      },
    });
    new Gauge({
      name: "dex_cache_answers",
      help: "How many answers are in memory.",
      registers,
      collect() {
        this.set(kept?.size ?? 0);
      },
    });
    new Counter({
      name: "dex_log_lines_dropped_total",
      help: "Lines of the log that were dropped, since nobody took them.",
      registers,
      collect() {
        this.reset();
        this.inc(droppedLines());
      },
    });
    new Gauge({
      name: "dex_service_info",
      help: "1, with the version of the service.",
      labelNames: ["version"],
      registers,
    }).set({ version: release() }, 1);
  }
}
