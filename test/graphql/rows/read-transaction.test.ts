// A transaction of an operation: which statement has failed, and whose connection it is.
import { setImmediate } from "node:timers/promises";
import type { PgClient, WithPgClient } from "postgraphile/@dataplan/pg";
import { makeSnapshot, type Beginning } from "../../../graphql/rows/read-transaction.ts";
import { useDatabase } from "../../served.ts";

const database = useDatabase();

/** Lends a connection of the pool, as PostGraphile's adaptor does. */
const lend = (async (_settings: unknown, callback: (client: PgClient) => unknown) => {
  const rawClient = await database.reader.connect();
  const query = ({ text }: { text: string }) => rawClient.query(text);
  try {
    return await callback({ rawClient, query } as unknown as PgClient);
  } finally {
    rawClient.release();
  }
}) as unknown as WithPgClient;

const FAILS = "select 1 / 0";

let end: () => void;
afterEach(() => end());

function begin(beginning?: Beginning): WithPgClient {
  const snapshot = makeSnapshot(lend, beginning);
  end = snapshot.end;
  return snapshot.withPgClient;
}

it("gives an error to the statement that failed, through however many promises it passes", async () => {
  const withPgClient = begin();
  await withPgClient(null, (client) => client.query({ text: "select 1" }));
  const late = withPgClient(null, async (client) => {
    try {
      return await client.query({ text: FAILS });
    } catch (error) {
      for (let n = 0; n < 50; n += 1) await Promise.resolve();
      throw error;
    }
  });
  const behind = withPgClient(null, (client) =>
    client.query<{ two: number }>({ text: "select 2 as two" }),
  );
  // Both answers are here when the first is read.
  await setImmediate();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await expect(late).rejects.toMatchObject({ code: "22012" });
  expect((await behind).rows).toEqual([{ two: 2 }]);
});

it("sends nothing on a connection that it has returned", async () => {
  const refused = new Error("no such block");
  const withPgClient = begin({ onBegin: () => Promise.reject(refused) });
  const one = (client: PgClient) => client.query({ text: "select 1" });
  await expect(withPgClient(null, one)).rejects.toBe(refused);
  while (database.reader.idleCount < database.reader.totalCount) await setImmediate();
  const sent = jest.fn(one);
  await expect(withPgClient(null, sent)).rejects.toBe(refused);
  expect(sent).not.toHaveBeenCalled();
});

it("goes on in the same snapshot behind each statement that fails", async () => {
  const withPgClient = begin();
  const read = (text: string) =>
    withPgClient(null, (client) => client.query<{ at: Date }>({ text }));
  const now = "select transaction_timestamp() as at";
  const all = await Promise.allSettled([now, FAILS, now, FAILS, now].map(read));
  expect(all.map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  const times = all.flatMap((one) =>
    one.status === "fulfilled" ? [one.value.rows[0]!.at.getTime()] : [],
  );
  expect(new Set(times).size).toBe(1);
});
