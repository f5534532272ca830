// graphile-migrate's settings: .gmrc with the connections of a database, its logger, and why its shadow cannot be made.
import { fileURLToPath } from "node:url";
import { Logger } from "@graphile/logger";
import type { Settings } from "graphile-migrate";
import { getSettings } from "graphile-migrate/dist/commands/_common.js";
import { MIGRATIONS_FOLDER } from "./committed.ts";
import { urlForRole } from "./connect.ts";
import { shadowUrls } from "./locate.ts";
import { shownUrl } from "./postgres-url.ts";

const GMRC = fileURLToPath(new URL("../.gmrc", import.meta.url));

export async function migrateSettings(
  url: string,
  env: NodeJS.ProcessEnv,
  print: (line: string) => void,
): Promise<Settings> {
  const { shadow, root } = shadowUrls(url, env);
  return {
    ...(await getSettings({ configFile: GMRC })),
    migrationsFolder: MIGRATIONS_FOLDER,
    connectionString: urlForRole(url, "dex_owner"),
    shadowConnectionString: urlForRole(shadow, "dex_owner"),
    // Drops and creates the shadow, so it connects to another database.
    rootConnectionString: root,
    logger: logTo(print),
  };
}

/** Prints each line once, even if the work is retried. Errors are not printed, because graphile-migrate throws them too. */
export function logTo(print: (line: string) => void): Logger {
  const printed = new Set<string>();
  return new Logger(() => (level: string, message) => {
    // After a lost connection graphile-migrate logs this error and ends the process.
    if (level === "error" && message.includes("PgPool")) console.error(message);
    if (level === "error" || level === "debug" || printed.has(message)) return;
    printed.add(message);
    print(message);
  });
}

/** SQLSTATE of a standby, and of a session that only reads. */
const READ_ONLY = "25006";

/** If the error is a missing right to create databases, or a standby, adds instructions; returns other errors unchanged. */
export function shadowRefused(error: unknown, root: string): unknown {
  const { message, code } = error as { message: string; code?: string };
  if (code === READ_ONLY) {
    return new Error(
      `${message}. The shadow database is created with ${shownUrl(root)}, which is a standby. Set SHADOW_DATABASE_URL and ` +
        "ROOT_DATABASE_URL to a server that can be written to.",
      { cause: error },
    );
  }
  if (code !== "42501" && !message.includes("permission denied to create database")) return error;
  return new Error(
    `${message}. The shadow database is created with ${shownUrl(root)}. Set SHADOW_DATABASE_URL and ` +
      "ROOT_DATABASE_URL to a login that may create databases, or run: " +
      `alter role ${decodeURIComponent(new URL(root).username)} createdb;`,
    { cause: error },
  );
}
