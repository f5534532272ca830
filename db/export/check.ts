// Checks the files of a folder against its manifest.
import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { BadManifest, MANIFEST, readManifest, type ListedFile } from "./manifest.ts";

export interface Checked {
  files: number;
  bytes: number;
  /** Each names the file. */
  problems: string[];
}

/** Reads every byte. */
export async function checkFolder(dir: string): Promise<Checked> {
  const checked: Checked = { files: 0, bytes: 0, problems: [] };
  const manifest = await readManifest(dir).catch((error: unknown) => {
    if (!(error instanceof BadManifest)) throw error;
    checked.problems.push(error.message);
    return null;
  });
  if (manifest === undefined) checked.problems.push(`${MANIFEST} is missing`);
  const listed = new Map<string, ListedFile>();
  for (const file of manifest?.days.flatMap(({ files }) => files) ?? [])
    listed.set(file.name, file);
  for (const file of listed.values()) {
    checked.files += 1;
    checked.bytes += file.bytes;
    const problem = await problemOf(dir, file);
    if (problem !== undefined) checked.problems.push(`${file.name} ${problem}`);
  }
  return checked;
}

async function problemOf(
  dir: string,
  { name, bytes, sha256 }: ListedFile,
): Promise<string | undefined> {
  const path = join(dir, name);
  const stat = await lstat(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
  if (stat === undefined) return "is missing";
  if (!stat.isFile()) return "is not a file";
  if (stat.size !== bytes) return `has ${stat.size} bytes, and the manifest says ${bytes}`;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  const found = hash.digest("hex");
  return found === sha256 ? undefined : `has the SHA-256 ${found}, and the manifest says ${sha256}`;
}
