// The embedded database of a DATA_DIR: made where it is missing, started, migrated, stopped.
import { createHash, randomBytes } from "node:crypto";
import { realpath, rename, stat, chmod } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../connect.ts";
import { applyMigrations, pendingMigrations } from "../migrations.ts";
import { makeRoles } from "../create-roles.ts";
import { canReach, serverAccount, isRoot } from "./account.ts";
import { makeSystemDir, SYSTEM_DIR } from "./binaries.ts";
import {
  dataVersion,
  initialiseCluster,
  openCluster,
  programVersion,
  runningServer,
  startServer,
  stopServer,
  SUPERUSER,
  type Cluster,
} from "./cluster.ts";
import {
  connectionUrl,
  readConnection,
  writeConnection,
  type EmbeddedConnection,
} from "./connection-file.ts";
import { takeLock } from "./lock.ts";
import { makeFolder } from "../make-folder.ts";

export interface Embedded {
  /** The superuser's URL of the exchange's database. */
  url: string;
  /** The URL of a login that can become dex_reader, and nothing else. Its password is of this start. */
  readerUrl: string;
  /** Where PostgreSQL keeps the data: in DATA_DIR, or where its account can reach. */
  clusterDir: string;
  /** Whether a server was found running that an earlier service had left, and taken over. */
  adopted: boolean;
  /** Stops the server and gives DATA_DIR back; once, however often it is called. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** An absolute path; made where it is missing. */
  dataDir: string;
  /** Gets, in a sentence, what the user should know of. */
  log: (line: string) => void;
  /** Gets the reason when the server has ended and cannot be started again; without it, `log` does. */
  onLost?: (error: Error) => void;
}

/** How often it is checked whether the server runs. */
const WATCH_MS = 500;

/**
 * Starts the embedded database of this DATA_DIR with every committed migration applied. Throws, and
 * leaves nothing running, when another service has the DATA_DIR (`DataDirInUse`), when its data are
 * of another major version of PostgreSQL, or when they cannot be opened.
 */
export async function openEmbedded({
  dataDir,
  log,
  onLost = ({ message }) => log(message),
}: EmbeddedOptions): Promise<Embedded> {
  await makeDataDir(dataDir);
  await using stack = new AsyncDisposableStack();
  stack.defer(await takeLock(dataDir));
  const cluster = await openCluster(await clusterFolder(dataDir));
  const { connection, adopted } = await startedConnection(dataDir, cluster, log);
  const stopping = new AbortController();
  const watched = keepRunning(cluster, connection.port, stopping.signal, log).catch(onLost);
  stack.defer(async () => {
    stopping.abort();
    await watched;
    await stopServer(cluster);
  });
  await prepareDatabases(connection);
  const readerUrl = await makeReaderLogin(connection);
  const opened = stack.move();
  let stopped: Promise<void> | undefined;
  return {
    url: connectionUrl(connection),
    readerUrl,
    clusterDir: cluster.dataDir,
    adopted,
    stop: () => (stopped ??= opened.disposeAsync()),
  };
}

