// Whether a query failed because the database cannot be reached.

// Connections refused, lost or turned away, by PostgreSQL itself: class 08, shutting down or
// starting up, no connection, memory or disk left, no such login or database, and a standby that
// had to cancel what stood in the way of its replay.
const UNREACHABLE_SQLSTATE = /^(08...|57P0[12345]|53...|28...|3D000|40001)$/;

// Node's refusals of a server's certificate, or of its TLS.
const TLS_REFUSAL =
  /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/;

// Node names the same calls for files.
const BROKEN_CONNECTION = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET)/;

/** Whether the operating system has refused to connect, to look up the host, or to go on. */
const ofNetwork = (syscall: string, code: unknown): boolean =>
  syscall === "connect" ||
  syscall.startsWith("getaddrinfo") ||
  (typeof code === "string" && BROKEN_CONNECTION.test(code));

// What the driver says of a connection that it could not make, that broke, or on which no answer came
// within the bound of a query, without any code.
const UNREACHABLE_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client was closed and is not queryable|Client has encountered a connection error and is not queryable|Cannot use a pool after calling end on the pool|The server does not support SSL connections|There was an error establishing an SSL connection)/;

/** Whether a query failed because the database could not be reached, so that it may be tried again. */
export function isUnreachable(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, syscall, message, errors } = error as Record<string, unknown>;
  if (typeof syscall === "string") return ofNetwork(syscall, code);
  // Where a host has several addresses, Node gives one refusal for each.
  if (Array.isArray(errors)) return errors.some(isUnreachable);
  if (typeof code === "string" && (UNREACHABLE_SQLSTATE.test(code) || TLS_REFUSAL.test(code))) {
    return true;
  }
  return typeof message === "string" && UNREACHABLE_MESSAGE.test(message);
}
