// Answers in GraphQL's form what fails before GraphQL has the request, or around it.
import type { ErrorRequestHandler } from "express";
import { databaseFailure } from "../http/database-failure.ts";
import { ClientFacingError, InternalError, UnknownPath } from "../http/errors.ts";
import { graphqlCode } from "../http/error-codes.ts";
import { observationOf } from "../http/observe/observation.ts";

/** An Express error handler for /graphql: `errors`, with a code, and the error's status. */
export function answerGraphqlFailures(log: (error: unknown) => void): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    const told =
      error instanceof ClientFacingError ? error : (databaseFailure(error) ?? new InternalError());
    // A path below, or another method: that is not GraphQL's to say.
    if (told instanceof UnknownPath) {
      next(told);
      return;
    }
    if (told !== error) log(error);
    if (res.headersSent) {
      next(told);
      return;
    }
    const code = graphqlCode(told);
    const observation = observationOf(req);
    if (observation !== undefined) observation.errors = [code ?? ""];
    res
      .status(told.status)
      .set(told.headers)
      .set("Cache-Control", "no-store")
      .json({ errors: [{ message: told.message, ...(code && { extensions: { code } }) }] });
  };
}
