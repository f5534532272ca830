// Finds the database for a command.
import { connect, urlForDatabase } from "./connect.ts";
import { connectionUrl, dataDirOf, readConnection } from "./embedded/connection-file.ts";
import { isPostgresUrl, POSTGRES_URL_ACCEPTED } from "./postgres-url.ts";
import { tlsProblem, withTlsOf } from "./tls.ts";

/**
 * The URL for migrating and writing: DATABASE_OWNER_URL, or DATABASE_URL, or the running embedded
 * database in DATA_DIR, whose login is a superuser. A command sets its role with `connect(url, { role })`.
 * Throws a message with instructions if the embedded database does not run; a configured URL is not tried.
 */
export async function ownerUrl(env: NodeJS.ProcessEnv): Promise<string> {
  const given = givenUrl(env, "DATABASE_OWNER_URL") ?? givenUrl(env, "DATABASE_URL");
  if (given !== undefined) {
    const url = withTlsOf(env, given);
    const problem = tlsProblem(url);
    if (problem !== undefined) throw new Error(`The database URL is invalid: ${problem}`);
    return url;
  }
  const dataDir = dataDirOf(env["DATA_DIR"]);
  const connection = await readConnection(dataDir);
  if (connection === undefined) {
    throw new Error(
      `There is no embedded database in ${dataDir}. Start one with \`npm start\` and leave it ` +
        "running, or set DATABASE_OWNER_URL.",
    );
  }
  const url = connectionUrl(connection);
  try {
    await using _client = await connect(url);
  } catch (error) {
    throw new Error(
      `The embedded database in ${dataDir} does not answer (${(error as Error).message}). Start ` +
        "it with `npm start` and leave it running, or set DATABASE_OWNER_URL.",
      { cause: error },
    );
  }
  return url;
}

/** URLs of the shadow database, in which migrations are tried, and of the one that creates it. */
export interface ShadowUrls {
  shadow: string;
  root: string;
}

/** SHADOW_DATABASE_URL and ROOT_DATABASE_URL; by default `<database>_shadow` and `postgres` on the same server. */
export function shadowUrls(url: string, env: NodeJS.ProcessEnv): ShadowUrls {
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  return {
    shadow: givenUrl(env, "SHADOW_DATABASE_URL") ?? urlForDatabase(url, `${name}_shadow`),
    root: givenUrl(env, "ROOT_DATABASE_URL") ?? urlForDatabase(url, "postgres"),
  };
}

/** Undefined where the variable is not set, or empty. Never repeats the URL, which may have a password. */
function givenUrl(env: NodeJS.ProcessEnv, variable: string): string | undefined {
  const url = env[variable] ?? "";
  if (url === "") return undefined;
  if (!isPostgresUrl(url)) {
    throw new Error(`${variable}: what was given is not ${POSTGRES_URL_ACCEPTED}.`);
  }
  return url;
}
