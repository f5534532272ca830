// A file that appears under its name when it is whole and on the disk, or never.
import { createHash, randomBytes } from "node:crypto";
import { open, readdir, rename, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

/** What a manifest says of a file. */
export interface WrittenFile {
  name: string;
  bytes: number;
  /** In hexadecimal digits. */
  sha256: string;
}

/** Others may have files with this end too. */
const OWN_TEMPORARY = /\.[0-9a-f]{12}\.partial$/;

export class NewFile {
  readonly #dir: string;
  readonly #name: string;
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #hash = createHash("sha256");
  #bytes = 0;

  private constructor(dir: string, name: string, path: string, handle: FileHandle) {
    this.#dir = dir;
    this.#name = name;
    this.#path = path;
    this.#handle = handle;
  }

  static async create(dir: string, name: string): Promise<NewFile> {
    const path = join(dir, `${name}.${randomBytes(6).toString("hex")}.partial`);
    return new NewFile(dir, name, path, await open(path, "wx", 0o644));
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    for (let at = 0; at < bytes.length;) {
      at += (await this.#handle.write(bytes, at, bytes.length - at)).bytesWritten;
    }
  }

  /** Gives it its name, in place of an older one, when its bytes are on the disk. */
  async finish(): Promise<WrittenFile> {
    await this.#handle.sync();
    await this.#handle.close();
    await rename(this.#path, join(this.#dir, this.#name));
    return { name: this.#name, bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }

  /** Does nothing after `finish`. */
  async abandon(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    await rm(this.#path, { force: true });
  }
}

/** The names in the folder are on the disk. */
export async function syncFolder(dir: string): Promise<void> {
  const handle = await open(dir, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Removes what a killed process has left. */
export async function removeAbandoned(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    if (OWN_TEMPORARY.test(name)) await rm(join(dir, name), { force: true });
  }
}

/** Writes a file whole, in place of an older one. */
export async function writeWhole(dir: string, name: string, text: string): Promise<WrittenFile> {
  const file = await NewFile.create(dir, name);
  try {
    await file.write(Buffer.from(text));
    const written = await file.finish();
    await syncFolder(dir);
    return written;
  } finally {
    await file.abandon();
  }
}
