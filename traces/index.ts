// Traces: what the service loads where OTEL_EXPORTER_OTLP_ENDPOINT is set.
import { diag, DiagLogLevel, type DiagLogger } from "@opentelemetry/api";
import { ExportResultCode, type ExportResult } from "@opentelemetry/core";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "../db/connect.ts";
import { release } from "../http/release.ts";
import type { Step } from "../http/request.ts";
import type { Version } from "../rest/endpoint.ts";
import { makeOperationSpansPlugin, withEndpointSpans } from "./operation-spans.ts";
import { samplingBy, spanOfRequest, type Sampling } from "./request-spans.ts";
import { followStatements } from "./statement-spans.ts";

export interface Traces {
  /** Begins the span of each sampled request. */
  step: Step;
  /** The same version, whose endpoints have spans. */
  ofVersion: (version: Version) => Version;
  /** Makes spans of GraphQL's operations. */
  plugin: GraphileConfig.Plugin;
  /** Makes spans of the statements of a pool without connections. */
  follow: (pool: Pool) => void;
  /** Sends what is left, for a second at most. What then waits for the collector keeps the process alive. */
  close: () => Promise<void>;
}

type Log = Record<"info" | "warn", (line: string) => void>;

export interface TracesOptions extends Sampling {
  protocol: "http/protobuf" | "http/json";
  log: Log;
}

const NAME = "dex-market-data";
const CLOSE_MS = 1000;

/** Batches on their way to a collector that does not answer. */
const MAX_UNANSWERED = 2;

/** Where they are sent, and how many wait: OpenTelemetry reads that from the environment. */
export function openTraces({ protocol, log, ...sampling }: TracesOptions): Traces {
  diag.setLogger(reportSeldom(log.warn), DiagLogLevel.WARN);
  const limits = { concurrencyLimit: MAX_UNANSWERED };
  const exporter: SpanExporter =
    protocol === "http/json" ? new JsonExporter(limits) : new ProtobufExporter(limits);
  const own = resourceFromAttributes({ "service.name": NAME, "service.version": release() });
  const provider = new BasicTracerProvider({
    // Spans are begun for sampled requests alone.
    sampler: new AlwaysOnSampler(),
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are last, since the last one counts.
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new ReportedExporter(exporter, log))],
  });
  const tracer = provider.getTracer(NAME, release());
  return {
    step: spanOfRequest(tracer, samplingBy(sampling)),
    ofVersion: (version) => withEndpointSpans(version, tracer),
    plugin: makeOperationSpansPlugin(tracer),
    follow: (pool) => followStatements(pool, tracer),
    close: () =>
      Promise.race([
        provider.shutdown().catch(() => undefined),
        sleep(CLOSE_MS, undefined, { ref: false }),
      ]),
  };
}

/** Logs once that the collector gets nothing, and once that it does again. */
class ReportedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: Log;
  #lost = 0;

  constructor(exporter: SpanExporter, log: Log) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      if (result.code !== ExportResultCode.SUCCESS) this.#lose(spans.length, result.error);
      else if (this.#lost > 0) this.#recover();
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #lose(count: number, error: Error | undefined): void {
    if (this.#lost === 0) {
      const reason = error === undefined || error.message === "" ? "no reason" : error.message;
      this.#log.warn(
        `The collector of traces takes no spans: ${reason}. They are lost until it does; requests are answered as before.`,
      );
    }
    this.#lost += count;
  }

  #recover(): void {
    this.#log.info(`The collector of traces takes spans again; ${this.#lost} were lost.`);
    this.#lost = 0;
  }
}

const SELDOM_MS = 60_000;

/** OpenTelemetry's warnings, among them that its queue is full: one a minute. */
function reportSeldom(warn: (line: string) => void): DiagLogger {
  let next = 0;
  const report = (line: string): void => {
    if (Date.now() < next) return;
    next = Date.now() + SELDOM_MS;
    warn(`OpenTelemetry: ${line}`);
  };
  const quiet = (): void => undefined;
  // An error is one of an export, which ReportedExporter has.
  return { error: quiet, warn: report, info: quiet, debug: quiet, verbose: quiet };
}
