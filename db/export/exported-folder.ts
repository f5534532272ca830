// Reads a folder of files as its manifest lists them: nothing else of it is seen.
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { MANIFEST, parseManifest, type Contents, type ListedFile } from "./manifest.ts";

export interface Listing {
  /** The manifest as it is in the folder. */
  text: string;
  contents: Contents;
  /** By name. */
  files: ReadonlyMap<string, ListedFile>;
}

interface Known {
  version: string;
  listing: Promise<Listing>;
}

// No link leads out of the folder, and a pipe without a writer does not hold one of the few threads that open files.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const openIn = (dir: string, name: string): Promise<FileHandle> => open(join(dir, name), FLAGS);

export class ExportedFolder {
  readonly #dir: string;
  #known: Known | undefined;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Reads the manifest again where it has been replaced. Undefined where there is none; throws BadManifest. */
  async listing(): Promise<Listing | undefined> {
    const handle = await openIn(this.#dir, MANIFEST).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    });
    if (handle === undefined) return undefined;
    try {
      const { ino, mtimeMs, size } = await handle.stat();
      const version = `${ino} ${mtimeMs} ${size}`;
      if (this.#known?.version !== version) {
        this.#known = { version, listing: read(handle) };
        this.#known.listing.catch(() => (this.#known = undefined));
      }
      return await this.#known.listing;
    } finally {
      await handle.close();
    }
  }

  /** Throws where the file is not as long as the manifest says. The caller closes it. */
  async open({ name, bytes }: ListedFile): Promise<FileHandle> {
    const handle = await openIn(this.#dir, name);
    try {
      const stat = await handle.stat();
      if (stat.isFile() && stat.size === bytes) return handle;
      throw new Error(`${name} in FILES_DIR is not what its manifest says`);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }
}

async function read(handle: FileHandle): Promise<Listing> {
  const text = await handle.readFile("utf8");
  const contents = parseManifest(text);
  const files = contents.days.flatMap((day) => day.files.map((file) => [file.name, file] as const));
  return { text, contents, files: new Map(files) };
}
