// What is known of one request, filled in by whichever part of the service learns it.
import type { IncomingMessage } from "node:http";

export interface Observation {
  /** What the client also gets as X-Request-Id. */
  readonly id: string;
  readonly method: string;
  /** What the answer carries besides its own headers: names and values in turn. */
  readonly headers: string[];
  /** The pattern of the path that was matched, never the path itself; undefined where none was. */
  route: string | undefined;
  /** The name of the GraphQL operation. */
  operation: string | undefined;
  /** `extensions.code` of each error in a GraphQL answer, empty for none; undefined without errors. */
  errors: readonly string[] | undefined;
  /**
   * Where the answer came from: memory, the answer to another request that was being made, or made
   * for this one. Undefined where answers of this kind are not kept, or none are.
   */
  cache: "hit" | "shared" | "miss" | undefined;
  /** The request whose answer this one got, where it is shared: its id stands with what went wrong. */
  answeredAs: string | undefined;
  /** Milliseconds that statements were waited for, those of other requests before them included. */
  databaseMs: number | undefined;
  /** On the clock of performance.now(). */
  readonly startedAt: number;
  /**
   * Once it is over: the status, the milliseconds it took to send the last of it, and when that was, on
   * the clock of Date.now().
   */
  status: number;
  ms: number;
  endedAt: number;
  /** Whether the client went away before it had the answer whole. */
  isAborted: boolean;
}

const OBSERVATION = Symbol("observation");

type Observed = IncomingMessage & { [OBSERVATION]?: Observation };

/** Begins the observation of a request. */
export function beginObservation(req: IncomingMessage, id: string, now: number): Observation {
  const observation: Observation = {
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
    endedAt: 0,
    isAborted: false,
  };
  (req as Observed)[OBSERVATION] = observation;
  return observation;
}

/** The observation of this request; undefined where nobody observes it. */
export const observationOf = (req: IncomingMessage): Observation | undefined =>
  (req as Observed)[OBSERVATION];
