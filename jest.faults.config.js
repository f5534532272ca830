// The slow suite of faults, by `npm run test:faults`. Each file starts a PostgreSQL of its own, which
// it stops, starves and freezes.
import base from "./jest.config.js";

export default {
  ...base,
  testMatch: ["<rootDir>/test/faults/*.faults.ts"],
  globalSetup: "<rootDir>/test/faults/begin-counts.ts",
  globalTeardown: "<rootDir>/test/faults/publish-counts.ts",
  // Faults are timed: another file's would be felt.
  maxWorkers: 1,
};
