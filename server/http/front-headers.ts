// The headers that every answer carries besides its own: the request's id, its limit, its time.
import {
  ServerResponse,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type RequestListener,
} from "node:http";
import { performance } from "node:perf_hooks";
import type { Service } from "./cache/captured-response.ts";
import { observationOf, type Observation } from "./observe/observation.ts";

const HIT = ["Server-Timing", "cache;desc=hit"];

/**
 * These headers and, where the request is observed, those of the front as of now: names and values in
 * turn, for who gives `writeHead` a list. To set one header before would have Node put the answer
 * together anew, which takes three times as long as to send it.
 */
export function andFrontHeaders(
  headers: readonly OutgoingHttpHeader[],
  req: IncomingMessage,
): OutgoingHttpHeader[] {
  const observation = observationOf(req);
  if (observation === undefined) return [...headers];
  const timing = observation.cache === "hit" ? HIT : ["Server-Timing", serverTiming(observation)];
  return headers.concat(observation.headers, timing);
}

/** The value of `Server-Timing` as of now, milliseconds to the microsecond. */
function serverTiming({ cache, databaseMs, startedAt }: Observation): string {
  const total = `total;dur=${(performance.now() - startedAt).toFixed(3)}`;
  const database = databaseMs === undefined ? "" : `, db;dur=${databaseMs.toFixed(3)}`;
  return `${cache === undefined ? "" : `cache;desc=${cache}, `}${total}${database}`;
}

/** The service, whose answers carry them though it knows nothing of them. */
export function withFrontHeaders(service: Service): RequestListener {
  return (req, res) => {
    // An own property: Express replaces the prototype.
    res.writeHead = writeHeadWithThem;
    service(req, res);
  };
}

type WriteHead = (this: ServerResponse, ...args: unknown[]) => ServerResponse;

/** One for all answers: to make one for each takes a part of its time. */
function writeHeadWithThem(this: ServerResponse, ...args: unknown[]): ServerResponse {
  const given = args.at(-1);
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with this below
  const writeHead = ServerResponse.prototype.writeHead as WriteHead;
  if (Array.isArray(given)) {
    return writeHead.call(this, ...args.slice(0, -1), andFrontHeaders(given, this.req));
  }
  const added = andFrontHeaders([], this.req);
  for (let n = 0; n < added.length; n += 2) {
    this.setHeader(String(added[n]), String(added[n + 1]));
  }
  return writeHead.apply(this, args);
}
