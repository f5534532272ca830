// One PostgreSQL that Patroni runs, by deploy/patroni.yml, at ports that it keeps.
import { spawn, type ChildProcess } from "node:child_process";
import { chown, mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { serverAccount, type Account } from "../../db/embedded/account.ts";
import { SUPERUSER } from "../../db/embedded/cluster.ts";
import { freePort } from "../free-port.ts";
import { asking, DATABASE, type Ask } from "./asking.ts";
import { familyOf, freezeAll, killAll } from "./processes.ts";
import { POSTGRES_BIN } from "./programs.ts";

export interface PatroniOptions {
  folder: string;
  name: string;
  password: string;
  /** The address of etcd. */
  etcd: string;
}

/** What Patroni says of a server; a standby that is synchronous may be promoted. */
type Role = "primary" | "replica" | "synchronous";

export class PatroniServer {
  readonly name: string;
  readonly port: number;
  readonly patroniPort: number;
  readonly url: string;
  readonly ask: Ask;
  readonly #options: PatroniOptions;
  readonly #account: Account | undefined;
  #patroni: ChildProcess | undefined;

  private constructor(options: PatroniOptions, ports: [number, number], account?: Account) {
    this.name = options.name;
    [this.port, this.patroniPort] = ports;
    this.url = `postgres://${SUPERUSER}:${options.password}@127.0.0.1:${this.port}/${DATABASE}`;
    this.ask = asking(this.url);
    this.#options = options;
    this.#account = account;
  }

  /** It is started later. */
  static async of(options: PatroniOptions): Promise<PatroniServer> {
    const home = join(options.folder, options.name);
    const account = await serverAccount(home);
    await mkdir(home, { mode: 0o700 });
    if (account !== undefined) await chown(home, account.uid, account.gid);
    await configure(options.folder);
    return new PatroniServer(options, [await freePort(), await freePort()], account);
  }

  /** Starts its Patroni, which starts PostgreSQL. */
  async start(): Promise<void> {
    const { folder, name, password, etcd } = this.#options;
    const home = join(folder, name);
    const log = await open(join(folder, `${name}.log`), "a");
    const address = `127.0.0.1:${this.port}`;
    const api = `127.0.0.1:${this.patroniPort}`;
    this.#patroni = spawn("patroni", [join(folder, "patroni.yml")], {
      ...this.#account,
      cwd: "/",
      env: {
        ...{ PATH: process.env["PATH"], LC_ALL: "C.UTF-8" },
        PATRONI_NAME: name,
        PATRONI_ETCD_HOSTS: etcd,
        PATRONI_POSTGRESQL_LISTEN: address,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: address,
        PATRONI_POSTGRESQL_DATA_DIR: join(home, "data"),
        PATRONI_POSTGRESQL_BIN_DIR: POSTGRES_BIN,
        PATRONI_POSTGRESQL_PGPASS: join(home, "pgpass"),
        PATRONI_RESTAPI_LISTEN: api,
        PATRONI_RESTAPI_CONNECT_ADDRESS: api,
        PATRONI_SUPERUSER_USERNAME: SUPERUSER,
        PATRONI_SUPERUSER_PASSWORD: password,
        PATRONI_REPLICATION_USERNAME: "replicator",
        PATRONI_REPLICATION_PASSWORD: password,
      },
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    await log.close();
  }

  /** Whether its Patroni says that it has this role. */
  async is(role: Role): Promise<boolean> {
    const url = `http://127.0.0.1:${this.patroniPort}/${role}`;
    const signal = AbortSignal.timeout(1000);
    return fetch(url, { signal }).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async until(role: Role): Promise<void> {
    while (!(await this.is(role))) await sleep(50);
  }

  /** Ends Patroni and all processes of PostgreSQL at once, as a machine that goes away. */
  async kill(): Promise<void> {
    await killAll([...this.#patroniProcess(), ...(await this.#postgresProcesses())]);
  }

  /** Ends all processes of PostgreSQL at once. */
  async killPostgres(): Promise<void> {
    await killAll(await this.#postgresProcesses());
  }

  /** Halts Patroni, and returns what wakes it. */
  freezePatroni(): () => void {
    return freezeAll(this.#patroniProcess());
  }

  /** Halts all processes of PostgreSQL, and resolves to what wakes them. */
  async freezePostgres(): Promise<() => void> {
    return freezeAll(await this.#postgresProcesses());
  }

  #patroniProcess(): number[] {
    const { pid } = this.#patroni ?? {};
    return pid === undefined ? [] : [pid];
  }

  async #postgresProcesses(): Promise<number[]> {
    const file = join(this.#options.folder, this.name, "data", "postmaster.pid");
    const pid = Number.parseInt(await readFile(file, "utf8").catch(() => ""), 10);
    return Number.isInteger(pid) ? familyOf(pid) : [];
  }
}

/** What is changed of deploy/patroni.yml: a failover comes sooner, and no disk is tried. */
const CHANGED: [RegExp, string][] = [
  [/ttl: \d+/, "ttl: 10"],
  [/loop_wait: \d+/, "loop_wait: 1"],
  [/retry_timeout: \d+/, "retry_timeout: 3"],
  [/wal_keep_size: .*/, 'wal_keep_size: 512MB\n        fsync: "off"'],
];

async function configure(folder: string): Promise<void> {
  const file = fileURLToPath(new URL("../../deploy/patroni.yml", import.meta.url));
  const deployed = await readFile(file, "utf8");
  const changed = CHANGED.reduce((text, [pattern, line]) => {
    if (!pattern.test(text)) throw new Error(`deploy/patroni.yml has no line of ${pattern}`);
    return text.replace(pattern, line);
  }, deployed);
  await writeFile(join(folder, "patroni.yml"), changed);
}
