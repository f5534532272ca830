// What is kept of counts: how much of it, and under which keys.
import {
  KeptCounts,
  keyOf,
  marksWith,
  type Mark,
} from "../../../../server/graphql/totals/kept-counts.ts";

const mark = (upTo: bigint, count = 0) => ({ upTo, count });
const kept = (count: number) => ({ epoch: "0", marks: [mark(7n, count)] });

it("keeps the counts last asked for, and no more than so many", () => {
  const counts = new KeptCounts(2);
  counts.keep("a", kept(1));
  counts.keep("b", kept(2));
  counts.recall("a");
  counts.keep("c", kept(3));
  expect(counts.recall("a")).toEqual(kept(1));
  expect(counts.recall("b")).toBeUndefined();
  expect(counts.recall("c")).toEqual(kept(3));
  expect(counts.size).toBe(2);
});

it("keeps the newer count of the same rows", () => {
  const counts = new KeptCounts();
  counts.keep("a", kept(1));
  counts.keep("a", kept(2));
  expect(counts.recall("a")).toEqual(kept(2));
  expect(counts.size).toBe(1);
});

const marksOf = (...ids: bigint[]) =>
  ids
    .reduce<Mark[]>((standing, upTo) => marksWith(mark(upTo), standing), [])
    .map(({ upTo }) => upTo);

it("keeps the newest mark, and behind it the oldest one of a span of ids", () => {
  expect(marksOf(7n)).toEqual([7n]);
  expect(marksOf(7n, 8n)).toEqual([8n, 7n]);
  expect(marksOf(7n, 8n, 9n)).toEqual([9n, 7n]);
  expect(marksOf(7n, 8n, 9n, 10_005n)).toEqual([10_005n, 7n]);
  expect(marksOf(7n, 8n, 9n, 10_005n, 10_006n, 19_999n)).toEqual([19_999n, 10_005n, 7n]);
  expect(marksOf(7n, 10_005n, 19_999n, 20_000n, 20_001n)).toEqual([20_001n, 20_000n, 10_005n]);
});

it("keeps one mark of an id that was counted up to twice", () => {
  expect(marksOf(7n, 8n, 8n)).toEqual([8n, 7n]);
  expect(marksOf(7n, 7n)).toEqual([7n]);
});

it("keys the same arguments alike, in whatever order their fields come", () => {
  expect(keyOf("t", { filter: { b: { in: ["1", "2"] }, a: null }, condition: undefined })).toBe(
    keyOf("t", { filter: { a: null, b: { in: ["1", "2"] } } }),
  );
});

it.each([
  ["null and absent", { condition: { a: null } }, { condition: {} }],
  ["a number and its text", { a: 1 }, { a: "1" }],
  ["the order of a list", { a: ["1", "2"] }, { a: ["2", "1"] }],
  ["what is in condition and in filter", { condition: { a: "1" } }, { filter: { a: "1" } }],
  ["where a field is", { a: { b: "1" }, c: {} }, { a: {}, c: { b: "1" } }],
])("tells %s apart", (_name, one, other) => {
  expect(keyOf("t", one)).not.toBe(keyOf("t", other));
});

it("tells tables apart", () => {
  expect(keyOf("t", {})).not.toBe(keyOf("u", {}));
});

it("makes a key of one length of however long arguments", () => {
  expect(keyOf("t", { a: "x".repeat(100_000) })).toHaveLength(keyOf("t", {}).length);
});
