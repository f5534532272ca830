// The one renderer of errors: status, headers and body of every request that fails.
import type { ErrorRequestHandler } from "express";
import type { IncomingMessage, ServerResponse } from "node:http";
import { databaseFailure } from "./database-failure.ts";
import { v1Envelope, v2Envelope } from "./envelope.ts";
import { ClientFacingError, InternalError, UnknownPath } from "./errors.ts";
import type { LastHead } from "./last-head.ts";
import { observationOf } from "./observe/observation.ts";
import { STANDING_HEADERS } from "./standing-headers.ts";

export type Refuse = (req: IncomingMessage, res: ServerResponse, error: ClientFacingError) => void;

const HEADERS = [
  ...STANDING_HEADERS,
  ...["Content-Type", "application/json; charset=utf-8", "Cache-Control", "no-store"],
];

const GRAPHQL = /^\/graphql(?![^/?])/;
const V1 = /^\/v1(?![^/?])/;

/** Makes what answers with an error, in the form of the interface that is asked. */
export const refuseAsOf =
  (head: LastHead): Refuse =>
  (req, res, error) => {
    const { status, message, headers } = error;
    const url = urlOf(req);
    const isGraphql = GRAPHQL.test(url) && !(error instanceof UnknownPath);
    const observation = observationOf(req);
    // A request that is refused in front of Express has no other route yet.
    if (isGraphql && observation !== undefined) {
      observation.route = "/graphql";
      observation.errors = [error.code];
    }
    const text = JSON.stringify(
      isGraphql
        ? { errors: [{ message, extensions: error.extensions }] }
        : (V1.test(url) ? v1Envelope : v2Envelope).failure(message, head.time()),
    );
    const own = [...Object.entries(headers).flat(), "Content-Length", Buffer.byteLength(text)];
    res.writeHead(status, [...HEADERS, ...own]).end(text);
  };

/** Express takes from `url` the path that a router is mounted at. */
const urlOf = ({ originalUrl, url = "" }: IncomingMessage & { originalUrl?: string }): string =>
  originalUrl ?? url;

/** What a client is told of an error; a fault that is not its own it learns nothing of. */
export const clientFacing = (error: unknown): ClientFacingError =>
  error instanceof ClientFacingError ? error : (databaseFailure(error) ?? new InternalError());

/** An Express error handler. What the client is not shown goes to the log whole. */
export const answerFailures =
  (refuse: Refuse, log: (error: unknown) => void): ErrorRequestHandler =>
  (error: unknown, req, res, next) => {
    const told = clientFacing(error);
    if (told !== error) log(error);
    // Too late to say anything: Express closes the connection.
    if (res.headersSent) next(told);
    else refuse(req, res, told);
  };
