// Describes the machine and the versions of a benchmark run.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { cpus, loadavg, platform, release, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { connect } from "../../db/connect.ts";

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

async function serverVersion(url: string): Promise<string> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<{ server_version: string }>("show server_version");
    return rows[0]?.server_version ?? "unknown";
  } finally {
    await client.end();
  }
}

/** The installed version, from the package.json beside the package's entry point or above it. */
async function versionOf(name: string): Promise<string> {
  let folder = dirname(createRequire(import.meta.url).resolve(name));
  while (folder !== dirname(folder)) {
    const text = await readFile(join(folder, "package.json"), "utf8").catch(() => "{}");
    const found = JSON.parse(text) as { name?: string; version?: string };
    if (found.name === name && found.version !== undefined) return found.version;
    folder = dirname(folder);
  }
  return "unknown";
}
