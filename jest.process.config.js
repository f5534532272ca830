// The slow suite of processes, by `npm run test:process`: the service as `npm start` runs it, and the
// embedded database, started, stopped and killed.
import base from "./jest.config.js";

export default {
  ...base,
  testMatch: ["<rootDir>/test/process/*.process.ts"],
};
