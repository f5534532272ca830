// Gives each request its id, and reports it when it is over.
import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { performance } from "node:perf_hooks";
import { beginObservation, type Observation } from "./observation.ts";

/** Gets each request once its answer is out, or its client gone. */
export type OnOver = (observation: Observation) => void;

/** What an id that a client gives must be: UUIDs, ULIDs and the ids of traces are. */
const WELL_FORMED = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** nginx's status for a request whose client went away before it had any of the answer. */
const CLIENT_CLOSED_REQUEST = 499;

/** A listener that begins the observation of each request and hands it on. */
export function observe(next: RequestListener, onOver: OnOver): RequestListener {
  return (req, res) => {
    const observation = beginObservation(req, requestId(req), performance.now());
    res.on("close", () => {
      observation.isAborted = !res.writableFinished;
      observation.status = res.headersSent ? res.statusCode : CLIENT_CLOSED_REQUEST;
      observation.ms = performance.now() - observation.startedAt;
      observation.endedAt = Date.now();
      onOver(observation);
    });
    next(req, res);
  };
}

/** The id that the client gives, where it is well-formed; else a new one. */
function requestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && WELL_FORMED.test(given) ? given : randomUUID();
}
