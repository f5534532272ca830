// What writes ask of tables that were never analyzed, in a session that may have begun when they were
// empty: its plans are made then, and kept while the tables grow.
import { connect, type Client } from "../../db/connect.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { anOffer, aTrade, insert, registerMarkets, setHead } from "../factories.ts";

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await makeDatabase();
  await registerMarkets(database.writer);
  client = await connect(database.url, { role: "dex_writer" });
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const OFFERS = 500;
const TRADES = 2 * OFFERS;

/** How many rows this transaction has read by going through whole tables, for each of them. */
async function readWhole(): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string; rows: number }>(
    `select
      relname as name,
      seq_tup_read::integer as rows
    from pg_stat_xact_user_tables
    where relname in ('dex_trade', 'dex_offer', 'minute_figure', 'hour_figure', 'offer_taken')`,
  );
  return Object.fromEntries(rows.map(({ name, rows: count }) => [name, count]));
}

it("reads no table whole", async () => {
  await client.query("begin");
  for (let id = 1; id <= 7; id += 1) {
    await insert(client, "dex_offer", anOffer({ id }));
    await insert(client, "dex_trade", aTrade({ offer_id: id, base: "10", hour: id }));
    await setHead(client, id);
  }
  const before = await readWhole();

  const ids = Array.from({ length: OFFERS }, (_, n) => 100 + n);
  await insert(
    client,
    "dex_offer",
    ids.map((id) => anOffer({ id })),
  );
  // Two trades take each offer whole.
  await insert(
    client,
    "dex_trade",
    Array.from({ length: TRADES }, (_, n) =>
      aTrade({ offer_id: ids[n % OFFERS]!, base: "5", hour: 8 + n / TRADES }),
    ),
  );
  await setHead(client, 9);
  const { rows } = await client.query("select from dex_offer where id >= 100 and filled");
  expect(rows).toHaveLength(OFFERS);

  const after = await readWhole();
  for (const [table, count] of Object.entries(after)) {
    // The statement above may read dex_offer whole, once.
    const once = table === "dex_offer" ? OFFERS + 7 : 0;
    expect([table, count - before[table]! <= once]).toEqual([table, true]);
  }
  await client.query("rollback");
});

describe.each([
  // Each offer has a lot of 10 base, and two trades.
  ["exactly its lot", "5"],
  ["more than its lot", "6"],
])("where trades took %s, an offer that comes after them", (_name, base) => {
  it("reads its own trades alone, however many the planner takes there to be", async () => {
    const superuser = await connect(database.url);
    try {
      await superuser.query("begin");
      await insert(
        superuser,
        "dex_trade",
        Array.from({ length: TRADES }, (_, n) =>
          aTrade({ offer_id: 1 + (n % OFFERS), base, hour: 1 + n / TRADES }),
        ),
      );
      // As a first load leaves the table: large, and never analyzed. Of a column that it knows nothing
      // of, the planner takes every 200th row to be of any value.
      await superuser.query(
        `update pg_class
        set reltuples = 1e9, relpages = pg_relation_size(oid) / 8192
        where oid = 'public.dex_trade'::regclass`,
      );
      const fetched = async (): Promise<number> => {
        const { rows } = await superuser.query<{ count: number }>(
          `select idx_tup_fetch::integer as count
          from pg_stat_xact_user_tables
          where relname = 'dex_trade'`,
        );
        return rows[0]!.count;
      };
      const before = await fetched();
      await insert(
        superuser,
        "dex_offer",
        Array.from({ length: OFFERS }, (_, n) => anOffer({ id: n + 1, base: "10" })),
      );
      expect((await fetched()) - before).toBeLessThanOrEqual(TRADES);
      const { rows } = await superuser.query("select from dex_offer where filled");
      expect(rows).toHaveLength(OFFERS);
    } finally {
      await superuser.query("rollback");
      await superuser.end();
    }
  });
});

it("computes figures from the hours of a market at most where nothing was ever analyzed", async () => {
  await client.query("begin");
  // A trade each 10 minutes for 200 days.
  const MINUTES = 200 * 24 * 6;
  await insert(
    client,
    "dex_trade",
    Array.from({ length: MINUTES }, (_, n) => aTrade({ hour: n / 6 })),
  );
  const fetched = async (): Promise<number> => {
    const { rows } = await client.query<{ count: number }>(
      `select sum(seq_tup_read + idx_tup_fetch)::integer as count
      from pg_stat_xact_user_tables
      where relname in ('minute_figure', 'hour_figure', 'dex_trade')`,
    );
    return rows[0]!.count;
  };
  const before = await fetched();
  await setHead(client, 200 * 24);
  // Once through its 4,800 hours, as the planner may choose who knows of few; and of a day at most the
  // 24 hours with 6 minutes each, some of them looked at for more than one window.
  expect((await fetched()) - before).toBeLessThan(4800 + 1000);
  await client.query("rollback");
});
