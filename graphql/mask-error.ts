// Masks errors: the client sees its own mistakes in full, and no internals of other errors.
import { GraphQLError } from "graphql";
import { isSafeError, type SafeError } from "postgraphile/grafast";
import { Absent } from "../market/absent.ts";
import { withNoSuchBlock } from "../market/queries/as-of.ts";
import { databaseFailure } from "../http/database-failure.ts";

/** SQLSTATE class 22 is an error in the query's data, as a number out of range; 23514 a value that its domain refuses. */
const isDataException = (code: unknown): boolean =>
  typeof code === "string" && /^(22[0-9A-Z]{3}|23514)$/.test(code);

/** The filter plugin does not mark the errors of its input as safe. */
const FILTER_ERRORS = new Map([
  [
    "Empty objects are forbidden in filter argument input.",
    'An empty object in "filter" says nothing: leave it out, or name a field and an operator.',
  ],
  [
    "Null literals are forbidden in filter argument input.",
    'A null in "filter" says nothing: leave it out, or ask for nulls with { isNull: true }.',
  ],
]);

const isSafe = (error: unknown): error is SafeError => error instanceof Error && isSafeError(error);

/** Whether grafast's time for planning or executing was up. It marks that by a private symbol only. */
export function isTimeout(error: unknown): error is SafeError {
  if (!isSafe(error)) return false;
  const marks = Object.getOwnPropertySymbols(error.extensions ?? {});
  return marks.some(({ description }) => description === "timeout");
}

/** The message for a timeout; undefined for another error. grafast distinguishes its two kinds only by the message. */
function timeoutMessage(error: SafeError): string | undefined {
  if (!isTimeout(error)) return undefined;
  return error.message.includes("plan")
    ? "The query took too long to plan: simplify it, or send it again where the service was busy."
    : "The query took too long: ask for smaller pages, or by what an index serves.";
}

/** graphql quotes what it refuses, which a client can have repeated in each of 50 errors. */
const MAX_MESSAGE = 1000;

/** Says how much is left out of a message that is too long. */
const shortened = (message: string): string =>
  message.length <= MAX_MESSAGE
    ? message
    : `${message.slice(0, MAX_MESSAGE).toWellFormed()}… (${message.length - MAX_MESSAGE} more characters)`;

type LogError = (error: unknown) => void;

/** Makes grafserv's maskError. It logs a masked error once, even if several fields have it. */
export function makeMaskError(log: LogError): (error: GraphQLError) => GraphQLError {
  const logged = new WeakSet<Error>();
  return (error) => {
    const { originalError } = error;
    if (originalError == null || originalError instanceof GraphQLError) {
      return error.message.length <= MAX_MESSAGE
        ? error
        : withMessage(error, error.message, { ...error.extensions });
    }
    const safe = [originalError, originalError.cause].find(isSafe);
    if (safe !== undefined) {
      const timeout = timeoutMessage(safe);
      return timeout === undefined
        ? withMessage(error, safe.message, { code: "BAD_USER_INPUT", ...safe.extensions })
        : withMessage(error, timeout, { code: "TIMEOUT" });
    }
    const filterError = FILTER_ERRORS.get(originalError.message);
    if (filterError !== undefined)
      return withMessage(error, filterError, { code: "BAD_USER_INPUT" });
    if (isDataException((originalError as { code?: unknown }).code)) {
      return withMessage(error, originalError.message, { code: "BAD_USER_INPUT" });
    }
    const absent = withNoSuchBlock(originalError);
    if (absent instanceof Absent) {
      return withMessage(error, absent.message, { code: "NO_SUCH_BLOCK" });
    }
    if (!logged.has(originalError)) log(originalError);
    logged.add(originalError);
    const unavailable = databaseFailure(originalError);
    return unavailable !== undefined
      ? withMessage(error, unavailable.message, unavailable.extensions)
      : withMessage(error, "The service has failed to answer this.", {
          code: "INTERNAL_SERVER_ERROR",
        });
  };
}

function withMessage(
  error: GraphQLError,
  message: string,
  extensions: Record<string, unknown>,
): GraphQLError {
  return new GraphQLError(shortened(message), {
    nodes: error.nodes ?? null,
    source: error.source,
    positions: error.positions,
    path: error.path,
    extensions,
  });
}
