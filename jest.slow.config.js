// Slow tests of everything, by `npm run test:slow`: those that take `npm test` beyond the minutes in which it is run
// after each change.
import base from "./jest.config.js";

export default {
  ...base,
  testMatch: ["<rootDir>/test/**/*.slow.ts"],
};
