// The newest trade of each market is kept, and what a list of all markets looks at for each does not
// depend on how many trades and offers there are.
import { makeDatabase, type TestDatabase } from "../database.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  insert,
  MKR,
  registerMarkets,
  setHead,
  WETH,
} from "../factories.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
});
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});
afterAll(async () => {
  await database.drop();
});

/** What is kept: the price of the newest trade by market. */
async function kept(): Promise<Record<string, string>> {
  const { rows } = await database.owner.query<{ market: string; price: string }>(
    `select
      pair.market,
      trim_scale(newest.price)::text as price
    from dex_private.newest_trade as newest
    join dex_pair as pair on pair.id = newest.market_id`,
  );
  return Object.fromEntries(rows.map(({ market, price }) => [market, price]));
}

async function lastPrice(): Promise<string | null> {
  const { rows } = await database.owner.query<{ last: string | null }>(
    "select trim_scale(last)::text as last from dex_price where pair = 'WETH/DAI'",
  );
  return rows[0]!.last;
}

describe("the newest trade", () => {
  it("is that of the last block, of the highest index in it, whatever is written when", async () => {
    const { writer } = database;
    await insert(writer, "dex_trade", [
      aTrade({ hour: 2, idx: 7, quote: "107" }),
      aTrade({ hour: 2, idx: 3, quote: "103" }),
      aTrade({ hour: 1, idx: 9, quote: "109" }),
    ]);
    expect(await kept()).toEqual({ WETHDAI: "107" });
    await insert(writer, "dex_trade", aTrade({ hour: 2, idx: 5, quote: "105" }));
    expect(await kept()).toEqual({ WETHDAI: "107" });
    await insert(writer, "dex_trade", aTrade({ hour: 3, quote: "110" }));
    await insert(writer, "dex_trade", aTrade({ hour: 1, baseGem: MKR, quoteGem: WETH }));
    expect(await kept()).toEqual({ WETHDAI: "110", MKRWETH: "100" });
  });

  it("is never one without a price", async () => {
    await insert(database.writer, "dex_trade", aTrade({ hour: 1 }));
    await insert(database.writer, "dex_trade", aTrade({ hour: 2, base: "0" }));
    expect(await kept()).toEqual({ WETHDAI: "100" });
  });

  it("is the one before where the newest is deleted, or taken back", async () => {
    await insert(
      database.writer,
      "dex_trade",
      [1, 2, 3].map((hour) => aTrade({ hour, quote: String(100 + hour) })),
    );
    await setHead(database.writer, 3);
    await database.writer.query("delete from dex_trade where price = 103");
    expect(await kept()).toEqual({ WETHDAI: "102" });
    await database.writer.query("select dex_private.take_back($1)", [blockAt(1)]);
    expect(await kept()).toEqual({ WETHDAI: "101" });
    await database.writer.query("delete from dex_trade");
    expect(await kept()).toEqual({});
  });

  it("follows the registry", async () => {
    await insert(database.writer, "dex_trade", aTrade({ baseGem: MKR, quoteGem: WETH }));
    await database.owner.query("delete from dex_pair where base = 'MKR'");
    expect(await kept()).toEqual({});
    // The maker sold 1 MKR for 100 WETH: 1 ÷ 100 MKR per WETH.
    await insert(database.writer, "dex_pair", { base: "WETH", quote: "MKR" });
    expect(await kept()).toEqual({ WETHMKR: "0.01" });
  });

  it("is forgotten with all trades", async () => {
    await insert(database.writer, "dex_trade", aTrade());
    await database.owner.query("truncate dex_trade");
    expect(await kept()).toEqual({});
  });

  it("is last once the head has come to it; before, last is looked up", async () => {
    await insert(
      database.writer,
      "dex_trade",
      [1, 2, 3].map((hour) => aTrade({ hour, quote: String(100 + hour) })),
    );
    const heads: [number, string | null][] = [
      [0, null],
      [1, "101"],
      [2.5, "102"],
      [3, "103"],
      [9, "103"],
    ];
    for (const [hour, price] of heads) {
      await setHead(database.writer, hour);
      expect([hour, await lastPrice()]).toEqual([hour, price]);
    }
  });
});

describe("a list of all markets", () => {
  const MARKETS = 2;
  beforeEach(async () => {
    const hours = Array.from({ length: 50 }, (_, hour) => hour);
    await insert(
      database.writer,
      "dex_offer",
      hours.flatMap((hour) => [
        anOffer({ hour, quote: "2000" }),
        anOffer({ hour, side: "buy", killed: blockAt(hour) }),
        anOffer({ hour, baseGem: MKR, quoteGem: WETH, filled: true }),
      ]),
    );
    await insert(
      database.writer,
      "dex_trade",
      hours.flatMap((hour) => [aTrade({ hour }), aTrade({ hour, baseGem: MKR, quoteGem: WETH })]),
    );
  });

  /** How often this session has begun to look at trades and at offers, as far as is not reported yet. */
  async function begun(): Promise<{ trades: number; offers: number }> {
    const { rows } = await database.owner.query<{ trades: number; offers: number }>(
      `select
        coalesce(sum(seq_scan + idx_scan) filter (where relname = 'dex_trade'), 0)::integer as trades,
        coalesce(sum(seq_scan + idx_scan) filter (where relname = 'dex_offer'), 0)::integer as offers
      from pg_stat_xact_user_tables`,
    );
    return rows[0]!;
  }

  async function looks(view: string): Promise<{ trades: number; offers: number }> {
    const { owner } = database;
    await owner.query("begin");
    await owner.query("set local enable_seqscan = off");
    const before = await begun();
    const { rows } = await owner.query(`select * from ${view}`);
    expect(rows).toHaveLength(MARKETS);
    const after = await begun();
    await owner.query("rollback");
    return { trades: after.trades - before.trades, offers: after.offers - before.offers };
  }

  it("looks at no trade for the last prices as of the head", async () => {
    await setHead(database.writer, 60);
    expect(await looks("dex_price")).toEqual({ trades: 0, offers: 0 });
  });

  it("looks at offers only for whether any has ended after the head", async () => {
    await setHead(database.writer, 60);
    // For bids and for asks: the last block in which one has ended.
    expect(await looks("dex_market")).toEqual({ trades: 0, offers: 2 });
  });

  it("looks further where one has", async () => {
    await setHead(database.writer, 40);
    const { trades, offers } = await looks("dex_market");
    expect(trades).toBeGreaterThanOrEqual(MARKETS);
    expect(offers).toBeGreaterThan(2 * MARKETS);
  });
});
