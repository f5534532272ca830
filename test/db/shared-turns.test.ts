// Statements of one turn of the event loop, which share a connection.
import { makePool, type Pool, type PooledClient } from "../../db/connect.ts";
import { shareTurns } from "../../db/shared-turns.ts";
import { useClient, useDatabase } from "../served.ts";

const database = useDatabase();
const admin = useClient(database);
let pool: Pool;
beforeEach(async () => {
  pool = makePool(database.url, {
    poolSize: 3,
    waitMs: 60_000,
    bounds: { queue: 10, holdMs: 60_000, askedBy: () => undefined },
  });
  shareTurns(pool);
  const clients = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
  for (const client of clients) client.release();
});
afterEach(() => pool.end());

/** Gives its number, after so many seconds, and the process that ran it. */
const NUMBERED = {
  name: "numbered",
  text: "select $1::int as n, pg_backend_pid() as process, pg_sleep($2)",
};
const ask = (n: number, seconds = 0) =>
  pool
    .query<{ n: number; process: number }>({ ...NUMBERED, values: [n, seconds] })
    .then(({ rows: [row] }) => row!);

const SIX = [1, 2, 3, 4, 5, 6];
const numbers = (answers: readonly { n: number }[]): number[] => answers.map(({ n }) => n);
const processes = (answers: readonly { process: number }[]): number =>
  new Set(answers.map(({ process }) => process)).size;

it("run on one connection, at most four of them, and get each its own rows", async () => {
  for (const _ of "preparing, and then prepared".split(",")) {
    const answers = await Promise.all(SIX.map((n) => ask(n)));

    expect(numbers(answers)).toEqual(SIX);
    expect(processes(answers.slice(0, 4))).toBe(1);
    expect(processes(answers)).toBe(2);
  }
});

it("run alone where all connections are in use", async () => {
  const held = await Promise.all([pool.connect(), pool.connect()]);
  const answers = Promise.all(SIX.map((n) => ask(n)));
  for (const client of held) client.release();

  // Four share the third connection, and the others wait until one is free.
  expect(numbers(await answers)).toEqual(SIX);
});

it("wait alone where another request has taken the last connection since", async () => {
  const held = await Promise.all([pool.connect(), pool.connect()]);
  const answers = Promise.all([ask(1), ask(2)]);
  held.push(await pool.connect());
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(pool.waitingCount).toBe(2);
  for (const client of held) client.release();
  expect(numbers(await answers)).toEqual([1, 2]);
});

it("fail alone: those behind get their rows", async () => {
  const zero = { name: "divided", text: "select 1 / $1::int", values: [0] };
  const [first, failed, third] = await Promise.allSettled([ask(1), pool.query(zero), ask(3)]);

  expect(failed).toMatchObject({ status: "rejected", reason: { code: "22012" } });
  expect([first, third]).toMatchObject([{ value: { n: 1 } }, { value: { n: 3 } }]);
});

it("are prepared again where the one before could not be", async () => {
  const missing = (n: number) =>
    pool.query({ name: "missing", text: "select $1::int from missing", values: [n] });
  const failed = await Promise.allSettled([missing(1), missing(2)]);

  // Not that the statement of this name does not exist.
  expect(failed).toMatchObject([{ reason: { code: "42P01" } }, { reason: { code: "42P01" } }]);
});

/** Calls a function of PostgreSQL for the session that sleeps. */
async function signal(name: string): Promise<void> {
  const text = `select ${name}(pid) from pg_stat_activity where query ~ 'pg_sleep' and pid <> pg_backend_pid() and datname = current_database()`;
  while ((await admin.query(text)).rowCount === 0);
}

it("do not wait for a slow one, and then run alone for a while", async () => {
  const slow = expect(ask(1, 600)).rejects.toMatchObject({ code: "57014" });
  expect(numbers(await Promise.all([ask(2), ask(3)]))).toEqual([2, 3]);
  // Both connections are there, and each is in use for some time.
  expect(processes(await Promise.all([ask(4, 0.2), ask(5, 0.2)]))).toBe(2);

  await signal("pg_cancel_backend");
  await slow;
});

it("do not hold the connection that has those given up", async () => {
  const [slow, second] = await Promise.all([ask(1, 0.2), ask(2)]);
  expect(second.process).not.toBe(slow.process);
  const later = await Promise.all([ask(3, 0.2), ask(4, 0.2), ask(5, 0.2)]);
  expect(later.map(({ process }) => process)).not.toContain(slow.process);
});

it("get their rows where the connection is lost by another one", async () => {
  const all = Promise.allSettled([ask(1, 600), ask(2), ask(3)]);
  await signal("pg_terminate_backend");

  const [slow, ...others] = await all;
  expect(slow).toMatchObject({ status: "rejected", reason: { code: "57P01" } });
  expect(others).toMatchObject([{ value: { n: 2 } }, { value: { n: 3 } }]);
});

it("leave each connection as it was", async () => {
  await Promise.all([1, 2, 3].map((n) => ask(n)));
  const client = (await pool.connect()) as PooledClient & { pipeline: boolean };
  expect(client.pipeline).toBe(false);
  client.release();
});
