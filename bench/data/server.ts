// Opens the measured PostgreSQL: the benchmark's embedded one, or that of BENCH_DATABASE_URL.
import { fileURLToPath } from "node:url";
import { connect, urlForDatabase } from "../../db/connect.ts";
import { openEmbedded } from "../../db/embedded/open.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/roles.ts";

const DATA_DIR = fileURLToPath(new URL("../../.bench", import.meta.url));

/** Settings for a large database on a dedicated machine. */
const SETTINGS: Record<string, string> = {
  shared_buffers: "4GB",
  maintenance_work_mem: "1GB",
  max_wal_size: "8GB",
  checkpoint_timeout: "30min",
  random_page_cost: "1.1",
  effective_cache_size: "12GB",
};

export interface BenchServer {
  /** The maintenance database, with a login that may create databases and roles. */
  url: string;
  stop(): Promise<void>;
}

/** Starts the embedded server on its kept data, or uses the server of BENCH_DATABASE_URL. */
export async function openServer(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<BenchServer> {
  const given = env["BENCH_DATABASE_URL"];
  if (given !== undefined && given !== "") return { url: given, stop: () => Promise.resolve() };
  const first = await openEmbedded({ dataDir: DATA_DIR, log });
  if (await isTuned(first.url)) return served(first);
  await tune(first.url);
  await first.stop();
  return served(await openEmbedded({ dataDir: DATA_DIR, log }));
}

const served = (embedded: BenchServer): BenchServer => ({
  url: urlForDatabase(embedded.url, "postgres"),
  stop: () => embedded.stop(),
});

async function isTuned(url: string): Promise<boolean> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<{ tuned: boolean }>(
      "select current_setting('shared_buffers') = $1 as tuned",
      [SETTINGS["shared_buffers"]],
    );
    return rows[0]?.tuned ?? false;
  } finally {
    await client.end();
  }
}

async function tune(url: string): Promise<void> {
  const client = await connect(url);
  try {
    for (const [name, value] of Object.entries(SETTINGS)) {
      await client.query(`alter system set ${name} = ${client.escapeLiteral(value)}`);
    }
  } finally {
    await client.end();
  }
}

/** Creates the database if it is missing, and migrates it. Resolves to its URL. */
export async function openDatabase(server: BenchServer, name: string): Promise<string> {
  const admin = await connect(server.url);
  try {
    const { rowCount } = await admin.query("select from pg_database where datname = $1", [name]);
    if (rowCount === 0) await admin.query(`create database ${admin.escapeIdentifier(name)}`);
  } finally {
    await admin.end();
  }
  const url = urlForDatabase(server.url, name);
  await makeRoles(url);
  await applyMigrations(url);
  return url;
}
