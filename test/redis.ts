// Runs the redis-server of this machine, if it has one.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

const PROGRAM = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"].find((path) =>
  existsSync(path),
);

/** Like `describe`; without redis-server it skips the tests and names the reason. */
export const describeWithRedis = (what: string, tests: () => void): void => {
  if (PROGRAM !== undefined) describe(what, tests);
  else {
    const why = "not tested, since this machine has none (apt-get install redis-server)";
    describe.skip(`${what}: ${why}`, tests);
  }
};

export class TestRedis {
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(port: number) {
    this.#port = port;
  }

  /** On a port that was free a moment ago; not started. */
  static async make(): Promise<TestRedis> {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    return new TestRedis(port);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}/0`;
  }

  async start(): Promise<void> {
    const args = ["--port", String(this.#port), "--bind", "127.0.0.1", "--save", ""];
    this.#child = spawn(PROGRAM ?? "", args, { stdio: "ignore" });
    await this.ask((redis) => redis.ping());
  }

  async ask<Answer>(question: (redis: Redis) => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const redis = new Redis(this.url, { lazyConnect: true, retryStrategy: () => null });
      redis.on("error", () => undefined);
      try {
        await redis.connect();
        return await question(redis);
      } catch (error) {
        if (this.#child?.exitCode !== null) throw error;
        await sleep(20);
      } finally {
        redis.disconnect();
      }
    }
  }

  freeze(): void {
    this.#child?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child?.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}
