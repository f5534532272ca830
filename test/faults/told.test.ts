// What the fault tests and the soak take for an answer that says to ask again.
import { isToldUnavailable } from "./told.ts";

const withCodes = (...codes: string[]): string =>
  JSON.stringify({ data: null, errors: codes.map((code) => ({ extensions: { code } })) });

describe("an answer that says of itself to be unavailable just now", () => {
  test("is a 503 that says when to ask again", () => {
    expect(isToldUnavailable(503, ["Retry-After", "1"], "{}")).toBe(true);
    expect(isToldUnavailable(503, [], "{}")).toBe(false);
  });

  test.each(["UNAVAILABLE", "LOCKED"])("is GraphQL's with code %s", (code) => {
    expect(isToldUnavailable(200, [], withCodes(code))).toBe(true);
  });

  test("is none that has another error beside", () => {
    expect(isToldUnavailable(200, [], withCodes("LOCKED", "INTERNAL_SERVER_ERROR"))).toBe(false);
    expect(isToldUnavailable(500, [], withCodes("LOCKED"))).toBe(false);
  });

  test("is none that has data alone", () => {
    expect(isToldUnavailable(200, [], JSON.stringify({ data: {} }))).toBe(false);
  });
});
