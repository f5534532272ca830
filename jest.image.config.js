// The tests that carry out the Dockerfile, which install every package anew.
import usual from "./jest.config.js";

export default {
  ...usual,
  testMatch: ["<rootDir>/test/image/**/*.test.ts"],
  testPathIgnorePatterns: [],
};
