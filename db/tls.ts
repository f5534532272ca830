// TLS settings of the database URL and of PostgreSQL's environment variables.
import { accessSync, constants } from "node:fs";

/** URL parameters, with the environment variables that libpq reads if a parameter is missing. */
const VARIABLES = {
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
} as const;

const FILES = ["sslrootcert", "sslcert", "sslkey"] as const;

/** Modes for which the present release of `pg` verifies certificate and host name. */
const VERIFIED = ["prefer", "require", "verify-ca", "verify-full"];
const UNVERIFIED = ["disable", "no-verify"];

const isLibpqs = (url: URL): boolean => url.searchParams.get("uselibpqcompat") === "true";

/** Adds TLS settings from the environment that the URL lacks. */
export function withTlsOf(env: NodeJS.ProcessEnv, url: string): string {
  const parsed = new URL(url);
  const missing = Object.entries(VARIABLES).flatMap(([parameter, variable]) => {
    const value = env[variable]?.trim() ?? "";
    return value === "" || parsed.searchParams.has(parameter) ? [] : [[parameter, value] as const];
  });
  if (missing.length === 0) return url;
  for (const [parameter, value] of missing) parsed.searchParams.set(parameter, value);
  return parsed.href;
}

/** Describes the first invalid TLS setting of a URL; undefined if all are valid. */
export function tlsProblem(url: string): string | undefined {
  const parsed = new URL(url);
  const mode = parsed.searchParams.get("sslmode");
  if (mode !== null && ![...VERIFIED, ...UNVERIFIED].includes(mode)) {
    return (
      `the sslmode ${JSON.stringify(mode)} (from the URL or PGSSLMODE) must be one of ` +
      `${[...UNVERIFIED, ...VERIFIED].join(", ")}.`
    );
  }
  for (const parameter of FILES) {
    const path = parsed.searchParams.get(parameter);
    if (path === null) continue;
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return `the ${parameter} ${path} (from the URL or ${VARIABLES[parameter]}) cannot be read (${code}).`;
    }
  }
  if (mode === "verify-ca" && isLibpqs(parsed) && !parsed.searchParams.has("sslrootcert")) {
    return "the sslmode verify-ca with uselibpqcompat=true needs a sslrootcert.";
  }
  return undefined;
}

/**
 * Replaces the modes that `pg` treats as `verify-full` by `verify-full`, because `pg` warns that a later
 * release will weaken them. With `uselibpqcompat=true` the modes stay, with libpq's meaning.
 */
export function withPlainTls(url: string): string {
  const parsed = new URL(url);
  const mode = parsed.searchParams.get("sslmode") ?? "";
  if (isLibpqs(parsed) || mode === "verify-full" || !VERIFIED.includes(mode)) return url;
  parsed.searchParams.set("sslmode", "verify-full");
  return parsed.href;
}
