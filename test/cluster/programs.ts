// The programs that a cluster takes, where Debian's packages put them.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** PostgreSQL 15 of Debian, or another version's programs. */
export const POSTGRES_BIN = process.env["TEST_POSTGRES_BIN"] ?? "/usr/lib/postgresql/15/bin";

export const HAPROXY =
  ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"].find((path) => existsSync(path)) ?? "";

/** The packages that this machine lacks. */
export const MISSING = [
  ...(existsSync(join(POSTGRES_BIN, "pg_rewind")) ? [] : ["postgresql-15"]),
  ...(HAPROXY === "" ? ["haproxy"] : []),
];

const isOnPath = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));

/** The packages that a cluster with Patroni takes, and that this machine lacks. */
export const MISSING_WITH_PATRONI = [
  ...MISSING,
  ...(isOnPath("patroni") ? [] : ["patroni"]),
  ...(isOnPath("etcd") ? [] : ["etcd-server"]),
];

/** Says loudly, in place of the tests, which packages are missing. */
export const describeUnless = (
  missing: readonly string[],
  what: string,
  tests: () => void,
): void => {
  if (missing.length === 0) describe(what, tests);
  else describe.skip(`${what}: NOT TESTED, apt-get install ${missing.join(" ")}`, tests);
};
