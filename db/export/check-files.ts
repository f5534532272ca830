// Checks the files of a folder against its manifest.
import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { errorText } from "../error-text.ts";
import { BadManifest, MANIFEST, readManifest, type Contents, type ListedFile } from "./manifest.ts";
import { digestOfDay, FIRST_DIGEST } from "./recompute.ts";

export interface Checked {
  files: number;
  bytes: number;
  /** Each names the file. */
  problems: string[];
}

/** Reads every byte, and computes the digest of every block from the CSV files. */
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
  if (manifest && checked.problems.length === 0) {
    checked.problems.push(...(await digestProblem(dir, manifest)));
  }
  return checked;
}

/** The first one: each digest follows from the one before. */
async function digestProblem(dir: string, { days }: Contents): Promise<string[]> {
  let digest = FIRST_DIGEST;
  for (const day of days) {
    try {
      if (day.files.length > 0) digest = await digestOfDay(dir, day, digest);
    } catch (error) {
      return [`${day.day}: ${errorText(error)}`];
    }
    const found = `0x${digest.toString("hex")}`;
    if (found !== day.digest) {
      return [`${day.day} ends with the digest ${found}, and the manifest says ${day.digest}`];
    }
  }
  return [];
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
