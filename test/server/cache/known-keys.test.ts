// How the keys of requests that came before are kept in bounded memory.
import { KnownKeys } from "../../../server/cache/known-keys.ts";

it("gives back the key of a text that it has, and of no other", () => {
  const keys = new KnownKeys(100_000);
  keys.keep("a text", "its key");
  expect(keys.get("a text")).toBe("its key");
  expect(keys.get("a text ")).toBeUndefined();
});

it("stays within its memory, and keeps what is asked for again", () => {
  const keys = new KnownKeys(100_000);
  for (let n = 0; n < 1000; n += 1) {
    keys.keep(`text ${n}`.padEnd(1000), `key ${n}`);
    expect(keys.get("text 0".padEnd(1000))).toBe("key 0");
  }
  const found = Array.from({ length: 1000 }, (_, n) => n).filter(
    (n) => keys.get(`text ${n}`.padEnd(1000)) !== undefined,
  );
  // Of 2,270 bytes each.
  expect(found.length).toBeLessThanOrEqual(44);
  expect(found.length).toBeGreaterThan(20);
  expect([found.at(0), found.at(-1)]).toEqual([0, 999]);
});

it("does not keep what takes more than half of it", () => {
  const keys = new KnownKeys(100_000);
  keys.keep("x".repeat(30_000), "key");
  expect(keys.get("x".repeat(30_000))).toBeUndefined();
});
