// A primary and its hot standby by streaming replication, with the embedded PostgreSQL. The standby is a copy of
// the primary's files while it is stopped: the embedded programs have no pg_basebackup.
import { randomBytes } from "node:crypto";
import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { makePool, urlForDatabase, type Client, type Pool } from "../db/connect.ts";
import {
  initialiseCluster,
  openCluster,
  startServer,
  stopServer,
  SUPERUSER,
} from "../db/embedded/cluster.ts";
import { applyMigrations } from "../db/migrations.ts";
import { makeRoles } from "../db/create-roles.ts";
import { openClient } from "./database.ts";

export interface Replicated {
  /** The superuser's URLs of the exchange's database. */
  primary: string;
  standby: string;
  /** Resolves when the standby has replayed what the primary has written. */
  untilReplayed: () => Promise<void>;
  /** Halts the replay, and resolves to what goes on with it. */
  pauseReplay: () => Promise<() => Promise<void>>;
  /** The URL of a copy of the standby that is a primary of the same timeline: it is as far as the standby was. */
  startFork: () => Promise<string>;
  remove: () => Promise<void>;
}

/** A slow machine takes long to open a connection. */
const PATIENT = { waitMs: 60_000 };

/** As the service reads. */
export const readerOf = (url: string): Pool =>
  makePool(url, { role: "dex_reader", poolSize: 5, ...PATIENT });

export async function startReplicated(): Promise<Replicated> {
  const folder = await mkdtemp(join(tmpdir(), "dex-standby-"));
  await chmod(folder, 0o755);
  const primary = await openCluster(join(folder, "primary"));
  const standby = await openCluster(join(folder, "standby"));
  const fork = await openCluster(join(folder, "fork"));
  const password = randomBytes(18).toString("base64url");
  const urlOn = (port: number): string => `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/`;
  await initialiseCluster(primary, password);
  const settings = { fsync: "off", max_connections: "60" };
  const port = await startServer(primary, settings);
  const maintenance = urlForDatabase(urlOn(port), "postgres");
  await using admin = await openClient(maintenance);
  await admin.query("create database dex");
  const url = urlForDatabase(maintenance, "dex");
  await makeRoles(url);
  await applyMigrations(url);

  await stopServer(primary);
  // Keeps the owner, who may be another account.
  await promisify(execFile)("cp", ["-a", primary.dataDir, standby.dataDir]);
  await writeFile(join(standby.dataDir, "standby.signal"), "");
  await startServer(primary, settings, port);
  const followed = {
    ...settings,
    primary_conninfo: `host=127.0.0.1 port=${port} user=${SUPERUSER} password=${password}`,
    // A statement of a reader is never cancelled for the replay of what the primary has cleaned up.
    hot_standby_feedback: "on",
  };
  const standbyPort = await startServer(standby, followed);
  const standbyUrl = urlForDatabase(urlForDatabase(urlOn(standbyPort), "postgres"), "dex");

  const asking = async <T>(at: string, ask: (client: Client) => Promise<T>): Promise<T> => {
    await using client = await openClient(at, PATIENT);
    return await ask(client);
  };
  return {
    primary: url,
    standby: standbyUrl,
    async untilReplayed() {
      const written = await asking(url, async (client) => {
        const { rows } = await client.query<{ at: string }>("select pg_current_wal_lsn() as at");
        return rows[0]!.at;
      });
      await asking(standbyUrl, async (client) => {
        for (;;) {
          const { rows } = await client.query<{ isThere: boolean }>(
            `select pg_last_wal_replay_lsn() >= $1::pg_lsn as "isThere"`,
            [written],
          );
          if (rows[0]!.isThere) return;
          await sleep(1);
        }
      });
    },
    async pauseReplay() {
      await asking(standbyUrl, (client) => client.query("select pg_wal_replay_pause()"));
      return async () => {
        await asking(standbyUrl, (client) => client.query("select pg_wal_replay_resume()"));
      };
    },
    async startFork() {
      await stopServer(standby);
      await promisify(execFile)("cp", ["-a", standby.dataDir, fork.dataDir]);
      await rm(join(fork.dataDir, "standby.signal"));
      const forkPort = await startServer(fork, settings);
      await startServer(standby, followed, standbyPort);
      return urlForDatabase(urlForDatabase(urlOn(forkPort), "postgres"), "dex");
    },
    async remove() {
      await stopServer(fork);
      await stopServer(standby);
      await stopServer(primary);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
