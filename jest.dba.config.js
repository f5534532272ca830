// The slow suite of those who evolve the schema, by `npm run test:dba`: it runs the commands and the
// service as they do, and watches files.
import base from "./jest.config.js";

export default {
  ...base,
  testMatch: ["<rootDir>/test/dba/*.dba.ts"],
};
