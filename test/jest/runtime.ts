// Loads a test file and all that it imports by Node itself: the modules of the service once a worker, those of tests anew for
// each file, since they have hooks and counters.
import type * as JestGlobals from "@jest/globals";
import type JestRuntime from "jest-runtime";
import { createRequire, registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const { default: Runtime } = require("jest-runtime") as typeof JestRuntime;

const OF_TESTS = /^file:(?!.*\/node_modules\/).*\/test\/.*\.ts$/;
let files = 0;

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const resolved = nextResolve(specifier, context);
    return OF_TESTS.test(resolved.url)
      ? { ...resolved, url: `${resolved.url}?${files}` }
      : resolved;
  },
});

export default class NodeRuntime extends Runtime {
  override unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  override async unstable_importModule(path: string): Promise<void> {
    const { jest } = this.requireModuleOrMock<typeof JestGlobals>(path, "@jest/globals");
    Object.assign(globalThis, { jest });
    files += 1;
    await import(pathToFileURL(path).href);
  }

  /** Those of Jest. Its first one keeps the handlers of events of the file that it was loaded for. */
  override requireInternalModule(from: string, to?: string): never {
    if (to !== undefined) return createRequire(from)(to) as never;
    Reflect.deleteProperty(require.cache, from);
    Reflect.deleteProperty(globalThis, Symbol.for("EVENT_HANDLERS"));
    return require(from) as never;
  }
}
