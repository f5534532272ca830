// The etcd in which the Patronis of a cluster agree on the primary.
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../free-port.ts";
import { freezeAll, killAll } from "./processes.ts";

export class Etcd {
  /** The address and port of its clients. */
  readonly address: string;
  readonly #process: ChildProcess;

  private constructor(address: string, process: ChildProcess) {
    this.address = address;
    this.#process = process;
  }

  static async start(folder: string): Promise<Etcd> {
    const address = `127.0.0.1:${await freePort()}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    const started = spawn(
      "etcd",
      [
        // Of Debian 12: by its third API, Patroni 3.0 takes a lock back that another has got meanwhile.
        "--enable-v2=true",
        `--data-dir=${join(folder, "etcd")}`,
        `--listen-client-urls=http://${address}`,
        `--advertise-client-urls=http://${address}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=default=${peer}`,
      ],
      { stdio: "ignore" },
    );
    const etcd = new Etcd(address, started);
    while (!(await etcd.#isHealthy())) {
      if (started.exitCode !== null) throw new Error(`etcd has ended: ${started.exitCode}`);
      await sleep(50);
    }
    return etcd;
  }

  /** Halts it, and returns what wakes it. */
  freeze(): () => void {
    return freezeAll([this.#process.pid ?? 0]);
  }

  async kill(): Promise<void> {
    await killAll([this.#process.pid ?? 0]);
  }

  async #isHealthy(): Promise<boolean> {
    return fetch(`http://${this.address}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}
