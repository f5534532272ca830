// The one renderer of errors: status, headers and body of every request that fails.
import type { ErrorRequestHandler } from "express";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Absent } from "../market/absent.ts";
import { databaseFailure } from "./database-failure.ts";
import { udfEnvelope, v1Envelope, v2Envelope, type Envelope } from "./envelope.ts";
import { AbsentData, ClientFacingError, InternalError, UnknownPath } from "./errors.ts";
import type { LastHead } from "./known-database.ts";
import { GRAPHQL_PATH, stateOf } from "./request.ts";
import { FIXED_HEADERS } from "./fixed-headers.ts";

export type Refuse = (req: IncomingMessage, res: ServerResponse, error: ClientFacingError) => void;

const HEADERS = [
  ...FIXED_HEADERS,
  ...["Content-Type", "application/json; charset=utf-8", "Cache-Control", "no-store"],
];

/** By the first segment of the path; for others it is that of v2. */
const ENVELOPES = new Map<string, Envelope>([
  ["v1", v1Envelope],
  ["udf", udfEnvelope],
]);

/** Answers in the form of the interface that is asked. `routeOf` finds the pattern of a path. */
export const refuseAsOf =
  (head: LastHead, routeOf: (url?: string) => string | undefined = () => undefined): Refuse =>
  (req, res, error) => {
    const { status, message, headers } = error;
    const state = stateOf(req);
    const isGraphql = state.isOfGraphql && !(error instanceof UnknownPath);
    if (isGraphql) state.errors = [error.code];
    // In front of Express a request has no route yet.
    state.route = isGraphql ? GRAPHQL_PATH : (state.route ?? routeOf(req.url));
    const text = JSON.stringify(
      isGraphql
        ? { errors: [{ message, extensions: error.extensions }] }
        : (ENVELOPES.get(state.segment) ?? v2Envelope).failure(message, head.time()),
    );
    const own = [...Object.entries(headers).flat(), "Content-Length", Buffer.byteLength(text)];
    res.writeHead(status, [...HEADERS, ...own]).end(text);
  };

/** The error that the client gets: a fault of the service shows nothing of its cause. */
export function clientFacing(error: unknown): ClientFacingError {
  if (error instanceof ClientFacingError) return error;
  if (error instanceof Absent) return new AbsentData(error);
  return databaseFailure(error) ?? new InternalError();
}

/** Whether the log gets it: it is not the client's own error. */
export const isFault = (error: unknown): boolean =>
  !(error instanceof ClientFacingError) && !(error instanceof Absent);

/** Answers what fails in front of Express. */
export const failInFront =
  (refuse: Refuse, log: (error: unknown) => void) =>
  (error: unknown, req: IncomingMessage, res: ServerResponse): void => {
    if (isFault(error)) log(error);
    if (res.headersSent) res.destroy();
    else refuse(req, res, clientFacing(error));
  };

/** An Express error handler. The log gets what the client does not. */
export const answerFailures =
  (refuse: Refuse, log: (error: unknown) => void): ErrorRequestHandler =>
  (error: unknown, req, res, next) => {
    const shown = clientFacing(error);
    if (isFault(error)) log(error);
    // Express closes the connection of an answer that has begun.
    if (res.headersSent) next(shown);
    else refuse(req, res, shown);
  };
