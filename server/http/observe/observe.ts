// Stands before everything else: each request gets its id, and is told of when it is over.
import type { RequestListener } from "node:http";
import { performance } from "node:perf_hooks";
import { beginObservation, observationOf, type Observation } from "./observation.ts";
import { requestId } from "./request-id.ts";

/** Hears of a request once its answer is out, or its client gone. */
export type OnOver = (observation: Observation) => void;

/**
 * A listener for the http server, which hands every request on, and begins what is known of it.
 */
export function observe(next: RequestListener, tell: OnOver): RequestListener {
  return (req, res) => {
    // Where the server gives up on a request, it is the same one, with an answer in place of that
    // which was being made: whichever closes first was the client's.
    const observation =
      observationOf(req) ?? beginObservation(req, requestId(req), performance.now());
    res.on("close", () => {
      if (observation.status !== 0) return;
      observation.status = res.statusCode;
      observation.ms = performance.now() - observation.startedAt;
      observation.endedAt = Date.now();
      observation.isAborted = !res.writableFinished;
      tell(observation);
    });
    next(req, res);
  };
}
