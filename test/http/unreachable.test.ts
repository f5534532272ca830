// Which faults of a query mean that the database cannot be reached.
import { isUnreachable } from "../../db/failure.ts";

const withCode = (code: string): Error =>
  Object.assign(new Error("said in any language"), { code });

it.each([
  [
    "a refused connection",
    Object.assign(new Error(), { code: "ECONNREFUSED", syscall: "connect" }),
  ],
  ["an unknown host", Object.assign(new Error(), { code: "ENOTFOUND", syscall: "getaddrinfo" })],
  ["a missing socket", Object.assign(new Error(), { code: "ENOENT", syscall: "connect" })],
  ["a broken read", Object.assign(new Error(), { code: "ECONNRESET", syscall: "read" })],
  [
    "a refusal by each address",
    new AggregateError([Object.assign(new Error(), { syscall: "connect" })]),
  ],
  ["an administrator's shutdown", withCode("57P01")],
  ["a crash", withCode("57P02")],
  ["a server that is starting", withCode("57P03")],
  ["a session that ends since its transaction is idle", withCode("25P03")],
  ["a session that ends since its transaction is long", withCode("25P04")],
  ["a broken connection", withCode("08006")],
  ["too many connections", withCode("53300")],
  ["a full disk", withCode("53100")],
  [
    "a session that ends at its start for want of disk",
    Object.assign(withCode("XX000"), { severity: "FATAL" }),
  ],
  ["a database that was dropped", withCode("57P04")],
  ["a database that is not there", withCode("3D000")],
  ["a login that is refused", withCode("28P01")],
  ["a standby's replay", withCode("40001")],
  ["a certificate of nobody's that is known", withCode("SELF_SIGNED_CERT_IN_CHAIN")],
  ["a certificate of another host", withCode("ERR_TLS_CERT_ALTNAME_INVALID")],
  ["a certificate that has expired", withCode("CERT_HAS_EXPIRED")],
  ["a server without TLS", new Error("The server does not support SSL connections")],
  ["a pool without a free connection", new Error("timeout exceeded when trying to connect")],
  ["a connection that ended", new Error("Connection terminated unexpectedly")],
  ["a query without an answer in time", new Error("Query read timeout")],
  ["a connection that took too long", new Error("Connection terminated due to connection timeout")],
])("%s does", (_name, error) => {
  expect(isUnreachable(error)).toBe(true);
});

it.each([
  ["a missing table", withCode("42P01")],
  ["a forbidden table", withCode("42501")],
  ["a cancelled statement", withCode("57014")],
  ["an internal error of a statement", Object.assign(withCode("XX000"), { severity: "ERROR" })],
  ["a missing file", Object.assign(new Error(), { code: "ENOENT", syscall: "open" })],
  ["a folder read as a file", Object.assign(new Error(), { code: "EISDIR", syscall: "read" })],
  ["a defect", new TypeError("x is not a function")],
  ["a text", "Connection terminated"],
  ["nothing", undefined],
])("%s does not", (_name, error) => {
  expect(isUnreachable(error)).toBe(false);
});
