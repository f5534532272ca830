// The slow suite of a cluster, by `npm run test:cluster`: PostgreSQL with standbys, services and HAProxy, of which each
// part is stopped, frozen, killed or changed under load.
import base from "./jest.config.js";

export default {
  ...base,
  testMatch: ["<rootDir>/test/cluster/*.cluster.ts"],
  globalSetup: "<rootDir>/test/faults/begin-counts.ts",
  globalTeardown: "<rootDir>/test/cluster/publish-events.ts",
};
