// Installs the packages of a tool or an example, which have a folder each: what neither the start nor `npm test` needs.
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));

/**
 * Does nothing where they were installed after the last change of the lock file: npm writes its own copy of
 * that last, so an interrupted installation has none.
 */
export function installPackages(folder: string): void {
  const changed = (path: string): number =>
    statSync(join(REPOSITORY, folder, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changed("node_modules/.package-lock.json") > changed("package-lock.json")) return;
  const options = ["--prefer-offline", "--no-audit", "--no-fund", "--silent"];
  const { status } = spawnSync("npm", ["ci", "--prefix", folder, ...options], {
    cwd: REPOSITORY,
    stdio: "inherit",
  });
  if (status !== 0) throw new Error(`npm could not install the packages of ${folder}`);
}

if (import.meta.main) {
  for (const folder of process.argv.slice(2)) installPackages(folder);
}
