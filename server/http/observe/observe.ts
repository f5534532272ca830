// Gives each request its id, and reports it when it is over.
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { performance } from "node:perf_hooks";
import type { Duplex } from "node:stream";
import { beginObservation, type Observation } from "./observation.ts";

/** Gets each request when its answer is out or its client gone. */
export type OnOver = (observation: Observation) => void;

/** Ids of clients: UUIDs, ULIDs and trace ids match. */
const WELL_FORMED = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** nginx's status for a request whose client went away before the answer began. */
const CLIENT_CLOSED_REQUEST = 499;

const SWITCHING_PROTOCOLS = 101;

const current = new AsyncLocalStorage<Observation>();

/** The request that the running code serves, so that an error is logged under its id. */
export const currentRequest = (): Observation | undefined => current.getStore();

export function observe(next: RequestListener, onOver: OnOver): RequestListener {
  return (req, res) => {
    const observation = beginObservation(req, requestId(req), performance.now());
    res.on("close", () => {
      observation.isAborted = !res.writableFinished;
      observation.status = res.headersSent ? res.statusCode : CLIENT_CLOSED_REQUEST;
      observation.ms = performance.now() - observation.startedAt;
      onOver(observation);
    });
    current.run(observation, next, req, res);
  };
}

/** Reports a request that has become a connection of another protocol when that is over. */
export function observeUpgrade(
  req: IncomingMessage,
  socket: Duplex,
  route: string,
  onOver: OnOver,
): void {
  const observation = beginObservation(req, requestId(req), performance.now());
  observation.route = route;
  observation.status = SWITCHING_PROTOCOLS;
  socket.once("close", () => {
    observation.ms = performance.now() - observation.startedAt;
    onOver(observation);
  });
}

function requestId({ headers }: IncomingMessage): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && WELL_FORMED.test(given) ? given : randomUUID();
}
