// The programs that a cluster takes, where Debian's packages put them.
import { existsSync } from "node:fs";
import { join } from "node:path";

/** PostgreSQL 15 of Debian, or another version's programs. */
export const POSTGRES_BIN = process.env["TEST_POSTGRES_BIN"] ?? "/usr/lib/postgresql/15/bin";

export const HAPROXY =
  ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"].find((path) => existsSync(path)) ?? "";

/** The packages that this machine lacks. */
export const MISSING = [
  ...(existsSync(join(POSTGRES_BIN, "pg_rewind")) ? [] : ["postgresql-15"]),
  ...(HAPROXY === "" ? ["haproxy"] : []),
];
