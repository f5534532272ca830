// The file in DATA_DIR by which other programs find the embedded database.
import { randomBytes } from "node:crypto";
import { readFile, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ownerOf, writePrivate } from "./private-file.ts";

const DEFAULT_DATA_DIR = fileURLToPath(new URL("../../.data", import.meta.url));

/** How to reach an embedded database; whoever can read it is its superuser. */
export interface EmbeddedConnection {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** The name of the database in which graphile-migrate tries what it commits. */
  shadow: string;
  /**
   * Set once the simulated exchange has begun to fill this database; only then it trades on. `filling`
   * until the first history is whole: a start that finds it finishes it.
   */
  seed?: "filling" | "simulated";
}

/** DATA_DIR as an absolute path: what was given, else `.data` in the repository's root. */
export const dataDirOf = (given: string | undefined): string =>
  given === undefined || given === "" ? DEFAULT_DATA_DIR : resolve(given);

const connectionFile = (dataDir: string): string => join(dataDir, "connection.json");

/** What the last start on this DATA_DIR wrote, or undefined where there was none. */
export async function readConnection(dataDir: string): Promise<EmbeddedConnection | undefined> {
  try {
    return JSON.parse(await readFile(connectionFile(dataDir), "utf8")) as EmbeddedConnection;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(`${connectionFile(dataDir)} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Writes it for this user's eyes only, whole or not at all. */
export async function writeConnection(
  dataDir: string,
  connection: EmbeddedConnection,
): Promise<void> {
  const unfinished = `${connectionFile(dataDir)}.${randomBytes(6).toString("hex")}`;
  await writePrivate(
    unfinished,
    `${JSON.stringify(connection, null, 2)}\n`,
    await ownerOf(dataDir),
  );
  await rename(unfinished, connectionFile(dataDir));
}

/** The superuser's URL of one of the server's databases; of the exchange's own unless named. */
export function connectionUrl(
  { host, port, user, password, database }: EmbeddedConnection,
  name = database,
): string {
  return `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${name}`;
}
