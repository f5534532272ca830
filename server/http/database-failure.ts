// What a client is told of a statement that failed through no fault of its own.
import { PoolBusy } from "../../db/bounded-pool.ts";
import {
  DataLocked,
  DatabaseNotReady,
  DatabaseUnreachable,
  ServiceBusy,
  TookTooLong,
  type ClientFacingError,
} from "./errors.ts";
import { isUnreachable } from "./unreachable.ts";

// What PostgreSQL says where the schema is not the one that the statement was written for: no such
// table, column, function or schema, no right to it, and a statement prepared before a change.
const OTHER_SCHEMA = /^(42P01|42703|42883|42501|3F000|0A000|26000)$/;

/** What PostgreSQL says after statement_timeout, or when somebody has cancelled the statement. */
const QUERY_CANCELED = "57014";

/** What PostgreSQL says after lock_timeout. */
const LOCK_NOT_AVAILABLE = "55P03";

/** What the pool says when no connection became free in time. */
const WAITED_TOO_LONG = "timeout exceeded when trying to connect";

/** The 503 that this error of the database or of its pool is answered with; undefined for others. */
export function databaseFailure(error: unknown): ClientFacingError | undefined {
  if (error instanceof PoolBusy) return new ServiceBusy();
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (message === WAITED_TOO_LONG) return new ServiceBusy();
  if (code === QUERY_CANCELED) return new TookTooLong();
  if (code === LOCK_NOT_AVAILABLE) return new DataLocked();
  if (isUnreachable(error)) return new DatabaseUnreachable();
  if (typeof code === "string" && OTHER_SCHEMA.test(code)) return new DatabaseNotReady();
  return undefined;
}
