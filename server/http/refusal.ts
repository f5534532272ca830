// The one renderer of errors: status, headers and body of every request that fails.
import type { ErrorRequestHandler } from "express";
import type { IncomingMessage, ServerResponse } from "node:http";
import { databaseFailure } from "./database-failure.ts";
import { udfEnvelope, v1Envelope, v2Envelope, type Envelope } from "./envelope.ts";
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
const UDF = /^\/udf(?![^/?])/;

function envelopeAt(url: string): Envelope {
  if (V1.test(url)) return v1Envelope;
  return UDF.test(url) ? udfEnvelope : v2Envelope;
}

/** Answers in the form of the interface that is asked. */
export const refuseAsOf =
  (head: LastHead): Refuse =>
  (req, res, error) => {
    const { status, message, headers } = error;
    const url = urlOf(req);
    const isGraphql = GRAPHQL.test(url) && !(error instanceof UnknownPath);
    const observation = observationOf(req);
    // In front of Express a request has no route yet.
    if (isGraphql && observation !== undefined) {
      observation.route = "/graphql";
      observation.errors = [error.code];
    }
    const text = JSON.stringify(
      isGraphql
        ? { errors: [{ message, extensions: error.extensions }] }
        : envelopeAt(url).failure(message, head.time()),
    );
    const own = [...Object.entries(headers).flat(), "Content-Length", Buffer.byteLength(text)];
    res.writeHead(status, [...HEADERS, ...own]).end(text);
  };

/** Express removes from `url` the path of a router. */
const urlOf = ({ originalUrl, url = "" }: IncomingMessage & { originalUrl?: string }): string =>
  originalUrl ?? url;

/** The error that the client gets: a fault of the service shows nothing of its cause. */
export const clientFacing = (error: unknown): ClientFacingError =>
  error instanceof ClientFacingError ? error : (databaseFailure(error) ?? new InternalError());

/** An Express error handler. The log gets what the client does not. */
export const answerFailures =
  (refuse: Refuse, log: (error: unknown) => void): ErrorRequestHandler =>
  (error: unknown, req, res, next) => {
    const told = clientFacing(error);
    if (told !== error) log(error);
    // Express closes the connection of an answer that has begun.
    if (res.headersSent) next(told);
    else refuse(req, res, told);
  };
