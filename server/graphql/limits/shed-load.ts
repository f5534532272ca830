// Refuses GraphQL requests that would be one too many, before their body is read. The log counts these
// refusals: a line for each would be most of it.
import type { IncomingMessage, RequestListener } from "node:http";
import type { Refuse } from "../../http/refusal.ts";
import { observationOf, type Observation } from "../../http/observe/observation.ts";
import type { OnOver } from "../../http/observe/observe.ts";
import type { OperationsInFlight } from "./operations-in-flight.ts";

const GRAPHQL = /^\/graphql(?:\?|$)/;

/**
 * A refused client that sends its next request at once, as an attacker does, would take the event loop from
 * the operations in flight. So a refusal waits for 50 ms, and at most 2,000 leave in a second, which take
 * about a fifth of the processor: 2,000 such connections wait for a second each.
 */
const REFUSE_AFTER_MS = 50;
const BATCH_EVERY_MS = 10;
const BATCH_SIZE = 20;

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
  const waiting: { due: number; send: () => void }[] = [];
  const sendBatch = (): void => {
    const now = performance.now();
    const due = waiting.slice(0, BATCH_SIZE).filter((refusal) => refusal.due <= now);
    for (const { send } of waiting.splice(0, due.length)) send();
    if (waiting.length > 0) setTimeout(sendBatch, BATCH_EVERY_MS).unref();
  };
  return (req, res) => {
    const isOperation = req.method === "POST" && GRAPHQL.test(req.url ?? "");
    const refusal = isOperation ? operations.refusal(clientOf(req)) : undefined;
    if (refusal === undefined) {
      next(req, res);
      return;
    }
    const observation = observationOf(req);
    if (observation !== undefined) shed.add(observation);
    if (waiting.length === 0) setTimeout(sendBatch, REFUSE_AFTER_MS).unref();
    const send = (): void => {
      if (!res.destroyed) refuse(req, res, refusal);
    };
    waiting.push({ due: performance.now() + REFUSE_AFTER_MS, send });
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
