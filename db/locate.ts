// Finds the database that a command is to work on.
import { connect, urlForDatabase } from "./connect.ts";
import { connectionUrl, dataDirOf, readConnection } from "./embedded/connection.ts";
import { tlsProblem, withTlsOf } from "./tls.ts";

/**
 * The URL by which a database is migrated and filled: DATABASE_OWNER_URL, else DATABASE_URL, else
 * that of the running embedded database in DATA_DIR, whose login is its superuser. A command takes
 * its role on it by `connect(url, { role })`. Throws, with what to do, where no database runs; a
 * URL that was given is not tried here.
 */
export async function ownerUrl(env: NodeJS.ProcessEnv): Promise<string> {
  const given = [env["DATABASE_OWNER_URL"], env["DATABASE_URL"]].find(
    (url) => url !== undefined && url !== "",
  );
  if (given !== undefined) {
    const url = withTlsOf(env, given);
    const problem = tlsProblem(url);
    if (problem !== undefined) throw new Error(`The database's URL is wrong: ${problem}`);
    return url;
  }
  const dataDir = dataDirOf(env["DATA_DIR"]);
  const connection = await readConnection(dataDir);
  if (connection === undefined) {
    throw new Error(
      `There is no embedded database in ${dataDir}. Start one with \`npm start\` and leave it ` +
        "running, or give DATABASE_OWNER_URL.",
    );
  }
  const url = connectionUrl(connection);
  await checkAlive(url, dataDir);
  return url;
}

async function checkAlive(url: string, dataDir: string): Promise<void> {
  try {
    const client = await connect(url);
    await client.end();
  } catch (error) {
    throw new Error(
      `The embedded database in ${dataDir} does not answer (${(error as Error).message}). Start ` +
        "it with `npm start` and leave it running, or give DATABASE_OWNER_URL.",
      { cause: error },
    );
  }
}

/** The database in which migrations are tried, and the one from which it is made. */
export interface ShadowUrls {
  shadow: string;
  root: string;
}

/**
 * SHADOW_DATABASE_URL and ROOT_DATABASE_URL, else `<database>_shadow` and `postgres` beside the
 * database of this URL.
 */
export function shadowUrls(url: string, env: NodeJS.ProcessEnv): ShadowUrls {
  const given = (variable: string): string | undefined =>
    env[variable] === "" ? undefined : env[variable];
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  return {
    shadow: given("SHADOW_DATABASE_URL") ?? urlForDatabase(url, `${name}_shadow`),
    root: given("ROOT_DATABASE_URL") ?? urlForDatabase(url, "postgres"),
  };
}
