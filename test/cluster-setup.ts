// Starts one PostgreSQL for the test run, and builds the template that every test database is cloned
// from. By default this is the embedded PostgreSQL; TEST_POSTGRES_BIN names the programs of another
// version (/usr/lib/postgresql/15/bin), TEST_POSTGRES_URL a running server.
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, urlForDatabase } from "../db/connect.ts";
import {
  initialiseCluster,
  openCluster,
  startServer,
  stopServer,
  SUPERUSER,
} from "../db/embedded/cluster.ts";
import { applyMigrations } from "../db/migrations.ts";
import { makeRoles } from "../db/create-roles.ts";
import { initialiseOther, openOther } from "./other-postgres.ts";
import tearDownCluster from "./cluster-teardown.ts";

export const TEMPLATE = "dex_template";

export default async function setUpCluster(): Promise<void> {
  const given = process.env["TEST_POSTGRES_URL"];
  const url = given ?? (await startCluster());
  try {
    await buildTemplate(url);
  } catch (error) {
    // Jest does not run the teardown after a failed setup.
    await tearDownCluster();
    throw error;
  }
  process.env["TEST_CLUSTER_URL"] = url;
}

async function buildTemplate(url: string): Promise<void> {
  const admin = await connect(url);
  await admin.query(`drop database if exists ${TEMPLATE} with (force)`);
  await admin.query(`create database ${TEMPLATE} template template0 encoding 'UTF8'`);
  await admin.end();
  await makeRoles(urlForDatabase(url, TEMPLATE));
  await applyMigrations(urlForDatabase(url, TEMPLATE));
}

async function startCluster(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dex-test-"));
  await chmod(folder, 0o755);
  const dataDir = join(folder, "postgres");
  const programs = process.env["TEST_POSTGRES_BIN"];
  const cluster =
    programs === undefined ? await openCluster(dataDir) : await openOther(dataDir, programs);
  (globalThis as { stopTestCluster?: () => Promise<void> }).stopTestCluster = async () => {
    await stopServer(cluster);
    await rm(folder, { recursive: true, force: true });
  };
  // The server has its own session, so Ctrl-C does not stop it.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void tearDownCluster().finally(() => process.exit(1)));
  }
  const password = randomBytes(18).toString("base64url");
  await (programs === undefined
    ? initialiseCluster(cluster, password)
    : initialiseOther(cluster, password, join(folder, "password")));
  // Durability is not needed, because each run makes new data.
  const port = await startServer(cluster, {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    max_connections: "200",
  });
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
}
