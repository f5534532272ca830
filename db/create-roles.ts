// Creates the three roles and grants their rights on a database; see roles.sql.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { connect } from "./connect.ts";

const ROLES_SQL = fileURLToPath(new URL("./roles.sql", import.meta.url));

/**
 * Creates missing roles and grants them their rights on this database. The URL's login needs the right to
 * create roles. `serviceLogin`, the login of the service, becomes a member of dex_reader.
 * Resolves to whether PUBLIC has lost the rights that only a superuser can revoke.
 */
export async function makeRoles(url: string, serviceLogin?: string): Promise<boolean> {
  await using client = await connect(url);
  // The lock that roles.sql takes is held until the end.
  await client.query("begin");
  await client.query(await readFile(ROLES_SQL, "utf8"));
  if (serviceLogin !== undefined) {
    const login = client.escapeIdentifier(serviceLogin);
    const database = client.escapeIdentifier(client.database ?? "");
    await client.query(`grant connect on database ${database} to ${login}`);
    await client.query(`grant dex_reader to ${login}`);
  }
  const { rows } = await client.query<{ isPublicCut: boolean }>(
    `select not has_function_privilege('dex_reader', 'pg_advisory_lock(bigint)', 'execute') as "isPublicCut"`,
  );
  await client.query("commit");
  return rows[0]?.isPublicCut === true;
}
