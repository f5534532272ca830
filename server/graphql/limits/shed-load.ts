// Refuses GraphQL requests that would be one too many, before their body is read. The log counts these
// refusals: a line for each would be most of it.
import type { IncomingMessage, RequestListener } from "node:http";
import type { Refuse } from "../../http/refusal.ts";
import { observationOf, type Observation } from "../../http/observe/observation.ts";
import type { OnOver } from "../../http/observe/observe.ts";
import type { OperationsInFlight } from "./operations-in-flight.ts";

const GRAPHQL = /^\/graphql(?:\?|$)/;

/**
 * For how long a refusal waits, in milliseconds. A client that asks again at once would else take the
 * processor from the operations in flight.
 */
const REFUSE_AFTER_MS = 50;

/** How often the log counts the refusals, in milliseconds. */
const COUNT_MS = 10_000;

export interface LoadShedding {
  operations: OperationsInFlight;
  clientOf: (req: IncomingMessage) => string;
  refuse: Refuse;
}

const shed = new WeakSet<Observation>();

/** A listener that hands on what may begin. */
export function shedLoad(
  next: RequestListener,
  { operations, clientOf, refuse }: LoadShedding,
): RequestListener {
  return (req, res) => {
    const isOperation = req.method === "POST" && GRAPHQL.test(req.url ?? "");
    const refusal = isOperation ? operations.refusal(clientOf(req)) : undefined;
    if (refusal === undefined) {
      next(req, res);
      return;
    }
    const observation = observationOf(req);
    if (observation !== undefined) shed.add(observation);
    setTimeout(() => {
      if (!res.destroyed) refuse(req, res, refusal);
    }, REFUSE_AFTER_MS).unref();
  };
}

/** Hands on the requests that are over, but counts those that were refused here, for `tell`. */
export function countRefusals(onOver: OnOver, tell: (line: string) => void): OnOver {
  const counts = new Map<string, number>();
  const tellCounts = (): void => {
    const codes = [...counts].map(([code, count]) => `${count} by ${code}`).join(", ");
    counts.clear();
    tell(`GraphQL requests refused in ${COUNT_MS / 1000} s before they were read: ${codes}.`);
  };
  return (observation) => {
    if (!shed.has(observation)) {
      onOver(observation);
      return;
    }
    if (counts.size === 0) setTimeout(tellCounts, COUNT_MS).unref();
    const [code = ""] = observation.errors ?? [];
    counts.set(code, (counts.get(code) ?? 0) + 1);
  };
}
