// One PostgreSQL cluster in a folder: makes it, starts it, stops it.
import { execFile } from "node:child_process";
import { chown, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { serverAccount, type Account } from "./account.ts";
import { findBinaries, type Binaries } from "./binaries.ts";

const run = promisify(execFile);

/** The superuser of an embedded cluster. */
export const SUPERUSER = "postgres";

export interface Cluster {
  dataDir: string;
  account: Account | undefined;
  binaries: Binaries;
}

/** The cluster in this folder, whether or not it was made yet. */
export async function openCluster(dataDir: string): Promise<Cluster> {
  const account = await serverAccount(dataDir);
  return { dataDir, account, binaries: await findBinaries(account) };
}

/** Whether the folder holds a cluster. */
export async function isInitialised(cluster: Cluster): Promise<boolean> {
  return (await readFile(join(cluster.dataDir, "PG_VERSION"), "utf8").catch(() => "")) !== "";
}

/** Makes the cluster: UTF-8, symbols sorted by code point, and a password for its superuser. */
export async function initialiseCluster(cluster: Cluster, password: string): Promise<void> {
  await mkdir(cluster.dataDir, { recursive: true, mode: 0o700 });
  if (cluster.account !== undefined) {
    await chown(cluster.dataDir, cluster.account.uid, cluster.account.gid);
  }
  const passwordFile = `${cluster.dataDir}.password`;
  await writeFile(passwordFile, password, { mode: 0o600 });
  try {
    if (cluster.account !== undefined) {
      await chown(passwordFile, cluster.account.uid, cluster.account.gid);
    }
    await runAs(cluster, cluster.binaries.initdb, [
      `--pgdata=${cluster.dataDir}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      // Of PostgreSQL itself, so that upper('é') is the same on every machine.
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--locale=C",
    ]);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/**
 * Starts the server on a free port of 127.0.0.1 and resolves to the port once it answers. pg_ctl
 * makes it the leader of a session of its own: Ctrl-C in a terminal reaches this process alone, and
 * the server outlives it.
 */
export async function startServer(
  cluster: Cluster,
  settings: Record<string, string> = {},
): Promise<number> {
  const port = await freePort();
  const options = Object.entries({
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    ...settings,
  });
  await runAs(cluster, cluster.binaries.pg_ctl, [
    "start",
    "--wait",
    "--timeout=60",
    "--silent",
    `--pgdata=${cluster.dataDir}`,
    `--log=${join(cluster.dataDir, "server.log")}`,
    `--options=${options.map(([name, value]) => `-c ${name}='${value}'`).join(" ")}`,
  ]);
  return port;
}

/** Stops the server: what runs in it is rolled back, what it has committed is on disk. */
export async function stopServer(cluster: Cluster): Promise<void> {
  await runAs(cluster, cluster.binaries.pg_ctl, [
    "stop",
    "--wait",
    "--timeout=60",
    "--silent",
    "--mode=fast",
    `--pgdata=${cluster.dataDir}`,
  ]);
}

async function runAs(cluster: Cluster, program: string, args: string[]): Promise<void> {
  try {
    // The caller's folder may be one that the account cannot enter.
    await run(program, args, {
      ...cluster.account,
      cwd: "/",
      env: { ...process.env, LC_ALL: "C" },
    });
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Error(`${program} ${args[0] ?? ""} failed: ${stderr ?? String(error)}`, {
      cause: error,
    });
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
