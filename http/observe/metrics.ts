// The metrics for Prometheus.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Database, Pool } from "../../db/connect.ts";
import { release } from "../release.ts";
import { GRAPHQL_PATH, type RequestState } from "../request.ts";

export interface MetricsSources {
  /** By name. */
  pools: Record<string, Pool>;
  /** Asked for the head once per scrape. */
  db: Database;
  /** The cache; undefined where it is off. */
  kept: { readonly bytes: number; readonly size: number } | undefined;
  /** How many lines of the log were dropped. */
  droppedLines: () => number;
  /** The metrics of other parts. */
  others: Registry[];
}

const SELECT_HEAD = {
  name: "metrics_head",
  text: `
    select
      head.block,
      extract(epoch from clock_timestamp() - head.time)::float8 as age
    from dex_head as head
  `,
  // A hung database must not make the scrape miss all other figures.
  query_timeout: 1000,
};

/** Seconds: the first holds answers from memory, the last what the database is slow at. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Bounds the label: the service's own codes match. */
const CODE = /^[A-Z][A-Z_]{0,49}$/;

export class Metrics {
  readonly #registry = new Registry();
  readonly #others: Registry[];
  readonly #db: Database;
  readonly #durations: Histogram<"route" | "status">;
  readonly #aborted: Counter;
  readonly #operations: Counter<"outcome">;
  readonly #errors: Counter<"code">;
  readonly #answers: Counter<"result">;
  readonly #ofKeys: Counter<"key" | "status">;
  readonly #databaseUp: Gauge;
  readonly #headBlock: Gauge;
  readonly #headAge: Gauge;
  #asking: Promise<string> | undefined;

  constructor({ pools, db, kept, droppedLines, others }: MetricsSources) {
    this.#others = others;
    this.#db = db;
    const registers = [this.#registry];
    const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers });
    const gauge = <Label extends string>(
      name: string,
      help: string,
      collect?: (this: Gauge<Label>) => void,
      ...labelNames: Label[]
    ) => new Gauge({ name, help, labelNames, registers, ...(collect && { collect }) });

    collectDefaultMetrics({ register: this.#registry });
    // These gauges have a counter's name, and repeat nodejs_active_*.
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
    this.#aborted = counter(
      "dex_http_requests_aborted_total",
      "Requests whose client went away before it had the answer whole.",
    );
    this.#operations = counter(
      "dex_graphql_operations_total",
      "GraphQL requests that are over: answered without an error, or with one.",
      "outcome",
    );
    for (const outcome of ["ok", "error"]) this.#operations.inc({ outcome }, 0);
    this.#errors = counter(
      "dex_graphql_errors_total",
      "Errors in GraphQL answers, by extensions.code; those without one as none.",
      "code",
    );
    this.#answers = counter(
      "dex_cache_requests_total",
      "Requests of the kind whose answers are kept: from memory, shared with another request's, or made.",
      "result",
    );
    for (const result of ["hit", "shared", "miss"]) this.#answers.inc({ result }, 0);
    this.#ofKeys = counter(
      "dex_key_requests_total",
      "Requests that are over of the holders of keys, by the name of the key and their status.",
      ...(["key", "status"] as const),
    );
    this.#databaseUp = gauge("dex_database_up", "Whether the database has answered just now.");
    this.#headBlock = gauge(
      "dex_head_block",
      "The block of the head. Absent where no block is written or the database does not answer.",
    );
    this.#headAge = gauge(
      "dex_head_age_seconds",
      "How long ago the head's block was made. Absent where the head's block is.",
    );
    gauge(
      "dex_pool_connections",
      "Connections to the database that are open, by what they are doing.",
      function () {
        for (const [pool, { totalCount, idleCount }] of Object.entries(pools)) {
          this.set({ pool, state: "used" }, totalCount - idleCount);
          this.set({ pool, state: "idle" }, idleCount);
        }
      },
      "pool",
      "state",
    );
    gauge(
      "dex_pool_connections_max",
      "Connections to the database that may be open: POOL_SIZE and GRAPHQL_POOL_SIZE.",
      function () {
        for (const [pool, { options }] of Object.entries(pools)) this.set({ pool }, options.max);
      },
      "pool",
    );
    gauge(
      "dex_pool_waiting",
      "How many wait for a connection to the database.",
      function () {
        for (const [pool, { waitingCount }] of Object.entries(pools)) {
          this.set({ pool }, waitingCount);
        }
      },
      "pool",
    );
    gauge("dex_cache_bytes", "What the answers in memory take.", function () {
      this.set(kept?.bytes ?? 0);
    });
    gauge("dex_cache_answers", "How many answers are in memory.", function () {
      this.set(kept?.size ?? 0);
    });
    new Counter({
      name: "dex_log_lines_dropped_total",
      help: "Lines of the log that were dropped, since their reader was too slow.",
      registers,
      collect() {
        this.reset();
        this.inc(droppedLines());
      },
    });
    gauge("dex_build_info", "1, with the version of the service.", undefined, "version").set(
      { version: release() },
      1,
    );
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The names of all metrics, as they are registered. */
  get names(): string[] {
    return this.#all()
      .getMetricsAsArray()
      .map(({ name }) => name);
  }

  #all(): Registry {
    return Registry.merge([this.#registry, ...this.#others]);
  }

  /** Counts a request that is over. */
  readonly count = (state: RequestState): void => {
    const { route = "none", status, ms, cache, isAborted, errors, key } = state;
    this.#durations.observe({ route, status }, ms / 1000);
    if (key !== undefined) this.#ofKeys.inc({ key: key.name, status });
    if (isAborted) this.#aborted.inc();
    if (cache !== undefined) this.#answers.inc({ result: cache });
    if (route !== GRAPHQL_PATH) return;
    this.#operations.inc({ outcome: errors === undefined ? "ok" : "error" });
    for (const code of errors ?? []) this.#errors.inc({ code: CODE.test(code) ? code : "none" });
  };

  /** Prometheus's text format. Scrapes in flight share one answer. */
  text(): Promise<string> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #ask(): Promise<string> {
    this.#headBlock.remove();
    this.#headAge.remove();
    try {
      const { rows } = await this.#db.query<{ block: number; age: number }>(SELECT_HEAD);
      this.#databaseUp.set(1);
      for (const { block, age } of rows) {
        this.#headBlock.set(block);
        this.#headAge.set(age);
      }
    } catch {
      // The requests that meet the same failure log it.
      this.#databaseUp.set(0);
    }
    return this.#all().metrics();
  }
}
