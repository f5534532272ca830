// A PostgreSQL of a fault's own, which may be stopped, frozen and started again at the same address.
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, urlForDatabase, type Client } from "../../db/connect.ts";
import {
  initialiseCluster,
  openCluster,
  runningServer,
  startServer,
  SUPERUSER,
  run,
} from "../../db/embedded/cluster.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { simulateHistory } from "../../db/simulate/simulated-history.ts";
import { openClient } from "../database.ts";

/** So few connections that a test can take them all. */
export const MAX_CONNECTIONS = 40;

export interface FaultyServer {
  /** The superuser's URL of the exchange's database. */
  url: string;
  /** Stops it as an operator does, or at once, as a crash. */
  stop(mode?: "fast" | "immediate"): Promise<void>;
  /** Starts it where it was. */
  start(): Promise<void>;
  /** Halts all its processes, which keep their connections; resolves to what wakes them. */
  freeze(): Promise<() => void>;
  /** Does something on a connection of its own, as the superuser. */
  asAdmin<T>(act: (client: Client) => Promise<T>): Promise<T>;
  /** Makes another, empty database in it, and gives its URL. */
  makeDatabase(name: string): Promise<string>;
  /** Stops it for good. */
  remove(): Promise<void>;
}

/** Starts one with the exchange's schema, and so many trades of a simulated week. */
export async function startFaultyServer(trades: number): Promise<FaultyServer> {
  const folder = await mkdtemp(join(tmpdir(), "dex-faults-"));
  await chmod(folder, 0o755);
  const cluster = await openCluster(join(folder, "postgres"));
  const password = randomBytes(18).toString("base64url");
  await initialiseCluster(cluster, password);
  const port = await startServer(cluster, { max_connections: String(MAX_CONNECTIONS) });
  const maintenance = `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
  const url = urlForDatabase(maintenance, "dex");
  const control = (...args: string[]): Promise<string> =>
    run(cluster.account, join(cluster.programs, "pg_ctl"), [
      ...args,
      "--wait",
      "--timeout=60",
      "--silent",
      `--pgdata=${cluster.dataDir}`,
    ]);
  const server: FaultyServer = {
    url,
    async stop(mode = "fast") {
      await control("stop", `--mode=${mode}`);
    },
    async start() {
      const options = `-c listen_addresses=127.0.0.1 -c port=${port} -c unix_socket_directories= -c max_connections=${MAX_CONNECTIONS}`;
      await control(
        "start",
        `--log=${join(cluster.dataDir, "server.log")}`,
        `--options=${options}`,
      );
    },
    async freeze() {
      const pids = await server.asAdmin(async (client) => {
        const { rows } = await client.query<{ pid: number }>(
          "select pid from pg_stat_activity where pid <> pg_backend_pid()",
        );
        return rows.map(({ pid }) => pid);
      });
      const postmaster = await runningServer(cluster);
      if (postmaster !== undefined) pids.unshift(postmaster);
      for (const pid of pids) signal(pid, "SIGSTOP");
      return () => {
        for (const pid of pids) signal(pid, "SIGCONT");
      };
    },
    async asAdmin(act) {
      const client = await connect(url, { applicationName: "faults" });
      try {
        return await act(client);
      } finally {
        await client.end().catch(() => undefined);
      }
    },
    async makeDatabase(name) {
      await using client = await openClient(maintenance, { applicationName: "faults" });
      await client.query(`create database ${client.escapeIdentifier(name)}`);
      return urlForDatabase(maintenance, name);
    },
    async remove() {
      await control("stop", "--mode=immediate").catch(() => undefined);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  await server.makeDatabase("dex");
  await fillExchange(url, trades);
  return server;
}

/** Makes the exchange's schema and a simulated week in an empty database. */
export async function fillExchange(url: string, trades: number): Promise<void> {
  await makeRoles(url);
  await applyMigrations(url);
  await simulateHistory(url, { seed: 7, days: 7, trades });
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
