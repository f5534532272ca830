// Statements that take too long, and locks that are held too long: PostgreSQL ends them, and the
// client is told.
import type { ConnectionOptions } from "../../db/connect.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { openPool } from "../database.ts";
import { registerMarkets } from "../factories.ts";
import { ask, dataOf } from "../graphql.ts";
import { useDatabase } from "../served.ts";

const database = useDatabase(registerMarkets);

/** A service with these timeouts, while somebody holds what its answers need. */
async function whileLocked(
  timeouts: ConnectionOptions,
  test: (app: TestApp) => Promise<void>,
  url = database.url,
): Promise<void> {
  await using pool = openPool(url, { role: "dex_reader", ...timeouts });
  // A slow machine reads the catalogs for longer than a statement may take here.
  await using app = await makeTestApp(pool, { cache: "off", catalogs: database.reader });
  await dataOf(app, "{ __typename }");
  const locking = await database.owner.connect();
  try {
    await locking.query("begin");
    await locking.query("lock table dex_pair, dex_private.market_figure in access exclusive mode");
    await test(app);
  } finally {
    await locking.query("rollback");
    locking.release();
  }
}

it.each([
  [
    "statement",
    { statementTimeoutMs: 1000 },
    "The database took too long to answer this",
    "TIMEOUT",
  ],
  ["lock", { lockTimeoutMs: 50 }, "The data are locked at the moment", "LOCKED"],
])(
  "a %s timeout is 503 with the seconds to wait, and a code",
  async (_name, timeouts, message, code) => {
    await whileLocked(timeouts, async (app) => {
      const v1 = await app.request.get("/v1/pairs/weth/dai");
      const v2 = await app.request.get("/v2/prices/weth/dai");
      const { errors } = await ask(app, "{ allDexPairs(first: 1) { nodes { base } } }");

      expect([v1.status, v2.status]).toEqual([503, 503]);
      expect(v1.headers).toMatchObject({ "retry-after": "5", "cache-control": "no-store" });
      expect(v1.body).toEqual({ data: {}, time: expect.any(Number), message });
      expect(v2.body).toEqual({ time: expect.any(String), message });
      expect(errors).toEqual([
        expect.objectContaining({ message, extensions: { code, retryAfter: 5 } }),
      ]);
      // The log hears of it as PostgreSQL says it.
      expect(app.logged.map((error) => (error as Error).message)).toEqual(
        Array.from({ length: 3 }, () => `canceling statement due to ${_name} timeout`),
      );
    });
  },
);

it("a session that PostgreSQL ends with its transaction is as any lost connection", async () => {
  const { rows } = await database.owner.query<{ version: number }>(
    "select current_setting('server_version_num')::integer as version",
  );
  if (rows[0]!.version < 170000) {
    console.warn("This PostgreSQL has no transaction_timeout: not tested.");
    return;
  }
  const limited = new URL(database.url);
  limited.searchParams.set("options", "-c transaction_timeout=1s");
  const message = "The database cannot be reached";
  await whileLocked(
    {},
    async (app) => {
      const v1 = await app.request.get("/v1/pairs/weth/dai");
      const { errors } = await ask(app, "{ allDexPairs(first: 1) { nodes { base } } }");
      expect({ status: v1.status, body: v1.body as unknown }).toEqual({
        status: 503,
        body: { data: {}, time: expect.any(Number), message },
      });
      expect(errors).toEqual([
        expect.objectContaining({
          message,
          extensions: expect.objectContaining({ code: "UNAVAILABLE" }),
        }),
      ]);
    },
    limited.href,
  );
});

it("are settings of the session, that cost no statement", async () => {
  await using pool = openPool(database.url, {
    role: "dex_reader",
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 3000,
  });
  const { rows } = await pool.query(
    `select
      current_setting('statement_timeout') as statement,
      current_setting('lock_timeout') as lock`,
  );
  expect(rows).toEqual([{ statement: "10s", lock: "3s" }]);
});
