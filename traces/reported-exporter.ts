// Logs once that the collector gets nothing, and once that it does again.
import type { DiagLogger } from "@opentelemetry/api";
import { ExportResultCode, type ExportResult } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base";

type Log = Record<"info" | "warn", (line: string) => void>;

export class ReportedExporter implements SpanExporter {
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
export function reportSeldom(warn: (line: string) => void): DiagLogger {
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
