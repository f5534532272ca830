// TLS to the database: what a URL and PostgreSQL's own variables ask for, with one meaning for all.
import { accessSync, constants } from "node:fs";

/** A parameter of the URL, and the variable that PostgreSQL's own programs read where it is missing. */
const VARIABLES = {
  sslmode: "PGSSLMODE",
  sslrootcert: "PGSSLROOTCERT",
  sslcert: "PGSSLCERT",
  sslkey: "PGSSLKEY",
} as const;

const FILES = ["sslrootcert", "sslcert", "sslkey"] as const;

/** `pg` checks certificate and name for each of these, now; a later release will not. */
const VERIFIED = ["prefer", "require", "verify-ca", "verify-full"];
const UNVERIFIED = ["disable", "no-verify"];

const isLibpqs = (url: URL): boolean => url.searchParams.get("uselibpqcompat") === "true";

/** The URL with the TLS settings of the environment that it does not have itself. */
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

/** What is wrong with the TLS settings of a URL, in a sentence; undefined where nothing is. */
export function tlsProblem(url: string): string | undefined {
  const parsed = new URL(url);
  const mode = parsed.searchParams.get("sslmode");
  if (mode !== null && ![...VERIFIED, ...UNVERIFIED].includes(mode)) {
    return (
      `the sslmode ${JSON.stringify(mode)}, of the URL or of PGSSLMODE, is none of ` +
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
      return `the ${parameter} ${path}, of the URL or of ${VARIABLES[parameter]}, cannot be read (${code}).`;
    }
  }
  if (mode === "verify-ca" && isLibpqs(parsed) && !parsed.searchParams.has("sslrootcert")) {
    return "the sslmode verify-ca with uselibpqcompat=true needs a sslrootcert.";
  }
  return undefined;
}

/**
 * The same URL with `verify-full` written out for the modes that `pg` takes as that: it warns of each
 * of them, since a later release will take them for less. With `uselibpqcompat=true` they are left, and
 * mean what they mean to PostgreSQL's own programs.
 */
export function withPlainTls(url: string): string {
  const parsed = new URL(url);
  const mode = parsed.searchParams.get("sslmode") ?? "";
  if (isLibpqs(parsed) || mode === "verify-full" || !VERIFIED.includes(mode)) return url;
  parsed.searchParams.set("sslmode", "verify-full");
  return parsed.href;
}
