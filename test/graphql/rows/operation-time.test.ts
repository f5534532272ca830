// For how long PostgreSQL works on an operation: nothing of it is begun beyond its time, a statement that has taken too long,
// or its client.
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConnectionOptions } from "../../../db/connect.ts";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { stateOf, type RequestState } from "../../../http/request.ts";
import { makeTestApp, OF_ONE_VERSION, type TestApp, type TestOptions } from "../../app.ts";
import { openPool } from "../../database.ts";
import { registerMarkets, setHead } from "../../factories.ts";
import { ask, dataOf } from "../../graphql.ts";
import { useClient, useDatabase } from "../../served.ts";
import { recordStatements, type Statement } from "../../statements.ts";

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await setHead(writer, 1);
});
// Only a superuser sees the locks that other sessions wait for.
const locker = useClient(database);

const FIELDS = Array.from(
  { length: 4 },
  (_, n) => `f${n}: allDexPairs(first: ${n + 1}) { nodes { base } }`,
);
const SEVERAL = `{ dexHead { block } ${FIELDS.join(" ")} }`;
const ONE = "{ allDexPairs(first: 1) { nodes { base } } }";

interface Locked {
  app: TestApp;
  statements: Statement[];
}

/** A service, while somebody holds the pairs. */
async function whileLocked(
  { timeouts, ...options }: TestOptions & { timeouts?: ConnectionOptions },
  test: (served: Locked) => Promise<void>,
): Promise<void> {
  await using pool = openPool(database.url, { role: "dex_reader", ...timeouts });
  const statements = recordStatements(pool);
  // A slow machine reads the catalogs for longer than a statement may take here.
  await using app = await makeTestApp(pool, { catalogs: database.reader, ...options });
  await dataOf(app, "{ dexHead { block } }");
  statements.length = 0;
  await locker.query("begin");
  await locker.query("lock table dex_pair in access exclusive mode");
  try {
    await test({ app, statements });
  } finally {
    await locker.query("rollback");
  }
}

const ofPairs = (statements: readonly Statement[]): number =>
  statements.filter(({ text }) => text.includes('"dex_pair"')).length;

async function countWaiting(): Promise<number> {
  await locker.query("select pg_stat_clear_snapshot()");
  const { rows } = await locker.query<{ count: number }>(
    `select count(*)::integer as count
    from pg_stat_activity
    where datname = current_database()
      and wait_event_type = 'Lock'`,
  );
  return rows[0]!.count;
}

async function untilWaiting(count: number): Promise<void> {
  while ((await countWaiting()) !== count) await sleep(10);
}

interface Asking {
  answer: Promise<string>;
  hangUp: () => Promise<void>;
}

function begin(app: TestApp, query: string): Asking {
  const req = httpRequest(`${app.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  const closed = new Promise((resolve) => req.once("close", resolve));
  const answer = once(req, "response").then(([res]) => text(res as Readable));
  answer.catch(() => undefined);
  req.end(JSON.stringify({ query }));
  const hangUp = async (): Promise<void> => {
    req.destroy();
    await closed;
  };
  return { answer, hangUp };
}

const codesOf = ({ errors = [] }: Awaited<ReturnType<typeof ask>>): unknown[] =>
  errors.map(({ extensions }) => extensions?.["code"]);

it("sends nothing again behind a statement that has taken too long", async () => {
  await whileLocked({ timeouts: { statementTimeoutMs: 1000 }, cache: "off" }, async (served) => {
    const answer = await ask<Record<string, unknown>>(served.app, SEVERAL);
    expect(codesOf(answer as never)).toEqual(FIELDS.map(() => "TIMEOUT"));
    expect(answer.data?.["dexHead"]).toEqual({ block: expect.any(Number) });
    expect(ofPairs(served.statements)).toBe(FIELDS.length);
    expect(served.app.logged).toHaveLength(1);
  });
});

it.each([
  ["one statement", ONE, 1],
  ["several statements", SEVERAL, FIELDS.length],
])("gives up an operation of %s when its time is up", async (_statements, query, fields) => {
  const limits = { ...GRAPHQL_LIMITS, planningMs: 60_000, databaseMs: 200 };
  await whileLocked({ limits, cache: "off" }, async ({ app, statements }) => {
    const answer = await ask(app, query);
    expect(codesOf(answer)).toEqual(Array.from({ length: fields }, () => "TIMEOUT"));
    expect(answer.errors?.[0]?.message).toMatch(/^The query took too long: ask for fewer fields/);
    // The lock is still held.
    await untilWaiting(0);
    expect(ofPairs(statements)).toBe(fields);
    expect(app.logged).toEqual([]);
  });
});

it.each([
  ["one statement", ONE],
  ["several statements", SEVERAL],
])("gives up an operation of %s whose client has gone", async (_statements, query) => {
  await whileLocked({}, async ({ app, statements }) => {
    const { hangUp } = begin(app, query);
    await untilWaiting(1);
    const sent = ofPairs(statements);
    await hangUp();
    await untilWaiting(0);
    expect(ofPairs(statements)).toBe(sent);
    expect(app.logged).toEqual([]);
  });
});

it("goes on for an equal request when the client that asked first has gone", async () => {
  await whileLocked({ cache: OF_ONE_VERSION }, async ({ app, statements }) => {
    const states: RequestState[] = [];
    app.server.prependListener("request", (req) => states.push(stateOf(req)));
    const first = begin(app, SEVERAL);
    await untilWaiting(1);
    const other = begin(app, SEVERAL);
    while (states[0]?.isShared !== true) await sleep(10);
    await first.hangUp();
    await locker.query("rollback");
    expect(JSON.parse(await other.answer)).toMatchObject({ data: { f0: { nodes: [{}] } } });
    expect(ofPairs(statements)).toBe(FIELDS.length);
  });
});
