// The bounds of a pool: its queue, the time limits, and the connections it discards.
import { PoolBusy } from "../../db/bounded-pool.ts";
import { makePool, type Pool, type PooledClient } from "../../db/connect.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await makeDatabase();
});
afterEach(() => pool.end());
afterAll(() => database.drop());

const bounded = (bounds: { queue: number; holdMs: number }, waitMs = 60_000): Pool =>
  (pool = makePool(database.url, { poolSize: 2, waitMs, bounds }));

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
  expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  expect(pool.totalCount).toBe(1);
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
