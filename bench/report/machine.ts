// Describes the machine and the versions of a benchmark run.
import { readFile } from "node:fs/promises";
import { cpus, loadavg, platform, release, totalmem } from "node:os";
import { withAdmin } from "../data/server.ts";

export interface Machine {
  processor: string;
  cores: number;
  memoryGigabytes: number;
  system: string;
  /** The load average of the 15 minutes before the run. */
  loadBefore: number;
  node: string;
  postgresql: string;
  packages: Record<string, string>;
}

const PACKAGES = ["express", "postgraphile", "postgraphile-plugin-connection-filter", "pg"];

export async function describeMachine(databaseUrl: string): Promise<Machine> {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGigabytes: Math.round(totalmem() / 1024 ** 3),
    system: `${platform()} ${release()}`,
    loadBefore: Math.round((loadavg()[2] ?? 0) * 100) / 100,
    node: process.version,
    postgresql: await serverVersion(databaseUrl),
    packages: Object.fromEntries(
      await Promise.all(PACKAGES.map(async (name) => [name, await versionOf(name)] as const)),
    ),
  };
}

const serverVersion = (url: string): Promise<string> =>
  withAdmin({ url }, async (client) => {
    const { rows } = await client.query<{ server_version: string }>("show server_version");
    return rows[0]?.server_version ?? "unknown";
  });

/** The version in the lockfile. */
async function versionOf(name: string): Promise<string> {
  const text = await readFile(new URL("../../package-lock.json", import.meta.url), "utf8");
  const { packages } = JSON.parse(text) as { packages: Record<string, { version: string }> };
  return packages[`node_modules/${name}`]?.version ?? "unknown";
}
