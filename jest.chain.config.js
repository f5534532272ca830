// The suite against a real chain, by `npm run test:chain`, which installs the chain's package.
import base from "./jest.config.js";

export default {
  ...base,
  testMatch: ["<rootDir>/test/chain/**/*.chain.ts"],
};
