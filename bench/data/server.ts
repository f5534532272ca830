// Opens the measured PostgreSQL: the kept one of .bench/, that of BENCH_DATABASE_URL, or a new one.
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, urlForDatabase, type Client } from "../../db/connect.ts";
import {
  initialiseCluster,
  openCluster,
  startServer,
  stopServer,
  SUPERUSER,
} from "../../db/embedded/cluster.ts";
import { openEmbedded } from "../../db/embedded/open.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { initialiseOther, openOther } from "../../test/other-postgres.ts";
import { log } from "../harness.ts";

const DATA_DIR = fileURLToPath(new URL("../../.bench", import.meta.url));

/** Settings for a large database on a dedicated machine of 24 GB, without timed checkpoints. */
const SETTINGS: Record<string, string> = {
  // A quarter of the memory, as the manual of PostgreSQL advises.
  shared_buffers: "6GB",
  maintenance_work_mem: "512MB",
  max_wal_size: "16GB",
  checkpoint_timeout: "1d",
  random_page_cost: "1.1",
  effective_cache_size: "12GB",
};

export interface BenchServer {
  /** The maintenance database, with a login that may create databases and roles. */
  url: string;
  stop(): Promise<void>;
}

/** Starts the embedded server on its kept data, or uses the server of BENCH_DATABASE_URL. */
export async function openServer(): Promise<BenchServer> {
  const given = process.env["BENCH_DATABASE_URL"];
  if (given !== undefined && given !== "") return { url: given, stop: () => Promise.resolve() };
  const first = await openEmbedded({ dataDir: DATA_DIR, log });
  const wasTuned = await withAdmin(first, async (admin) => {
    const { rows } = await admin.query<{ shared_buffers: string }>("show shared_buffers");
    for (const [name, value] of Object.entries(SETTINGS)) {
      await admin.query(`alter system set ${name} = ${admin.escapeLiteral(value)}`);
    }
    return rows[0]?.shared_buffers === SETTINGS["shared_buffers"];
  });
  if (!wasTuned) await first.stop();
  const server = wasTuned ? first : await openEmbedded({ dataDir: DATA_DIR, log });
  return { url: urlForDatabase(server.url, "postgres"), stop: () => server.stop() };
}

/** Starts a new server with the programs of this folder, or the embedded one. `stop` deletes its data. */
export async function startNew(programs?: string): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), "dex-bench-"));
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

/** Runs `act` on a connection to the maintenance database. */
export async function withAdmin<T>(
  { url }: Pick<BenchServer, "url">,
  act: (admin: Client) => Promise<T>,
): Promise<T> {
  const admin = await connect(url);
  try {
    return await act(admin);
  } finally {
    await admin.end();
  }
}

/** Creates a database with the schema, instead of an earlier one. Resolves to its URL. */
export async function makeDatabase(server: BenchServer, name: string): Promise<string> {
  await withAdmin(server, async (admin) => {
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.query(`create database ${name}`);
  });
  const url = urlForDatabase(server.url, name);
  await makeRoles(url);
  await applyMigrations(url);
  return url;
}

/** Copies a database file by file, instead of an earlier copy; it must have no connections. */
export async function copyDatabase(
  server: BenchServer,
  name: string,
  copy: string,
): Promise<string> {
  await withAdmin(server, async (admin) => {
    await admin.query(`drop database if exists ${copy} with (force)`);
    await admin.query(`create database ${copy} template ${name} strategy file_copy`);
  });
  return urlForDatabase(server.url, copy);
}
