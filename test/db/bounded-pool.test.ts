// The bounds of a pool: its queue, the time limits, and the connections it discards.
import type { PoolBounds } from "../../db/bounded-pool.ts";
import { PoolBusy } from "../../db/fair-queue.ts";
import { makePool, type Pool, type PooledClient } from "../../db/connect.ts";
import { useDatabase } from "../served.ts";

const database = useDatabase();
let pool: Pool;
afterEach(() => pool.end());

const bounded = (bounds: Omit<PoolBounds, "askedBy">, waitMs = 60_000): Pool =>
  (pool = makePool(database.url, {
    poolSize: 2,
    waitMs,
    bounds: { ...bounds, askedBy: () => client },
  }));

/** Who asks next. */
let client: string | undefined;

it("queues requests up to the limit, and rejects the next at once", async () => {
  bounded({ queue: 3, holdMs: 60_000 });
  const held = [await pool.connect(), await pool.connect()];
  const waiting = [1, 2, 3].map((n) => pool.query(`select ${n} as n`));

  await expect(pool.connect()).rejects.toThrow(PoolBusy);
  await expect(pool.query("select 4")).rejects.toThrow(PoolBusy);
  for (const client of held) client.release();

  const answers = await Promise.all(waiting);
  expect(answers.map(({ rows }) => rows[0]?.["n"])).toEqual([1, 2, 3]);
});

/** Asks once for each name, as that client; `served` gets the names in the order of service. */
const asked = (names: string, served: string[]): Promise<void>[] =>
  Array.from(names, (name) => {
    client = name;
    return pool.connect().then((connection) => {
      served.push(name);
      connection.release();
    });
  });

it("gives a free connection to the client that has the fewest, and then in turns", async () => {
  bounded({ queue: 10, holdMs: 60_000 });
  client = "a";
  const held = [await pool.connect(), await pool.connect()];
  const served: string[] = [];
  const answers = asked("aaaabbc", served);

  // The other one stays held, so that b and c have fewer than a.
  held.pop()?.release();
  await Promise.all(answers);
  expect(served.join("")).toBe("bcbaaaa");
  held.pop()?.release();
});

it("serves two clients that hold nothing by turns", async () => {
  bounded({ queue: 10, holdMs: 60_000 });
  client = "c";
  const held = [await pool.connect(), await pool.connect()];
  const served: string[] = [];
  const answers = asked("aaaabb", served);
  held.pop()?.release();
  await Promise.all(answers);
  expect(served.join("")).toBe("ababaa");
  held.pop()?.release();
});

it("serves newer clients before the client that has just had a connection", async () => {
  bounded({ queue: 10, holdMs: 60_000 });
  client = "d";
  const others = await pool.connect();
  client = "a";
  const own = await pool.connect();
  const served: string[] = [];
  const answers = asked("aabc", served);
  own.release();
  await Promise.all(answers);
  expect(served.join("")).toBe("bcaa");
  others.release();
});

it("reports those that wait behind others of their client, for as long as they do", async () => {
  const behind: string[] = [];
  const behindOwn = () => {
    const of = client!;
    behind.push(of);
    return () => void behind.splice(behind.indexOf(of), 1);
  };
  bounded({ queue: 3, holdMs: 60_000, behindOwn });
  client = "a";
  const held = [await pool.connect()];
  client = "b";
  held.push(await pool.connect());
  const served: string[] = [];
  const answers = asked("cac", served);
  // The first c has nothing of its own before it.
  expect(behind).toEqual(["a", "c"]);
  // It takes the place of the last c.
  const d = asked("d", served);
  expect(behind).toEqual(["a"]);
  for (const connection of held) connection.release();
  await Promise.allSettled([...answers, ...d]);
  expect(behind).toEqual([]);
});

it("refuses, where the queue is full, the last of the client that has most in it", async () => {
  bounded({ queue: 3, holdMs: 60_000 });
  client = "a";
  const held = [await pool.connect(), await pool.connect()];
  const served: string[] = [];
  const answers = Promise.allSettled(asked("aaabb", served));

  // Each of b and c takes the place of the last a; the second b would have more than the others.
  const c = Promise.all(asked("c", served));
  await expect(Promise.all(asked("d", served))).rejects.toThrow(PoolBusy);
  for (const connection of held) connection.release();
  await c;
  const refused = (await answers).map(({ status }) => status === "rejected");
  expect(refused).toEqual([false, true, true, false, true]);
});

it("rejects nothing while a connection is free, even with no queue", async () => {
  bounded({ queue: 0, holdMs: 60_000 });
  for (let n = 0; n < 5; n += 1) await pool.query("select 1");
  const held = [await pool.connect(), await pool.connect()];
  await expect(pool.query("select 1")).rejects.toThrow(PoolBusy);
  for (const client of held) client.release();
  await pool.query("select 1");
});

it("rejects a request that waits longer than waitMs", async () => {
  bounded({ queue: 10, holdMs: 60_000 }, 50);
  // A slow machine may take longer than waitMs to open a connection.
  const connect = (): Promise<PooledClient> => pool.connect().catch(connect);
  const held = [await connect(), await connect()];
  await expect(pool.query("select 1")).rejects.toThrow("timeout exceeded when trying to connect");
  for (const client of held) client.release();
});

it("ends a connection that is held too long, and opens another", async () => {
  bounded({ queue: 10, holdMs: 100 });
  await expect(pool.query("select pg_sleep(60)")).rejects.toThrow("Connection terminated");
  // A slow machine may hold any connection for too long.
  const ask = (): Promise<unknown[]> => pool.query("select 1 as one").then(({ rows }) => rows, ask);
  expect(await ask()).toEqual([{ one: 1 }]);
  expect(pool.totalCount).toBe(1);
});

it("ends a connection that is held too long although more statements were sent behind the first", async () => {
  bounded({ queue: 10, holdMs: 1000 });
  const client = await pool.connect();
  Object.assign(client, { pipeline: true });
  const answers = ["select pg_sleep(600)", "select 1"].map((text) => client.query(text));
  for (const { reason } of (await Promise.allSettled(answers)) as PromiseRejectedResult[]) {
    expect(reason).toMatchObject({ message: "Connection terminated" });
  }
  client.release();
  expect(pool.totalCount).toBe(0);
});

it("discards a connection with a prepared statement that a schema change invalidated", async () => {
  bounded({ queue: 10, holdMs: 60_000 });
  await pool.query("create table changing (value int)");
  const prepared = { name: "prepared", text: "select * from changing" };
  // PostGraphile releases a connection without its error.
  const ask = async (): Promise<unknown> => {
    const client = await pool.connect();
    try {
      return (await client.query(prepared)).rows;
    } finally {
      client.release();
    }
  };
  await ask();
  await pool.query("alter table changing alter column value type text");

  await expect(ask()).rejects.toThrow("cached plan must not change result type");
  expect(await ask()).toEqual([]);
});
