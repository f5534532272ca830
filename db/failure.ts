// Which failures of a statement are the database's, and of which kind.
import { POOL_TIMEOUT, PoolBusy } from "./fair-queue.ts";
import { ReplacedPrimary } from "./fence.ts";

/** SQLSTATE of statement_timeout, and of a statement that somebody has cancelled. */
const QUERY_CANCELED = "57014";

/** SQLSTATE of lock_timeout. */
const LOCK_NOT_AVAILABLE = "55P03";

/** SQLSTATE of dex_private.refuse_outdated. */
const FIGURES_OUTDATED = "DX001";

// The schema is not the one of the statement: an unknown table, column, function or schema, a missing
// grant, a statement prepared before a change.
const OTHER_SCHEMA = /^(42P01|42703|42883|42501|3F000|0A000|26000)$/;

// PostgreSQL refuses or ends the connection: class 08, shutting down or starting up, no connection, memory
// or disk left, no such login or database, a transaction that was idle or open for too long, and a standby that
// had to cancel what its replay met.
const UNREACHABLE_SQLSTATE = /^(08...|25P0[34]|57P0[12345]|53...|28...|3D000|40001)$/;

// Of any language: an error that ends the session, at its start too, where a file cannot be read or written.
const ENDS_SESSION = /^(58...|XX...)$/;

// Node refuses a server's certificate or its TLS.
const TLS_REFUSAL =
  /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/;

// `syscall` alone is no sign: errors of files have it too.
const NETWORK_SYSCALL = /^(connect$|getaddrinfo)/;
const BROKEN_CONNECTION = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET)/;

// Errors of the driver without a code: a connection that could not be made, that broke, or on which no
// answer came within `query_timeout`.
const UNREACHABLE_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client was closed and is not queryable|Client has encountered a connection error and is not queryable|Cannot use a pool after calling end on the pool|The server does not support SSL connections|There was an error establishing an SSL connection)/;

/** `schema`: the database lacks what the statement names, or its login may not read it. */
export type Failure =
  "busy" | "locked" | "outdated" | "replaced" | "schema" | "timeout" | "unreachable";

/** The kind of an error of the database or its pool; undefined for other errors. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof PoolBusy) return "busy";
  if (error instanceof ReplacedPrimary) return "replaced";
  const { code, message } = textsOf(error);
  if (message === POOL_TIMEOUT) return "busy";
  if (code === QUERY_CANCELED) return "timeout";
  if (code === LOCK_NOT_AVAILABLE) return "locked";
  if (code === FIGURES_OUTDATED) return "outdated";
  if (isUnreachable(error)) return "unreachable";
  return OTHER_SCHEMA.test(code) ? "schema" : undefined;
}

/** Whether a statement failed because the database could not be reached, so that a retry makes sense. */
export function isUnreachable(error: unknown): boolean {
  const { code, syscall, message, severity } = textsOf(error);
  if (syscall !== "") return NETWORK_SYSCALL.test(syscall) || BROKEN_CONNECTION.test(code);
  // Node's AggregateError has an error for each address of a host.
  const { errors } = (error ?? {}) as { errors?: unknown };
  if (Array.isArray(errors)) return errors.some(isUnreachable);
  if (severity === "FATAL" && ENDS_SESSION.test(code)) return true;
  return (
    [UNREACHABLE_SQLSTATE, TLS_REFUSAL].some((codes) => codes.test(code)) ||
    UNREACHABLE_MESSAGE.test(message)
  );
}

/** Empty where the error has no such text. */
function textsOf(error: unknown): Record<"code" | "syscall" | "message" | "severity", string> {
  const { code, syscall, message, severity } = (error ?? {}) as Record<string, unknown>;
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return {
    code: text(code),
    syscall: text(syscall),
    message: text(message),
    severity: text(severity),
  };
}
