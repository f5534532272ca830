// Stands before everything else: each request gets its id, and is told of when it is over.
import type { RequestListener } from "node:http";
import { performance } from "node:perf_hooks";
import { addHeaders } from "../front-headers.ts";
import { beginObservation, type Observation } from "./observation.ts";
import { requestId } from "./request-id.ts";

/** Hears of a request once its answer is out, or its client gone. */
export type OnOver = (observation: Observation) => void;

/**
 * A listener for the http server, which hands every request on. Whatever is answered carries
 * `X-Request-Id` and `Server-Timing`.
 */
export function observe(next: RequestListener, tell: OnOver): RequestListener {
  return (req, res) => {
    const observation = beginObservation(req, requestId(req), performance.now());
    addHeaders(res, () => [
      "X-Request-Id",
      observation.id,
      "Server-Timing",
      serverTiming(observation),
    ]);
    res.on("close", () => {
      observation.status = res.statusCode;
      observation.ms = performance.now() - observation.startedAt;
      observation.isAborted = !res.writableFinished;
      tell(observation);
    });
    next(req, res);
  };
}

/** The value of `Server-Timing` as of now, milliseconds to the microsecond. */
function serverTiming({ cache, databaseMs, startedAt }: Observation): string {
  if (cache === "hit") return "cache;desc=hit";
  const total = `total;dur=${(performance.now() - startedAt).toFixed(3)}`;
  const database = databaseMs === undefined ? "" : `, db;dur=${databaseMs.toFixed(3)}`;
  return `${cache === undefined ? "" : `cache;desc=${cache}, `}${total}${database}`;
}
