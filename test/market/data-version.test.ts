// How the service learns that the data have changed.
import type { Database } from "../../db/connect.ts";
import { KnownVersion, type DataVersion } from "../../market/data-version.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { aTrade, registerMarkets, setHead, write } from "../factories.ts";

/** A database that answers the question for the version when it is told to. */
function aDatabase() {
  const waiting: PromiseWithResolvers<{ rows: DataVersion[] }>[] = [];
  const query = (): Promise<{ rows: DataVersion[] }> => {
    const asked = Promise.withResolvers<{ rows: DataVersion[] }>();
    waiting.push(asked);
    return asked.promise;
  };
  return {
    db: { query } as unknown as Database,
    /** How many questions wait for an answer. */
    asked: () => waiting.length,
    answer: (text: string) => waiting.shift()?.resolve({ rows: [{ text, hasHead: true }] }),
    fail: (error: unknown) => waiting.shift()?.reject(error),
  };
}

const logged: unknown[] = [];
const log = (error: unknown): number => logged.push(error);
beforeEach(() => (logged.length = 0));

/** The version of such a database, with a clock that stands where it is put. */
function aVersion({ checkMs = 50 } = {}) {
  const clock = { now: 0 };
  const { db, ...database } = aDatabase();
  const version = new KnownVersion({ db, checkMs, log, now: () => clock.now });
  return { ...database, clock, version };
}

/** The same, which has asked at 0. */
async function aVersionThatIsKnown(text: string, options: { checkMs?: number } = {}) {
  const made = aVersion(options);
  const asked = made.version.ask();
  made.answer(text);
  await asked;
  return made;
}

/** Lets everything that waits for an answer go on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the version", () => {
  it("is asked for once within its time, however many ask", async () => {
    const { version, clock, asked, answer } = aVersion();

    expect(version.known()).toBeUndefined();
    const all = Array.from({ length: 200 }, () => version.ask());
    expect(asked()).toBe(1);
    answer("A");

    for (const version of await Promise.all(all)) expect(version?.text).toBe("A");
    clock.now = 49.9;
    expect(version.known()?.text).toBe("A");
    clock.now = 50;
    expect(version.known()).toBeUndefined();
  });

  it("counts from when it was asked for, not from when it was answered", async () => {
    const { version, clock, answer } = aVersion();
    const first = version.ask();
    clock.now = 60;
    answer("A");
    await first;
    expect(version.known()).toBeUndefined();
  });

  it("is asked for once more for all who come when the question is too old for them", async () => {
    const { version, clock, asked, answer } = aVersion();
    const first = version.ask();
    clock.now = 50;
    const later = [version.ask(), version.ask()];
    expect(asked()).toBe(1);
    answer("A");
    expect((await first)?.text).toBe("A");
    await settle();
    expect(asked()).toBe(1);
    answer("B");
    for (const version of await Promise.all(later)) expect(version?.text).toBe("B");
  });

  it("is asked for ahead when half of its time is over, and no request waits while it holds", async () => {
    const { version, clock, asked, answer } = await aVersionThatIsKnown("A");

    clock.now = 24.9;
    expect([version.known()?.text, asked()]).toEqual(["A", 0]);
    clock.now = 25;
    expect([version.known()?.text, asked()]).toEqual(["A", 1]);
    clock.now = 49.9;
    expect([version.known()?.text, asked()]).toEqual(["A", 1]);
    answer("B");
    await settle();
    expect([version.known()?.text, asked()]).toEqual(["B", 0]);

    // B was asked for at 25: it stands until 75.
    clock.now = 74.9;
    expect([version.known()?.text, asked()]).toEqual(["B", 1]);
    clock.now = 75;
    expect(version.known()).toBeUndefined();
    const joined = version.ask();
    expect(asked()).toBe(1);
    answer("C");
    expect((await joined)?.text).toBe("C");
  });

  it("is not known any more once it was asked for ahead in vain", async () => {
    const { version, clock, fail } = await aVersionThatIsKnown("A");
    clock.now = 25;
    expect(version.known()?.text).toBe("A");
    fail(new Error("no such function"));
    await settle();
    expect(version.known()).toBeUndefined();
    expect(logged).toEqual([new Error("no such function")]);
  });

  it("is never known without asking where no time is given to it", async () => {
    const { version, asked } = await aVersionThatIsKnown("A", { checkMs: 0 });
    expect(version.known()).toBeUndefined();
    void version.ask();
    expect(asked()).toBe(1);
  });

  it("is not known while it cannot be read, and no request waits for it twice", async () => {
    const { version, asked, answer, fail } = aVersion();
    const first = version.ask();
    fail(new Error("no such function"));
    expect(await first).toBeUndefined();

    expect(await version.ask()).toBeUndefined();
    expect(await version.ask()).toBeUndefined();
    expect(asked()).toBe(1);
    fail(new Error("no such function"));
    await settle();
    expect(logged).toEqual([new Error("no such function")]);

    expect(await version.ask()).toBeUndefined();
    answer("A");
    await settle();
    expect(version.known()?.text).toBe("A");
  });

  it("leaves it to others to say that the database cannot be reached", async () => {
    const { db, fail } = aDatabase();
    const version = new KnownVersion({ db, checkMs: 50, log });
    const first = version.ask();
    fail(Object.assign(new Error("refused"), { syscall: "connect" }));
    expect(await first).toBeUndefined();
    expect(logged).toEqual([]);
  });
});

describe("on a real database", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await makeDatabase();
  });
  afterAll(() => database.drop());

  const version = async (): Promise<DataVersion | undefined> =>
    new KnownVersion({ db: database.reader, checkMs: 0, log }).ask();

  it("is another one after each committed write, whatever it wrote", async () => {
    const seen = [await version()];
    const writes = [
      () => registerMarkets(database.writer),
      () => write(database.writer, { trades: [aTrade({ hour: 1 })] }),
      () => setHead(database.writer, 2),
      () => database.writer.query("select ingest.take_back(0)"),
      () => database.owner.query("comment on table dex_trade is 'Trades.'"),
      () => database.owner.query("truncate dex_trade"),
    ];
    for (const each of writes) {
      await each();
      seen.push(await version());
    }
    expect(new Set(seen.map((each) => each?.text)).size).toBe(writes.length + 1);
    expect(seen.map((each) => each?.hasHead)).toEqual([
      false,
      false,
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(logged).toEqual([]);
  });

  it("is another one when a transaction ends that is not the oldest still open", async () => {
    const older = await database.writer.connect();
    const newer = await database.writer.connect();
    for (const client of [older, newer]) {
      await client.query("begin");
      await client.query("select pg_current_xact_id()");
    }
    const before = await version();
    await newer.query("commit");
    const after = await version();
    await older.query("rollback");
    for (const client of [older, newer]) client.release();
    expect(after?.text).not.toBe(before?.text);
  });
});
