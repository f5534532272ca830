// One PostgreSQL cluster in a folder: makes it, starts it, stops it.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chown, mkdir, readdir, readFile, readlink, realpath, rename, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { serverAccount, type Account } from "./account.ts";
import { findPrograms } from "./binaries.ts";
import { writePrivate } from "./private-file.ts";
import { hasNumber, isAlive } from "./process.ts";

/** The superuser of an embedded cluster. */
export const SUPERUSER = "postgres";

/** How often a start is tried that failed for a reason which passes. */
const START_ATTEMPTS = 5;

/** What the server's log says of another program that took the port, or of its own last remains. */
const PASSING_FAULT = /Address already in use|could not bind|pre-existing shared memory/;

export interface Cluster {
  dataDir: string;
  account: Account | undefined;
  /** The folder of PostgreSQL's programs. */
  programs: string;
}

/** The cluster in this folder, whether or not it was made yet. */
export async function openCluster(dataDir: string): Promise<Cluster> {
  const account = await serverAccount(dataDir);
  return { dataDir, account, programs: await findPrograms(account) };
}

/** The major version of the cluster's data, e.g. 18; undefined where there is no cluster yet. */
export async function dataVersion(cluster: Cluster): Promise<number | undefined> {
  const version = await readFile(join(cluster.dataDir, "PG_VERSION"), "utf8").catch(() => "");
  return version === "" ? undefined : Number.parseInt(version, 10);
}

/** The major version of the programs. */
export async function programVersion(cluster: Cluster): Promise<number> {
  // postgres (PostgreSQL) 18.4
  const printed = await run(cluster.account, join(cluster.programs, "postgres"), ["--version"]);
  return Number.parseInt(/\d+/.exec(printed)?.[0] ?? "", 10);
}

/**
 * Makes the cluster: UTF-8, symbols sorted by code point, and a password for its superuser. The
 * folder appears when it is whole, so that one that was interrupted is never taken for a cluster.
 */
export async function initialiseCluster(cluster: Cluster, password: string): Promise<void> {
  await removeDrafts(cluster);
  const draft = `${cluster.dataDir}${DRAFT}${randomBytes(6).toString("hex")}`;
  const passwordFile = `${draft}-password`;
  try {
    await mkdir(draft, { mode: 0o700 });
    if (cluster.account !== undefined) {
      await chown(draft, cluster.account.uid, cluster.account.gid);
    }
    await writePrivate(passwordFile, password, cluster.account);
    await run(cluster.account, join(cluster.programs, "initdb"), [
      `--pgdata=${draft}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      // Of PostgreSQL itself, so that upper('é') is the same on every machine.
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--locale=C",
    ]);
    await rename(draft, cluster.dataDir);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
}

const DRAFT = ".unfinished-";

/** Removes what an interrupted making left. */
async function removeDrafts(cluster: Cluster): Promise<void> {
  const parent = dirname(cluster.dataDir);
  for (const name of await readdir(parent)) {
    if (!name.startsWith(`${basename(cluster.dataDir)}${DRAFT}`)) continue;
    await rm(join(parent, name), { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Starts the server on this port of 127.0.0.1, or without one on a free port, and resolves to the port once it answers. Throws
 * with the end of the server's log when it does not start. pg_ctl makes the server the leader of a
 * separate session: Ctrl-C in a terminal reaches this process alone, and the server outlives it.
 */
export async function startServer(
  cluster: Cluster,
  settings: Record<string, string> = {},
  given?: number,
): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = given ?? (await freePort());
    try {
      await startOn(cluster, port, settings);
      return port;
    } catch (error) {
      const log = await endOfLog(cluster);
      if (attempt === START_ATTEMPTS || !PASSING_FAULT.test(log)) {
        throw new Error(
          `PostgreSQL did not start in ${cluster.dataDir}: ${log || (error as Error).message}`,
          { cause: error },
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 200 * attempt));
    }
  }
}

async function startOn(
  cluster: Cluster,
  port: number,
  settings: Record<string, string>,
): Promise<void> {
  const log = logFile(cluster);
  await rename(log, `${log}.previous`).catch(() => undefined);
  const options = Object.entries({
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    ...settings,
  });
  await run(cluster.account, join(cluster.programs, "pg_ctl"), [
    "start",
    "--wait",
    "--timeout=60",
    "--silent",
    `--pgdata=${cluster.dataDir}`,
    `--log=${log}`,
    `--options=${options.map(([name, value]) => `-c ${name}='${value}'`).join(" ")}`,
  ]);
}

const logFile = (cluster: Cluster): string => join(cluster.dataDir, "server.log");

async function endOfLog(cluster: Cluster): Promise<string> {
  const log = await readFile(logFile(cluster), "utf8").catch(() => "");
  return log.trim().split("\n").slice(-8).join("\n");
}

/**
 * The process number of the server that runs on this cluster, or undefined. A file that a dead
 * server left is removed where its number is still, or again, in use, which PostgreSQL could not distinguish
 * from a server.
 */
export async function runningServer(cluster: Cluster): Promise<number | undefined> {
  const pidFile = join(cluster.dataDir, "postmaster.pid");
  const pid = Number.parseInt(await readFile(pidFile, "utf8").catch(() => ""), 10);
  if (!Number.isInteger(pid) || !hasNumber(pid)) return undefined;
  if ((await isAlive(pid)) && (await mayServe(pid, cluster.dataDir))) return pid;
  await rm(pidFile, { force: true });
  return undefined;
}

/** Whether this process may be the server of this folder: false only where it surely is not. */
async function mayServe(pid: number, dataDir: string): Promise<boolean> {
  // A server works in its own data directory. Not everybody may see where a process works.
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  if (folder !== undefined) return folder === (await realpath(dataDir));
  const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const [program = ""] = commandLine.split("\0");
  return program === "" || basename(program) === "postgres";
}

/** Stops the server: what runs in it is rolled back, what it has committed is on disk. */
export async function stopServer(cluster: Cluster): Promise<void> {
  if ((await runningServer(cluster)) === undefined) return;
  await run(cluster.account, join(cluster.programs, "pg_ctl"), [
    "stop",
    "--wait",
    "--timeout=60",
    "--silent",
    "--mode=fast",
    `--pgdata=${cluster.dataDir}`,
  ]);
}

async function freePort(): Promise<number> {
  await using probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  return (probe.address() as AddressInfo).port;
}

/**
 * Runs the program and resolves to what it printed. Throws with what it said when it fails. It is
 * in a separate process group: Ctrl-C in a terminal does not reach it.
 */
export async function run(
  account: Account | undefined,
  program: string,
  args: string[],
): Promise<string> {
  const child = spawn(program, args, {
    ...account,
    // The caller's folder may be one that the account cannot enter.
    cwd: "/",
    env: { ...process.env, LC_ALL: "C" },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close") as Promise<[code: number | null, signal: string | null]>;
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    ended,
  ]);
  if (code === 0) return stdout;
  const said = stderr.trim() || stdout.trim() || `exit ${code ?? signal ?? ""}`;
  throw new Error(`${basename(program)} failed: ${said}`);
}
