// Which failures of a statement are the database's, and the 503 that a client gets for each.
import { PoolBusy } from "../../db/bounded-pool.ts";
import {
  DataLocked,
  DatabaseNotReady,
  DatabaseUnreachable,
  ServiceBusy,
  TookTooLong,
  type ClientFacingError,
} from "./errors.ts";

/** SQLSTATE of statement_timeout, and of a statement that somebody has cancelled. */
const QUERY_CANCELED = "57014";

/** SQLSTATE of lock_timeout. */
const LOCK_NOT_AVAILABLE = "55P03";

// The schema is not the one of the statement: an unknown table, column, function or schema, a missing
// grant, a statement prepared before a change.
const OTHER_SCHEMA = /^(42P01|42703|42883|42501|3F000|0A000|26000)$/;

// PostgreSQL refuses or ends the connection: class 08, shutting down or starting up, no connection, memory
// or disk left, no such login or database, and a standby that had to cancel what its replay met.
const UNREACHABLE_SQLSTATE = /^(08...|57P0[12345]|53...|28...|3D000|40001)$/;

// Node refuses a server's certificate or its TLS.
const TLS_REFUSAL =
  /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/;

// `syscall` alone is no sign: errors of files have it too.
const NETWORK_SYSCALL = /^(connect$|getaddrinfo)/;
const BROKEN_CONNECTION = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET)/;

const POOL_TIMEOUT = "timeout exceeded when trying to connect";

// Errors of the driver without a code: a connection that could not be made, that broke, or on which no
// answer came within `query_timeout`.
const UNREACHABLE_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client was closed and is not queryable|Client has encountered a connection error and is not queryable|Cannot use a pool after calling end on the pool|The server does not support SSL connections|There was an error establishing an SSL connection)/;

/** The 503 of an error of the database or its pool; undefined for other errors. */
export function databaseFailure(error: unknown): ClientFacingError | undefined {
  if (error instanceof PoolBusy) return new ServiceBusy();
  const { code, message } = textsOf(error);
  if (message === POOL_TIMEOUT) return new ServiceBusy();
  if (code === QUERY_CANCELED) return new TookTooLong();
  if (code === LOCK_NOT_AVAILABLE) return new DataLocked();
  if (isUnreachable(error)) return new DatabaseUnreachable();
  if (OTHER_SCHEMA.test(code)) return new DatabaseNotReady();
  return undefined;
}

/** Whether a statement failed because the database could not be reached, so that a retry makes sense. */
export function isUnreachable(error: unknown): boolean {
  const { code, syscall, message } = textsOf(error);
  if (syscall !== "") return NETWORK_SYSCALL.test(syscall) || BROKEN_CONNECTION.test(code);
  // Node's AggregateError has an error for each address of a host.
  const { errors } = (error ?? {}) as { errors?: unknown };
  if (Array.isArray(errors)) return errors.some(isUnreachable);
  return (
    [UNREACHABLE_SQLSTATE, TLS_REFUSAL].some((codes) => codes.test(code)) ||
    UNREACHABLE_MESSAGE.test(message)
  );
}

/** Empty where the error has no such text. */
function textsOf(error: unknown): Record<"code" | "syscall" | "message", string> {
  const { code, syscall, message } = (error ?? {}) as Record<string, unknown>;
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return { code: text(code), syscall: text(syscall), message: text(message) };
}
