// How finished answers are kept in bounded memory.
import { AnswerStore, type Answer } from "../../../../server/http/cache/answer-store.ts";

const anAnswer = (bytes: number): Answer => ({
  status: 200,
  headers: ["Content-Type", "application/json"],
  body: Buffer.alloc(bytes, "x"),
  etag: undefined,
});
const keep = (store: AnswerStore, key: string, bytes = 10_000): void =>
  store.keep(key, { answer: anAnswer(bytes), until: Infinity });

it("gives back what it keeps", () => {
  const store = new AnswerStore(100_000);
  store.keep("a", { answer: anAnswer(3), until: 7 });
  expect(store.get("a")).toMatchObject({ answer: anAnswer(3), until: 7 });
  expect(store.get("b")).toBeUndefined();
});

it("stays within its memory, and forgets what was not asked for longest", () => {
  const store = new AnswerStore(100_000);
  for (let n = 0; n < 1000; n += 1) {
    keep(store, `answer ${n}`);
    store.get("answer 0");
    expect(store.bytes).toBeLessThanOrEqual(100_000);
  }
  // Nine of about 11,100 bytes, with headers and overhead.
  const found = Array.from({ length: 1000 }, (_, n) => n).filter((n) => store.get(`answer ${n}`));
  expect(found).toEqual([0, 992, 993, 994, 995, 996, 997, 998, 999]);
});

it("makes room for a new answer even where every other was asked for again", () => {
  const store = new AnswerStore(100_000);
  for (let n = 0; n < 20; n += 1) {
    keep(store, `answer ${n}`);
    // From oldest to newest: the oldest of them makes room.
    for (let asked = 0; asked <= n; asked += 1) store.get(`answer ${asked}`);
  }
  const found = Array.from({ length: 20 }, (_, n) => n).filter((n) => store.get(`answer ${n}`));
  expect(found).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19]);
});

it("counts short answers by what they really take", () => {
  const store = new AnswerStore(100_000);
  for (let n = 0; n < 1000; n += 1) keep(store, `${n}`, 1);
  const found = Array.from({ length: 1000 }, (_, n) => n).filter((n) => store.get(`${n}`));
  expect(found.length).toBeLessThan(100);
});

it("counts an answer once, however often it is kept", () => {
  const store = new AnswerStore(100_000);
  keep(store, "a");
  const once = store.bytes;
  keep(store, "a");
  expect(store.bytes).toBe(once);
});

it("does not keep an answer that takes more than an eighth of it", () => {
  const store = new AnswerStore(100_000);
  keep(store, "small", 11_000);
  keep(store, "large", 12_500);
  expect(store.get("small")).toBeDefined();
  expect(store.get("large")).toBeUndefined();
});

it("is not held to the larger buffer that a body is a piece of", () => {
  const store = new AnswerStore(100_000);
  const body = Buffer.alloc(1_000_000).subarray(0, 5);
  store.keep("a", { answer: { ...anAnswer(0), body }, until: Infinity });
  const kept = store.get("a")?.answer.body as Buffer;
  expect(kept.buffer.byteLength).toBe(5);
});

it("is empty when it was cleared", () => {
  const store = new AnswerStore(100_000);
  keep(store, "a");
  store.clear();
  expect(store.get("a")).toBeUndefined();
  expect(store.bytes).toBe(0);
});
