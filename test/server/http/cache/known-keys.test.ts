// How the keys of requests that came before are kept in bounded memory.
import { crc32 } from "node:zlib";
import { KnownKeys, type Written } from "../../../../server/http/cache/known-keys.ts";

const written = (body: string, more: Partial<Written> = {}): Written => ({
  body: Buffer.from(body),
  accept: undefined,
  encoding: undefined,
  ...more,
});

it("gives back the key of a request that it has, and of no other", () => {
  const keys = new KnownKeys(100_000);
  const body = Buffer.from("a body");
  keys.keep(written("", { body }), "its key");
  // What it came in is read into again.
  body.fill(0);
  expect(keys.get(written("a body"))).toBe("its key");
  expect(keys.get(written("a body "))).toBeUndefined();
  expect(keys.get(written("a bodz"))).toBeUndefined();
});

it("tells requests apart by what they accept", () => {
  const keys = new KnownKeys(100_000);
  const all = ["a", "b", undefined].flatMap((accept) =>
    ["a", "b", undefined].map((encoding) => written("a body", { accept, encoding })),
  );
  // Eight of one body are told apart; the ninth drives out the first.
  for (const [n, one] of all.entries()) keys.keep(one, `key ${n}`);
  expect(all.map((one) => keys.get(one))).toEqual([
    undefined,
    ...["key 1", "key 2", "key 3", "key 4", "key 5", "key 6", "key 7", "key 8"],
  ]);
});

it("tells bodies of one checksum apart", () => {
  const bodies = new Map<number, string>();
  let [n, same] = [0, ""];
  // Of some 77,000 texts two have the same 32 bits, as likely as not.
  for (; same === ""; n += 1) {
    const sum = crc32(`body ${n * n}`);
    const other = bodies.get(sum);
    if (other === undefined) bodies.set(sum, `body ${n * n}`);
    else same = other;
  }
  const keys = new KnownKeys(100_000);
  keys.keep(written(same), "its key");
  const another = written(`body ${(n - 1) ** 2}`);
  expect(crc32(another.body)).toBe(crc32(same));
  expect(keys.get(another)).toBeUndefined();
  keys.keep(another, "another key");
  expect([keys.get(written(same)), keys.get(another)]).toEqual(["its key", "another key"]);
});

it("stays within its memory, and keeps what is asked for again", () => {
  const keys = new KnownKeys(100_000);
  const nth = (n: number): Written => written(`body ${n}`.padEnd(1000));
  for (let n = 0; n < 1000; n += 1) {
    keys.keep(nth(n), `key ${n}`);
    expect(keys.get(nth(0))).toBe("key 0");
  }
  const found = Array.from({ length: 1000 }, (_, n) => n).filter(
    (n) => keys.get(nth(n)) !== undefined,
  );
  // Of 1,526 bytes each.
  expect(found.length).toBeLessThanOrEqual(65);
  expect(found.length).toBeGreaterThan(31);
  expect([found.at(0), found.at(-1)]).toEqual([0, 999]);
});

it("does not keep what takes more than half of it", () => {
  const keys = new KnownKeys(100_000);
  keys.keep(written("x".repeat(60_000)), "key");
  expect(keys.get(written("x".repeat(60_000)))).toBeUndefined();
});
