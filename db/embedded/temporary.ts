// Starts an embedded PostgreSQL for a moment, whose data are deleted when it stops.
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initialiseCluster, openCluster, startServer, stopServer, SUPERUSER } from "./cluster.ts";

export interface TemporaryServer {
  /** The superuser's URL of the maintenance database. */
  url: string;
  stop(): Promise<void>;
}

export async function startTemporary(
  settings: Record<string, string> = {},
): Promise<TemporaryServer> {
  const folder = await mkdtemp(join(tmpdir(), "dex-temporary-"));
  await chmod(folder, 0o755);
  const cluster = await openCluster(join(folder, "postgres"));
  const stop = async (): Promise<void> => {
    await stopServer(cluster);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const password = randomBytes(18).toString("base64url");
    await initialiseCluster(cluster, password);
    // Nothing of it outlives its process.
    const unsafe = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
    const port = await startServer(cluster, { ...unsafe, ...settings });
    return { url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
