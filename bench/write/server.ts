// Starts a PostgreSQL of a given version on a new data directory.
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../../db/connect.ts";
import {
  initialiseCluster,
  openCluster,
  startServer,
  stopServer,
  SUPERUSER,
} from "../../db/embedded/cluster.ts";
import { initialiseOther, openOther } from "../../test/other-postgres.ts";
import type { BenchServer } from "../data/server.ts";

/** Settings for a large database, without timed checkpoints. */
const SETTINGS: Record<string, string> = {
  shared_buffers: "2GB",
  max_wal_size: "16GB",
  checkpoint_timeout: "1d",
  maintenance_work_mem: "512MB",
  random_page_cost: "1.1",
};

/** Starts the server with the programs of this folder, or the embedded one. `stop` deletes its data. */
export async function startNew(programs: string | undefined): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), "dex-bench-write-"));
  await chmod(folder, 0o755);
  const dataDir = join(folder, "postgres");
  const cluster =
    programs === undefined ? await openCluster(dataDir) : await openOther(dataDir, programs);
  const stop = async (): Promise<void> => {
    await stopServer(cluster);
    await rm(folder, { recursive: true, force: true });
  };
  // The server runs in its own session, which the terminal's signals do not reach.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void stop().finally(() => process.exit(1)));
  }
  try {
    const password = randomBytes(18).toString("base64url");
    await (programs === undefined
      ? initialiseCluster(cluster, password)
      : initialiseOther(cluster, password, join(folder, "password")));
    const port = await startServer(cluster, SETTINGS);
    return { url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Copies a database file by file; it must have no connections. */
export async function copyDatabase(server: BenchServer, name: string, copy: string): Promise<void> {
  const admin = await connect(server.url);
  try {
    await admin.query(`create database ${copy} template ${name} strategy file_copy`);
  } finally {
    await admin.end();
  }
}
