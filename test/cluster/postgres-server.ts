// One PostgreSQL of the cluster, at a port that it keeps: a primary, or a standby that streams from one.
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import {
  runningServer,
  startServer,
  stopServer,
  SUPERUSER,
  type Cluster,
  run,
} from "../../db/embedded/cluster.ts";
import { initialiseOther, openOther } from "../other-postgres.ts";
import { freePort } from "../free-port.ts";
import { asking, DATABASE, type Ask } from "./asking.ts";
import { familyOf, freezeAll, killAll } from "./processes.ts";
import { POSTGRES_BIN } from "./programs.ts";

const SETTINGS = {
  // What survives the loss of a machine is on another one: this tries no disks.
  fsync: "off",
  // A commit is seen after a standby has applied it, so that a standby can take over without a loss.
  synchronous_commit: "remote_apply",
  // A standby that was away finds what it has missed.
  wal_keep_size: "512MB",
  // pg_rewind takes it.
  wal_log_hints: "on",
  // A standby shows what it has replayed, and cancels no statement for more of it.
  hot_standby_feedback: "off",
  max_standby_streaming_delay: "-1",
  // Both sides notice soon that the other is gone, and standbys look again soon.
  wal_receiver_timeout: "5s",
  wal_sender_timeout: "5s",
  wal_retrieve_retry_interval: "200ms",
  max_connections: "80",
};

export class PostgresServer {
  readonly name: string;
  readonly port: number;
  readonly #cluster: Cluster;
  readonly #password: string;
  readonly ask: Ask;

  private constructor(name: string, port: number, cluster: Cluster, password: string) {
    this.name = name;
    this.port = port;
    this.#cluster = cluster;
    this.#password = password;
    this.ask = asking(this.url);
  }

  /** Makes a primary of an empty cluster, and starts it. */
  static async primary(folder: string, name: string, password: string): Promise<PostgresServer> {
    const cluster = await openOther(join(folder, name), POSTGRES_BIN);
    await initialiseOther(cluster, password, join(folder, "password"));
    // In the file, and not on the command line: pg_rewind starts the server by itself.
    const lines = Object.entries(SETTINGS).map(([setting, value]) => `${setting} = '${value}'\n`);
    await appendFile(join(cluster.dataDir, "postgresql.conf"), lines.join(""));
    const server = new PostgresServer(name, await freePort(), cluster, password);
    await server.start();
    return server;
  }

  /** Makes a standby of a base backup, and starts it. */
  static async standbyOf(
    primary: PostgresServer,
    folder: string,
    name: string,
  ): Promise<PostgresServer> {
    const cluster = await openOther(join(folder, name), POSTGRES_BIN);
    const password = primary.#password;
    const server = new PostgresServer(name, await freePort(), cluster, password);
    await server.#run("pg_basebackup", [
      `--dbname=${primary.#conninfo}`,
      `--pgdata=${cluster.dataDir}`,
      "--write-recovery-conf",
      "--checkpoint=fast",
    ]);
    await server.start();
    return server;
  }

  /** The superuser's URL of the exchange's database. */
  get url(): string {
    return `postgres://${SUPERUSER}:${this.#password}@127.0.0.1:${this.port}/${DATABASE}`;
  }

  get #conninfo(): string {
    return `host=127.0.0.1 port=${this.port} user=${SUPERUSER} password=${this.#password} dbname=postgres`;
  }

  async start(): Promise<void> {
    // Standbys are known to a primary by the name of their cluster.
    await startServer(this.#cluster, { cluster_name: this.name }, this.port);
  }

  /** Stops it as an operator does. */
  async stop(): Promise<void> {
    await stopServer(this.#cluster);
  }

  /** Ends all its processes at once, as a machine that goes away. */
  async kill(): Promise<void> {
    await killAll(await this.#processes());
  }

  /** Halts all its processes, which keep their connections; resolves to what wakes them. */
  async freeze(): Promise<() => void> {
    return freezeAll(await this.#processes());
  }

  /** Makes this standby the primary. */
  async promote(): Promise<void> {
    await this.ask((client) => client.query("select pg_promote()"), "postgres");
    // pg_rewind reads the new timeline from the last checkpoint.
    await this.ask((client) => client.query("checkpoint"), "postgres");
  }

  /** Has this standby stream from another primary. */
  async follow(primary: PostgresServer): Promise<void> {
    await this.ask(async (client) => {
      const conninfo = client.escapeLiteral(primary.#conninfo);
      await client.query(`alter system set primary_conninfo = ${conninfo}`);
      await client.query("select pg_reload_conf()");
    }, "postgres");
  }

  /** Makes a standby of a former primary that was killed. */
  async rejoin(primary: PostgresServer): Promise<void> {
    await this.#run("pg_rewind", [
      `--source-server=${primary.#conninfo}`,
      `--target-pgdata=${this.#cluster.dataDir}`,
      "--write-recovery-conf",
    ]);
    await this.start();
  }

  /** How much of the primary's log it has received, as a number that grows. */
  async received(): Promise<bigint> {
    return this.ask(async (client) => {
      const { rows } = await client.query<{ bytes: string }>(
        "select pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::text as bytes",
      );
      return BigInt(rows[0]?.bytes ?? 0);
    }, "postgres");
  }

  /** How many standbys stream from it. */
  async streaming(): Promise<number> {
    return this.ask(async (client) => {
      const { rows } = await client.query<{ streaming: number }>(
        "select count(*)::integer as streaming from pg_stat_replication where state = 'streaming'",
      );
      return rows[0]?.streaming ?? 0;
    }, "postgres");
  }

  /** From now on, a commit of this primary waits for a standby; copies of it do the same once promoted. */
  async waitForStandby(names: readonly string[]): Promise<void> {
    await this.ask(async (client) => {
      await client.query(
        `alter system set synchronous_standby_names = 'ANY 1 (${names.join(", ")})'`,
      );
      await client.query("select pg_reload_conf()");
    }, "postgres");
  }

  /** The postmaster and its children. */
  async #processes(): Promise<number[]> {
    const postmaster = await runningServer(this.#cluster);
    return postmaster === undefined ? [] : familyOf(postmaster);
  }

  async #run(program: string, args: string[]): Promise<void> {
    await run(this.#cluster.account, join(POSTGRES_BIN, program), args);
  }
}
