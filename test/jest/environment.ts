// The realm in which a test file runs: that of its worker, where its files share the modules of the service. A file that leaves
// there what others would meet fails by its name.
import type { JestEnvironment, JestEnvironmentConfig } from "@jest/environment";
import { ModernFakeTimers } from "@jest/fake-timers";
import { ModuleMocker } from "jest-mock";
import { setTimeout as sleep } from "node:timers/promises";

/** What files share, a line each; graphql/production.ts sets one setting when it is loaded. */
const sharedState = (): string[] => [
  ...Object.entries(process.env)
    .filter(([name]) => name !== "GRAFAST_TIMEOUT_VALIDITY_MS")
    .map(([name, value]) => `${name}=${value}`),
  `the working folder ${process.cwd()}`,
  ...process
    .getActiveResourcesInfo()
    .filter((kind) => kind === "TCPServerWrap")
    .map((_, n) => `${n + 1} listening servers`),
];

export default class WorkerRealm implements JestEnvironment {
  readonly global = globalThis as unknown as JestEnvironment["global"];
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly #before = sharedState();
  // Jest replaces these, as if each file had its own process.
  readonly #exit = Object.getOwnPropertyDescriptor(process, "exit")!;
  readonly #builtin = Object.getOwnPropertyDescriptor(process, "getBuiltinModule")!;

  constructor({ globalConfig, projectConfig }: JestEnvironmentConfig) {
    if (globalConfig.watch || globalConfig.watchAll) {
      throw new Error("--watch would not load a changed module anew: run the tests again");
    }
    this.fakeTimersModern = new ModernFakeTimers({
      config: projectConfig,
      global: globalThis,
    });
  }

  setup(): Promise<void> {
    Object.defineProperty(process, "getBuiltinModule", this.#builtin);
    return Promise.resolve();
  }

  async teardown(): Promise<void> {
    this.fakeTimersModern.dispose();
    Object.defineProperty(process, "exit", this.#exit);
    // A server that has closed is counted for a few turns more.
    for (let turns = 0; turns < 100 && this.#left().length > 0; turns += 1) await sleep(10);
    const left = this.#left();
    if (left.length > 0) throw new Error(`This file leaves ${left.join(", ")}`);
  }

  #left(): string[] {
    const after = sharedState();
    const gone = this.#before.filter((line) => !after.includes(line) && !line.endsWith(" servers"));
    const came = after.filter((line) => !this.#before.includes(line));
    return [...came, ...gone.map((line) => `no ${line}`)];
  }

  exportConditions(): string[] {
    return ["node", "node-addons"];
  }

  getVmContext(): null {
    return null;
  }
}
