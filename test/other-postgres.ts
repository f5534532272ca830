// Makes a cluster with the programs of another PostgreSQL version, as in /usr/lib/postgresql/15/bin.
import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { serverAccount } from "../db/embedded/account.ts";
import { SUPERUSER, type Cluster, run } from "../db/embedded/cluster.ts";
import { writePrivate } from "../db/embedded/private-file.ts";

export async function openOther(dataDir: string, programs: string): Promise<Cluster> {
  const account = await serverAccount(dataDir);
  if (account !== undefined) {
    await mkdir(dataDir, { mode: 0o700 });
    await chown(dataDir, account.uid, account.gid);
  }
  return { dataDir, account, programs };
}

/** PostgreSQL 15 and 16 do not have the built-in locale provider. */
export async function initialiseOther(
  cluster: Cluster,
  password: string,
  passwordFile: string,
): Promise<void> {
  await writePrivate(passwordFile, password, cluster.account);
  await run(cluster.account, join(cluster.programs, "initdb"), [
    `--pgdata=${cluster.dataDir}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
  ]);
}
