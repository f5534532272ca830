// The suite of the examples' GraphQL clients, by `npm run test:clients`, which installs their packages.
import base from "./jest.config.js";

export default {
  ...base,
  testMatch: ["<rootDir>/test/clients/*.clients.ts"],
  // Each file builds the examples in their folder.
  maxWorkers: 1,
};
