// The suite of the market pages in Chromium, by `npm run test:page`.
import base from "./jest.config.js";

export default {
  ...base,
  testMatch: ["<rootDir>/test/page/*.page.ts"],
};
