// A copy of the repository, as fresh as a clone, in which a test may write migrations.
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));

/** What a clone does not have, or has by another way. */
const LEFT_OUT = new Set([".git", ".data", ".bench", "node_modules", "tools", "test", "bench"]);

export interface RepositoryCopy {
  folder: string;
  remove: () => Promise<void>;
}

export async function copyRepository(): Promise<RepositoryCopy> {
  const folder = await mkdtemp(join(tmpdir(), "dex-copy-"));
  await cp(REPOSITORY, folder, {
    recursive: true,
    filter: (path) => path === REPOSITORY || !LEFT_OUT.has(basename(path)),
  });
  for (const installed of ["node_modules", "tools"]) {
    await symlink(join(REPOSITORY, installed), join(folder, installed));
  }
  return { folder, remove: () => rm(folder, { recursive: true }) };
}
