// Jest on a real PostgreSQL: test/cluster-setup.ts starts one for the whole run. SUITE names the suite, for which
// `npm run test:suite -- NAME` sets it. Node itself loads what is tested, as in production and once a worker: Jest would load
// PostGraphile and its plugins anew for each file, which takes 2 seconds of processor time.
import { fileURLToPath } from "node:url";

// What is tested is what runs in production: PostGraphile's development mode plans otherwise.
globalThis.process.env.GRAPHILE_ENV ??= "production";

// What tests start as processes is compiled once, which is half of what a start takes.
globalThis.process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
  new globalThis.URL("node_modules/.cache/node", import.meta.url),
);

const counts = {
  globalSetup: "<rootDir>/test/faults/begin-counts.ts",
  globalTeardown: "<rootDir>/test/faults/publish-counts.ts",
};

/** Each suite has the files *.NAME.ts of test/ and packages/*\/test/, and these settings. */
const SUITES = {
  // Of `npm test`. Its files wait a third of their time: two workers use 1.3 cores.
  test: { maxWorkers: 3 },
  // What takes `npm test` beyond the minutes in which it is run after each change.
  slow: {},
  process: {},
  dba: {},
  // What is published of them is measured by one worker: tools/programs.ts.
  faults: counts,
  // A cluster has processes for more than two cores.
  cluster: {
    ...counts,
    globalTeardown: "<rootDir>/test/cluster/publish-events.ts",
    maxWorkers: 1,
  },
  // Installs every package anew.
  image: {},
  // Each file builds the examples in their folder.
  clients: { maxWorkers: 1 },
  page: {},
  chain: {},
};

const name = globalThis.process.env.SUITE ?? "test";
if (!Object.hasOwn(SUITES, name)) {
  throw new Error(`SUITE is '${name}', and must be one of ${Object.keys(SUITES).join(", ")}`);
}

export default {
  testMatch: [`<rootDir>/{test,packages/*/test}/**/*.${name}.ts`],
  // Node strips the types.
  transform: {},
  runtime: "<rootDir>/test/jest/runtime.ts",
  testEnvironment: "<rootDir>/test/jest/environment.ts",
  globalSetup: "<rootDir>/test/cluster-setup.ts",
  globalTeardown: "<rootDir>/test/cluster-teardown.ts",
  // A file mostly waits for its database or its service: one worker leaves the second core idle.
  maxWorkers: 2,
  // Some files leave much behind, which the collector would go through for all that follow.
  workerIdleMemoryLimit: "600MB",
  // Not in the folder for temporary files, which CI makes anew for each suite. Jest keeps there which files failed last.
  cacheDirectory: `<rootDir>/node_modules/.cache/jest/${name}`,
  // Generous: setting up 200,000 trades beside other work takes its time.
  testTimeout: 240_000,
  ...SUITES[name],
};
