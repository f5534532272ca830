// HAProxy in front of the services, and in front of the primary for writers.
import { spawn, execFile, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../free-port.ts";
import { HAPROXY } from "./programs.ts";

export interface Behind {
  /** Ports of the three services. */
  services: readonly number[];
  /** Port of the PostgreSQL that an operator has named as the primary, or those of each PostgreSQL and its Patroni. */
  writers: number | readonly Managed[];
}

export interface Managed {
  port: number;
  patroniPort: number;
}

const deployed = (file: string): Promise<string> =>
  readFile(fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url)), "utf8");

/** The configuration's `hard-stop-after`. */
export const HARD_STOP_SECONDS = 10;

/** The names of the services and of each PostgreSQL in the configuration. */
const SERVERS = ["ONE", "TWO", "THREE"];

export class Balancer {
  /** Where clients ask. */
  readonly url: string;
  /** Where writers connect. */
  readonly writingPort: number;
  /** Where a standby is read, with Patroni. */
  readonly readingPort: number;
  readonly #folder: string;
  readonly #port: number;
  #behind: Behind;
  #process: ChildProcess | undefined;
  #said = "";

  private constructor(folder: string, ports: [number, number, number], behind: Behind) {
    this.#folder = folder;
    [this.#port, this.writingPort, this.readingPort] = ports;
    this.#behind = behind;
    this.url = `http://127.0.0.1:${this.#port}`;
  }

  static async start(folder: string, behind: Behind): Promise<Balancer> {
    const balancer = new Balancer(
      folder,
      [await freePort(), await freePort(), await freePort()],
      behind,
    );
    await balancer.#configure();
    const started = spawn(HAPROXY, ["-W", "-f", balancer.#configuration], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const output of [started.stdout, started.stderr]) {
      output.setEncoding("utf8").on("data", (said: string) => (balancer.#said += said));
    }
    balancer.#process = started;
    await balancer.#untilAnotherWorker("");
    return balancer;
  }

  /** Gives writers another primary, as an operator does: a line of the configuration, and a reload. */
  async leadWritersTo(primary: number): Promise<void> {
    this.#behind = { ...this.#behind, writers: primary };
    await this.reload();
  }

  /** Has it read its configuration again: a new worker takes over, the old one finishes what it has. */
  async reload(): Promise<void> {
    const before = await this.#worker();
    await this.#configure();
    this.#process?.kill("SIGUSR2");
    await this.#untilAnotherWorker(before);
  }

  /** Resolves when it has all services in use. */
  async untilAllUp(): Promise<void> {
    while ((await this.#servicesUp()) < this.#behind.services.length) await sleep(20);
  }

  /** Resolves when it has taken this service, from 0 on, out of use. */
  async untilDown(service: number): Promise<void> {
    while ((await this.#statusOf(service)).startsWith("UP")) await sleep(20);
  }

  async stop(): Promise<void> {
    const ended = this.#process && once(this.#process, "exit");
    this.#process?.kill("SIGTERM");
    await ended;
  }

  get #configuration(): string {
    return join(this.#folder, "haproxy.cfg");
  }

  get #socket(): string {
    return join(this.#folder, "haproxy.sock");
  }

  /** Writes the configuration of deploy/ with this cluster's addresses, and a socket to ask for its state. */
  async #configure(): Promise<void> {
    const { services, writers } = this.#behind;
    const ports: Record<string, number | undefined> = {
      LISTEN: this.#port,
      WRITER_LISTEN: this.writingPort,
      READER_LISTEN: this.readingPort,
      PRIMARY: typeof writers === "number" ? writers : undefined,
    };
    SERVERS.forEach((name, n) => {
      ports[`SERVICE_${name}`] = services[n];
      if (typeof writers === "number") return;
      ports[`POSTGRES_${name}`] = writers[n]?.port;
      ports[`PATRONI_PORT_${name}`] = writers[n]?.patroniPort;
    });
    const file = typeof writers === "number" ? "writers-by-hand.cfg" : "writers.cfg";
    const configured = `${await deployed("haproxy.cfg")}\n${await deployed(file)}`.replace(
      /"\$\{(\w+)\}"/g,
      (_, name: string) => `${name.startsWith("PATRONI_PORT") ? "" : "127.0.0.1:"}${ports[name]}`,
    );
    const socket = `global\n  stats socket ${this.#socket} mode 600 level admin expose-fd listeners\n`;
    await writeFile(this.#configuration, `${configured}\n${socket}`);
    await promisify(execFile)(HAPROXY, ["-c", "-q", "-f", this.#configuration]);
  }

  async #ask(command: string): Promise<string> {
    const socket = createConnection(this.#socket);
    socket.end(`${command}\n`);
    return text(socket);
  }

  /** The process number of the worker that answers now; "" if none does. */
  async #worker(): Promise<string> {
    const info = await this.#ask("show info").catch(() => "");
    return /^Pid: (\d+)$/m.exec(info)?.[1] ?? "";
  }

  async #untilAnotherWorker(before: string): Promise<void> {
    for (;;) {
      const now = await this.#worker();
      if (now !== "" && now !== before) return;
      if (this.#process?.exitCode !== null) throw new Error(`HAProxy has ended:\n${this.#said}`);
      await sleep(10);
    }
  }

  /** As in its statistics: UP, DOWN, or on the way to one of them. */
  async #statusOf(service: number): Promise<string> {
    const lines = (await this.#ask("show stat").catch(() => "")).split("\n");
    const column = lines[0]?.split(",").indexOf("status") ?? 0;
    const line = lines.find((one) =>
      one.startsWith(`services,${SERVERS[service]?.toLowerCase()},`),
    );
    return line?.split(",")[column] ?? "";
  }

  async #servicesUp(): Promise<number> {
    const all = await Promise.all(this.#behind.services.map((_, n) => this.#statusOf(n)));
    return all.filter((status) => status === "UP").length;
  }
}
