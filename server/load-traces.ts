// Loads what sends traces: only where they are asked for, since its packages are no part of `npm ci`.
import type { Traces, TracesOptions } from "../traces/index.ts";

export async function loadTraces(options: TracesOptions): Promise<Traces> {
  const { openTraces } = await import("../traces/index.ts").catch((cause: unknown) => {
    const isMissing = cause instanceof Error && cause.message.includes("Cannot find package");
    if (!isMissing) throw cause;
    throw new Error(
      "OTEL_EXPORTER_OTLP_ENDPOINT needs the packages of traces/, which `npm ci` leaves out: run " +
        "`npm ci --prefix traces`, or do not give it.",
      { cause },
    );
  });
  return openTraces(options);
}
