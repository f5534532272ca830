// Turns whatever was thrown into a status and an envelope.
import type { ErrorRequestHandler } from "express";
import { databaseFailure } from "../server/http/database-failure.ts";
import { ClientFacingError, InternalError } from "../server/http/errors.ts";
import { sendRefusal } from "../server/http/send-refusal.ts";
import type { Envelope } from "../server/http/envelope.ts";
import type { LastHead } from "../server/http/last-head.ts";

/**
 * Answers failures in the envelope of one version. What the client is not to know goes to the log
 * whole. No failure is cached: the next request may well succeed.
 */
export function answerFailures(
  envelope: Envelope,
  head: LastHead,
  log: (error: unknown) => void,
): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    const told = clientFacing(error);
    if (told !== error) log(error);
    if (res.headersSent) {
      // Too late to say anything: Express breaks the connection off.
      next(told);
      return;
    }
    sendRefusal(res, told, envelope.failure(told.message, head.time()));
  };
}

function clientFacing(error: unknown): ClientFacingError {
  if (error instanceof ClientFacingError) return error;
  return databaseFailure(error) ?? new InternalError();
}
