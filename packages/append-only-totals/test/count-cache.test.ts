// The cache of row counts: its checkpoints and its keys.
import { CountCache, countKey, withCheckpoint, type Checkpoint } from "../count-cache.ts";

const checkpoint = (upTo: bigint): Checkpoint => ({ upTo, count: 0 });

const checkpointsOf = (...ids: bigint[]) =>
  ids
    .reduce<Checkpoint[]>((valid, upTo) => withCheckpoint(checkpoint(upTo), valid), [])
    .map(({ upTo }) => upTo);

it("keeps the newest checkpoint and the oldest one of each span of ids", () => {
  expect(checkpointsOf(7n)).toEqual([7n]);
  expect(checkpointsOf(7n, 8n)).toEqual([8n, 7n]);
  expect(checkpointsOf(7n, 8n, 9n)).toEqual([9n, 7n]);
  expect(checkpointsOf(7n, 8n, 9n, 10_005n)).toEqual([10_005n, 7n]);
  expect(checkpointsOf(7n, 8n, 9n, 10_005n, 10_006n, 19_999n)).toEqual([19_999n, 10_005n, 7n]);
  expect(checkpointsOf(7n, 10_005n, 19_999n, 20_000n, 20_001n)).toEqual([
    20_001n,
    20_000n,
    10_005n,
  ]);
});

it("keeps one checkpoint of an id that was counted up to twice", () => {
  expect(checkpointsOf(7n, 8n, 8n)).toEqual([8n, 7n]);
  expect(checkpointsOf(7n, 7n)).toEqual([7n]);
});

it("makes the same key of the same arguments in any order of fields", () => {
  expect(countKey("t", { filter: { b: { in: ["1", "2"] }, a: null }, condition: undefined })).toBe(
    countKey("t", { filter: { a: null, b: { in: ["1", "2"] } } }),
  );
});

it.each([
  ["null and absent", { condition: { a: null } }, { condition: {} }],
  ["a number and its text", { a: 1 }, { a: "1" }],
  ["the order of a list", { a: ["1", "2"] }, { a: ["2", "1"] }],
  ["condition and filter", { condition: { a: "1" } }, { filter: { a: "1" } }],
  ["the position of a field", { a: { b: "1" }, c: {} }, { a: {}, c: { b: "1" } }],
])("makes different keys for %s", (_name, one, other) => {
  expect(countKey("t", one)).not.toBe(countKey("t", other));
});

it("makes different keys for different tables", () => {
  expect(countKey("t", {})).not.toBe(countKey("u", {}));
});

it("makes keys of the same length for arguments of any length", () => {
  expect(countKey("t", { a: "x".repeat(100_000) })).toHaveLength(countKey("t", {}).length);
});

it("forgets the count that was not used for longest", () => {
  const cache = new CountCache();
  const keys = Array.from({ length: 10_001 }, (_, n) => String(n));
  for (const key of keys.slice(0, -1)) cache.set(key, { epoch: key, checkpoints: [] });
  expect(cache.get("0")?.epoch).toBe("0");
  cache.set("10000", { epoch: "10000", checkpoints: [] });
  expect(keys.filter((key) => cache.get(key) === undefined)).toEqual(["1"]);
});
