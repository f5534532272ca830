// Fetches a file that a manifest lists: an interrupted download goes on where it was, and only the right bytes count.
import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ListedFile } from "../export/manifest.ts";
import { MirrorError, OriginUnavailable } from "./mirror-error.ts";
import { PART_BYTES, type Origin } from "./origin.ts";

/** One after the other with less than a part in between. */
const ATTEMPTS = 5;
const PAUSE_MS = 500;

export interface DownloadOptions {
  origin: Origin;
  dir: string;
  signal?: AbortSignal | undefined;
  /** Between two attempts; it doubles. */
  pauseMs?: number;
}

/** Returns its path. Throws a MirrorError for other bytes than the manifest says, and keeps none of them. */
export async function download(file: ListedFile, options: DownloadOptions): Promise<string> {
  const path = join(options.dir, file.name);
  const partial = `${path}.partial`;
  if (await isWhole(path, file)) return path;
  const had = await lengthOf(partial);
  await fetchAll(file, partial, options);
  if (!(await isWhole(partial, file)) && had > 0) {
    // What an earlier run has left may be of other bytes.
    await rm(partial);
    await fetchAll(file, partial, options);
  }
  if (!(await isWhole(partial, file))) {
    await rm(partial);
    throw new MirrorError(
      `${file.name} has other bytes than the manifest says: its SHA-256 differs`,
    );
  }
  await rename(partial, path);
  return path;
}

async function fetchAll(
  file: ListedFile,
  partial: string,
  { origin, signal, pauseMs = PAUSE_MS }: DownloadOptions,
): Promise<void> {
  let failed = 0;
  for (;;) {
    const had = await lengthOf(partial);
    try {
      await fetchRest(file, partial, origin, signal);
      return;
    } catch (error) {
      if (!(error instanceof OriginUnavailable)) {
        if (error instanceof MirrorError) await rm(partial, { force: true });
        throw error;
      }
      failed = (await lengthOf(partial)) >= had + PART_BYTES ? 1 : failed + 1;
      if (failed === ATTEMPTS) throw error;
      await sleep(error.retryMs ?? pauseMs * 2 ** failed, undefined, { signal });
    }
  }
}

async function fetchRest(
  { name, bytes }: ListedFile,
  partial: string,
  origin: Origin,
  signal: AbortSignal | undefined,
): Promise<void> {
  const handle = await openPrivate(partial, constants.O_RDWR | constants.O_CREAT);
  try {
    let at = Math.min((await handle.stat()).size, bytes);
    if (at === bytes && bytes > 0) return;
    const headers: Record<string, string> = at > 0 ? { Range: `bytes=${at}-` } : {};
    // Some hosts say Content-Encoding: gzip of what is a gzip file.
    const isRaw = name.endsWith(".gz");
    let encoding = "";
    await origin.read(
      name,
      { headers, signal, isRaw },
      {
        onHead: async ({ status, headers: given }) => {
          const isRest = status === 206 && given.get("content-range")?.startsWith(`bytes ${at}-`);
          if (isRest !== true) at = 0;
          encoding = given.get("content-encoding") ?? "";
          await handle.truncate(at);
        },
        onChunk: async (chunk) => {
          if (at + chunk.length > bytes) {
            throw new MirrorError(
              `${name} has more than the ${bytes} bytes that the manifest says${asSent(encoding)}`,
            );
          }
          for (let from = 0; from < chunk.length;) {
            const { bytesWritten } = await handle.write(chunk, from, chunk.length - from, at);
            from += bytesWritten;
            at += bytesWritten;
          }
        },
      },
    );
    if (at < bytes) {
      const problem = `${name} ends after ${at} of the ${bytes} bytes that the manifest says${asSent(encoding)}`;
      throw isRaw || encoding === "" ? new OriginUnavailable(problem) : new MirrorError(problem);
    }
  } finally {
    await handle.close();
  }
}

const asSent = (encoding: string): string =>
  encoding === ""
    ? ""
    : `: the host sends it with Content-Encoding: ${encoding}, and must send files as they are`;

/** No link leads to another file. */
const openPrivate = (path: string, flags: number): Promise<FileHandle> =>
  open(path, flags | constants.O_NOFOLLOW, 0o600);

async function lengthOf(path: string): Promise<number> {
  const handle = await openPrivate(path, constants.O_RDONLY).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
  if (handle === undefined) return 0;
  try {
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

async function isWhole(path: string, { bytes, sha256 }: ListedFile): Promise<boolean> {
  if ((await lengthOf(path)) !== bytes) return false;
  if (bytes === 0) return false;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex") === sha256;
}
