// Statements by name, whose columns PostgreSQL describes once per connection.
import { makePool, type Pool, type PooledClient } from "../../db/connect.ts";
import { useDatabase } from "../served.ts";

const database = useDatabase();
const pools: Pool[] = [];
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.end())));

function poolOfOne(options: Parameters<typeof makePool>[1] = {}): Pool {
  const pool = makePool(database.url, { poolSize: 1, ...options });
  pools.push(pool);
  return pool;
}

/** Counts the descriptions of columns that the server sends on the pool's next connection. */
function countDescriptions(pool: Pool): () => number {
  let count = 0;
  pool.once("connect", (client: PooledClient) => {
    const { connection } = client as unknown as { connection: NodeJS.EventEmitter };
    connection.on("rowDescription", () => (count += 1));
  });
  return () => count;
}

const NAMED = { name: "pair", text: "select $1::int as n, $2::text as word, null::bool as none" };

it("asks for the columns of a named statement once, and gives the same result each time", async () => {
  const pool = poolOfOne();
  const described = countDescriptions(pool);
  const [first, second] = [
    await pool.query({ ...NAMED, values: [1, "a"] }),
    await pool.query({ ...NAMED, values: [2, null] }),
  ];

  expect(described()).toBe(1);
  expect(first.rows).toEqual([{ n: 1, word: "a", none: null }]);
  expect(second).toEqual({ ...first, rows: [{ n: 2, word: null, none: null }] });
});

it("gives rows as arrays or as objects, whichever the run asks for", async () => {
  const pool = poolOfOne();
  const described = countDescriptions(pool);
  const rows = async (rowMode?: "array"): Promise<unknown[]> => {
    const statement = { ...NAMED, values: [1, "a"], ...(rowMode && { rowMode }) };
    return (await pool.query(statement)).rows;
  };

  expect(await rows()).toEqual([{ n: 1, word: "a", none: null }]);
  expect(await rows("array")).toEqual([[1, "a", null]]);
  expect(await rows()).toEqual([{ n: 1, word: "a", none: null }]);
  expect(described()).toBe(1);
});

it("gives statements in a pipeline each its own rows", async () => {
  const client = await poolOfOne().connect();
  Object.assign(client, { pipeline: true });
  const ask = (n: number) => client.query({ ...NAMED, values: [n, "a"] });

  // The second is sent before the columns of the first are known, the third after it.
  const both = await Promise.all([ask(1), ask(2)]);
  const answers = [...both, await ask(3)];
  expect(answers.map(({ rows }) => rows[0]?.["n"])).toEqual([1, 2, 3]);
  client.release();
});

it("fails a statement whose columns have changed, and asks anew on the next connection", async () => {
  const pool = poolOfOne();
  await pool.query("create table thing (a int)");
  await pool.query("insert into thing values (1)");
  const all = { name: "things", text: "select * from thing" };
  await pool.query(all);
  await pool.query(all);

  await pool.query("alter table thing alter a type text, add b int default 2");
  await expect(pool.query(all)).rejects.toMatchObject({ code: "0A000" });
  expect((await pool.query(all)).rows).toEqual([{ a: "1", b: 2 }]);
  await pool.query("drop table thing");
});

it("asks again where the name was given to another statement", async () => {
  const pool = poolOfOne();
  const client = await pool.connect();
  const named = (text: string) => ({ name: "one", text });
  await client.query(named("select 1 as a"));
  await client.query(named("select 1 as a"));

  // As @dataplan/pg frees a name.
  await client.query("deallocate one");
  const { connection } = client as unknown as {
    connection: { parsedStatements: Record<string, string> };
  };
  delete connection.parsedStatements["one"];
  expect((await client.query(named("select 2 as b, 3 as c"))).rows).toEqual([{ b: 2, c: 3 }]);
  expect((await client.query(named("select 2 as b, 3 as c"))).rows).toEqual([{ b: 2, c: 3 }]);
  client.release();
});

it("reports an error of a known statement, and gives its rows afterwards", async () => {
  const pool = poolOfOne();
  const divide = { name: "divide", text: "select 6 / $1::int as n" };
  const by = async (n: number): Promise<unknown> =>
    (await pool.query({ ...divide, values: [n] })).rows;

  expect(await by(2)).toEqual([{ n: 3 }]);
  await expect(by(0)).rejects.toMatchObject({ code: "22012" });
  expect(await by(3)).toEqual([{ n: 2 }]);
});

it("uses no name behind a pooler", async () => {
  const pool = poolOfOne({ prepare: false });
  const described = countDescriptions(pool);
  await pool.query({ ...NAMED, values: [1, "a"] });
  await pool.query({ ...NAMED, values: [1, "a"] });
  expect(described()).toBe(2);
  const { rows } = await pool.query("select count(*)::int as n from pg_prepared_statements");
  expect(rows).toEqual([{ n: 0 }]);
});

it("keeps the columns of as many statements as fit, and asks for others again", async () => {
  const pool = poolOfOne();
  const described = countDescriptions(pool);
  const columns = Array.from({ length: 1500 }, (_, n) => `${n} as c${n}`).join(", ");
  const wide = (name: string) => pool.query({ name, text: `select ${columns}` });

  // 1,500 columns of 2,000: the second takes the place of the first.
  for (const name of ["a", "b", "b", "a"]) {
    expect((await wide(name)).rows[0]).toMatchObject({ c0: 0, c1499: 1499 });
  }
  expect(described()).toBe(3);
});
