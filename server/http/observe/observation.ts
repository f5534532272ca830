// What is known of one request, filled in by the part of the service that learns it.
import type { RequestHandler } from "express";
import type { IncomingMessage } from "node:http";

export interface Observation {
  /** The client gets it as X-Request-Id. */
  readonly id: string;
  readonly method: string;
  /** Headers of the answer besides its own: alternating names and values. */
  readonly headers: string[];
  /** The pattern of the matched path, never the path itself. */
  route: string | undefined;
  /** The name of the GraphQL operation. */
  operation: string | undefined;
  /** `extensions.code` of each error in a GraphQL answer, empty for none; undefined without errors. */
  errors: readonly string[] | undefined;
  /** A cache hit, the answer to an equal request in flight, or made; undefined where none is cached. */
  cache: "hit" | "shared" | "miss" | undefined;
  /** The id of the request in flight whose answer this one shares: the log has errors under that id. */
  answeredAs: string | undefined;
  /** Milliseconds until the database had answered, the wait for a connection included. */
  databaseMs: number | undefined;
  /** On the clock of performance.now(). */
  readonly startedAt: number;
  /** Once it is over. */
  status: number;
  /** Milliseconds from its start until it was over. */
  ms: number;
  /** Whether the client went away before it had the whole answer. */
  isAborted: boolean;
}

const OBSERVATION = Symbol("observation");

type Observed = IncomingMessage & { [OBSERVATION]?: Observation };

export function beginObservation(req: IncomingMessage, id: string, now: number): Observation {
  return ((req as Observed)[OBSERVATION] = {
    id,
    method: req.method ?? "",
    headers: ["X-Request-Id", id],
    route: undefined,
    operation: undefined,
    errors: undefined,
    cache: undefined,
    answeredAs: undefined,
    databaseMs: undefined,
    startedAt: now,
    status: 0,
    ms: 0,
    isAborted: false,
  });
}

/** Undefined for a request that nobody observes. */
export const observationOf = (req: IncomingMessage): Observation | undefined =>
  (req as Observed)[OBSERVATION];

/** An Express middleware that notes the route: the pattern below its router. */
export const noteRoute =
  (pattern: string): RequestHandler =>
  (req, _res, next) => {
    const observation = observationOf(req);
    if (observation !== undefined) observation.route = req.baseUrl + pattern;
    next();
  };