/** Starts the server again, on the same port, whenever it has ended. Throws where it cannot. */
async function keepRunning(
  cluster: Cluster,
  port: number,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  for (;;) {
    await sleep(WATCH_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    if ((await runningServer(cluster)) !== undefined) continue;
    log("The embedded PostgreSQL has ended unexpectedly. It is started again.");
    await startServer(cluster, {}, port);
  }
}

/**
 * Where the cluster of this DATA_DIR is: in it, unless root's PostgreSQL, which runs as another
 * account, cannot enter a folder on the way.
 */
async function clusterFolder(dataDir: string): Promise<string> {
  const real = await realpath(dataDir);
  const within = join(real, "postgres");
  if (await canReach(await serverAccount(within), within)) return within;
  await makeSystemDir();
  const name = createHash("sha256").update(real).digest("hex").slice(0, 12);
  return join(SYSTEM_DIR, `${basename(real).replace(/^\.+/, "")}-${name}`);
}

async function startedConnection(
  dataDir: string,
  cluster: Cluster,
  log: (line: string) => void,
): Promise<{ connection: EmbeddedConnection; adopted: boolean }> {
  const known = await readConnection(dataDir);
  const version = await dataVersion(cluster);
  if (version !== undefined) {
    await checkVersion(cluster, dataDir, version);
    if (known !== undefined) return reopen(dataDir, cluster, known);
    await setAside(cluster, dataDir, log);
  }
  // The password is on disk before the cluster that has it.
  const connection: EmbeddedConnection = {
    host: "127.0.0.1",
    port: 0,
    user: SUPERUSER,
    password: randomBytes(24).toString("base64url"),
    database: "dex",
    shadow: "dex_shadow",
  };
  await writeConnection(dataDir, connection);
  await initialiseCluster(cluster, connection.password);
  return { connection: await start(dataDir, cluster, connection), adopted: false };
}

async function checkVersion(cluster: Cluster, dataDir: string, version: number): Promise<void> {
  const programs = await programVersion(cluster);
  if (version === programs) return;
  throw new Error(
    `DATA_DIR ${dataDir} holds data of PostgreSQL ${version}, and this is PostgreSQL ${programs}, ` +
      "which cannot read them. Give another DATA_DIR, or start the release of this service that made them.",
  );
}

/** Takes over the server that runs already, or starts one on the data that are there. */
async function reopen(
  dataDir: string,
  cluster: Cluster,
  known: EmbeddedConnection,
): Promise<{ connection: EmbeddedConnection; adopted: boolean }> {
  if ((await runningServer(cluster)) !== undefined) {
    if (await answersAs(known, cluster)) return { connection: known, adopted: true };
    await stopServer(cluster);
  }
  return { connection: await start(dataDir, cluster, known), adopted: false };
}

async function answersAs(connection: EmbeddedConnection, cluster: Cluster): Promise<boolean> {
  try {
    await using client = await connect(connectionUrl(connection, "postgres"));
    const { rows } = await client.query<{ data_directory: string }>("show data_directory");
    return rows[0]?.data_directory === cluster.dataDir;
  } catch {
    return false;
  }
}

async function start(
  dataDir: string,
  cluster: Cluster,
  connection: EmbeddedConnection,
): Promise<EmbeddedConnection> {
  const started = { ...connection, port: await startServer(cluster) };
  try {
    await writeConnection(dataDir, started);
    return started;
  } catch (error) {
    await stopServer(cluster);
    throw error;
  }
}

/**
 * Data without the connection.json that opens them. Outside DATA_DIR they are of a DATA_DIR that
 * was deleted, and are kept beside the new ones; inside it, somebody has lost something.
 */
async function setAside(
  cluster: Cluster,
  dataDir: string,
  log: (line: string) => void,
): Promise<void> {
  if (!cluster.dataDir.startsWith(SYSTEM_DIR)) {
    throw new Error(
      `DATA_DIR ${dataDir} holds a database, but the connection.json with its password is gone. ` +
        "Put it back, give another DATA_DIR, or delete this one to begin anew.",
    );
  }
  await stopServer(cluster);
  const { mtime } = await stat(cluster.dataDir);
  const aside = `${cluster.dataDir}-until-${mtime.toISOString().replace(/\D/g, "")}`;
  await rename(cluster.dataDir, aside);
  log(`The data of a DATA_DIR that was deleted are still in ${aside}; delete them if you like.`);
}

/** The roles, the two databases with their rights, and every migration; each where it is missing. */
async function prepareDatabases(connection: EmbeddedConnection): Promise<void> {
  await makeDatabase(connection, connection.database);
  await makeDatabase(connection, connection.shadow);
  await migrate(connectionUrl(connection));
}

async function migrate(url: string): Promise<void> {
  {
    await using client = await connect(url, { role: "dex_reader" });
    if ((await pendingMigrations(client)).length === 0) return;
  }
  await applyMigrations(url);
}

const READER_LOGIN = "dex_service";

/**
 * A login for who only reads. A superuser who has become dex_reader is one `set role none` away from
 * being superuser again; this one is none.
 */
async function makeReaderLogin(connection: EmbeddedConnection): Promise<string> {
  const password = randomBytes(24).toString("base64url");
  await using client = await connect(connectionUrl(connection));
  const { rowCount } = await client.query("select from pg_roles where rolname = $1", [
    READER_LOGIN,
  ]);
  if (rowCount === 0) await client.query(`create role ${READER_LOGIN}`);
  await client.query(`alter role ${READER_LOGIN} login password ${client.escapeLiteral(password)}`);
  await makeRoles(connectionUrl(connection), READER_LOGIN);
  return connectionUrl({ ...connection, user: READER_LOGIN, password });
}

async function makeDatabase(connection: EmbeddedConnection, name: string): Promise<void> {
  await using client = await connect(connectionUrl(connection, "postgres"));
  const { rowCount } = await client.query("select from pg_database where datname = $1", [name]);
  if (rowCount === 0) {
    await client.query(`create database ${client.escapeIdentifier(name)}`);
  }
  await makeRoles(connectionUrl(connection, name));
}

/** pg_ctl starts PostgreSQL by a shell, with the path between double quotes. */
const OF_THE_SHELL = /["$`\\]/;

/** Makes the folder of DATA_DIR, and those above it. */
async function makeDataDir(dataDir: string): Promise<void> {
  if (OF_THE_SHELL.test(dataDir)) {
    throw new Error(
      `DATA_DIR ${dataDir} has a double quote, a dollar, a backquote or a backslash, with which PostgreSQL cannot be started: ` +
        "give another path.",
    );
  }
  try {
    const isMade = await makeFolder(dataDir, 0o700);
    // Root's must let the account of PostgreSQL through; what is in it is for its eyes only.
    if (isMade && isRoot()) await chmod(dataDir, 0o755);
  } catch (error) {
    throw new Error(`DATA_DIR ${dataDir} cannot be made: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
