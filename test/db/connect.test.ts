// A pool's connection returns results as `pg` documents, by promise and by callback.
import type { Pool } from "../../db/connect.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await makeDatabase();
  pool = database.reader;
});
afterAll(() => database.drop());

const ONE = { text: "select $1::integer as one", values: [1] };

it("returns a result by promise", async () => {
  const client = await pool.connect();
  try {
    expect((await client.query(ONE)).rows).toEqual([{ one: 1 }]);
    expect((await client.query("select 2 as two")).rows).toEqual([{ two: 2 }]);
    expect((await client.query(ONE.text, [3])).rows).toEqual([{ one: 3 }]);
  } finally {
    client.release();
  }
});

it("returns a result by callback", async () => {
  const client = await pool.connect();
  try {
    const rows = await new Promise((resolve) => {
      client.query(ONE.text, ONE.values, (_error, result) => resolve(result.rows));
    });
    expect(rows).toEqual([{ one: 1 }]);
  } finally {
    client.release();
  }
});

it("rejects with the server's error and a stack with the query's caller", async () => {
  const client = await pool.connect();
  const ask = async (): Promise<unknown> => await client.query("select 1 / 0");
  try {
    const error = (await ask().catch((thrown: unknown) => thrown)) as Error & { code: string };
    expect(error.code).toBe("22012");
    expect(error.stack).toContain("connect.test.ts");
    expect((await client.query(ONE)).rows).toEqual([{ one: 1 }]);
  } finally {
    client.release();
  }
});
