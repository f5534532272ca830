// Windows and last prices as the head moves forward and back. Each step verifies all derived tables.
import { verify } from "../../db/verify/verify-database.ts";
import { openClient } from "../database.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  MKR,
  registerMarkets,
  registerPair,
  setHead,
  WETH,
  write,
} from "../factories.ts";
import { useOwned } from "../served.ts";

const { database, owner } = useOwned();
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});
afterEach(async () => {
  expect(await verify(owner)).toEqual([]);
});

const SECOND = 1 / 3600;

const takeBack = async (hour: number): Promise<void> => {
  await database.writer.query("select ingest.take_back($1)", [blockAt(hour)]);
};

/** The stored volumes of WETH/DAI over 24, 12, 6 and 1 hours. */
async function volumes(): Promise<string[]> {
  const { rows } = await owner.query<Record<string, string>>(
    `select
      trim_scale(base_24h)::text as "24",
      trim_scale(base_12h)::text as "12",
      trim_scale(base_6h)::text as "6",
      trim_scale(base_1h)::text as "1"
    from dex_private.market_figure
    join dex_pair on dex_pair.id = market_id
    where market = 'WETHDAI'`,
  );
  return ["24", "12", "6", "1"].map((window) => rows[0]![window]!);
}

/** The transaction that wrote each market's figures. */
async function written(): Promise<Record<string, string>> {
  const { rows } = await owner.query<{ market: string; xmin: string }>(
    `select
      pair.market,
      kept.xmin::text
    from dex_private.market_figure as kept
    join dex_pair as pair on pair.id = kept.market_id`,
  );
  return Object.fromEntries(rows.map(({ market, xmin }) => [market, xmin]));
}

describe("a block", () => {
  const NONE = ["0", "0", "0", "0"];
  // The only trade is 100 hours after genesis.
  const trade = (): Promise<void> =>
    write(database.writer, { trades: [aTrade({ hour: 100, base: "3" })] });
  beforeEach(async () => {
    await setHead(database.writer, 50);
  });

  it("leaves a market without trades empty", async () => {
    expect(await volumes()).toEqual(NONE);
  });

  it.each([
    [1, ["3", "3", "3", "0"], ["3", "3", "3", "3"]],
    [6, ["3", "3", "0", "0"], ["3", "3", "3", "0"]],
    [12, ["3", "0", "0", "0"], ["3", "3", "0", "0"]],
    [24, NONE, ["3", "0", "0", "0"]],
  ])(
    "past the edge %d hours after a trade changes the window, and so does removing it",
    async (hour, at, before) => {
      await trade();
      await setHead(database.writer, 100 + hour - SECOND);
      expect(await volumes()).toEqual(before);
      await setHead(database.writer, 100 + hour);
      expect(await volumes()).toEqual(at);
      await takeBack(100 + hour - SECOND);
      expect(await volumes()).toEqual(before);
      expect(await verify(owner)).toEqual([]);
      await setHead(database.writer, 100 + hour);
      expect(await volumes()).toEqual(at);
    },
  );

  it("with a trade changes every window, and so does removing it", async () => {
    await setHead(database.writer, 100 - SECOND);
    await trade();
    expect(await volumes()).toEqual(["3", "3", "3", "3"]);
    await takeBack(100 - SECOND);
    expect(await volumes()).toEqual(NONE);
  });

  it("past the edges of all windows empties them", async () => {
    await trade();
    await setHead(database.writer, 200);
    expect(await volumes()).toEqual(NONE);
    await takeBack(100);
    expect(await volumes()).toEqual(["3", "3", "3", "3"]);
  });

  it("with the time of the previous block adds to it, and both leave the windows together", async () => {
    await trade();
    const later = { block: blockAt(100) + 1, time: hours(100), base: "2" };
    await write(database.writer, { trades: [aTrade(later)] });
    // 3 + 2
    expect(await volumes()).toEqual(["5", "5", "5", "5"]);
    await setHead(database.writer, 101);
    expect(await volumes()).toEqual(["5", "5", "5", "0"]);
    await takeBack(100);
    expect(await volumes()).toEqual(["3", "3", "3", "3"]);
  });

  it("does not write the figures of a market in which it passes no trade", async () => {
    await setHead(database.writer, 100 - SECOND);
    const before = await written();
    await trade();
    const after = await written();
    expect(after["MKRWETH"]).toBe(before["MKRWETH"]);
    expect(after["WETHDAI"]).not.toBe(before["WETHDAI"]);
    await setHead(database.writer, 100 + SECOND);
    expect(await written()).toEqual(after);
  });

  it("computes the figures of a market registered since the previous block", async () => {
    await registerPair(database.writer, MKR, DAI);
    expect(Object.keys(await written()).sort()).toEqual(["MKRDAI", "MKRWETH", "WETHDAI"]);
    await write(database.writer, { trades: [aTrade({ hour: 51, baseGem: MKR, quoteGem: DAI })] });
    const { rows } = await database.reader.query(
      "select last, vol from dex_market where pair = 'MKR/DAI'",
    );
    expect(rows).toEqual([{ last: "100.000000000000000000", vol: "1.000000000000000000" }]);
  });

  it("removed with all others leaves no head and empty windows", async () => {
    await trade();
    await takeBack(0);
    expect(await volumes()).toEqual(NONE);
    expect((await database.reader.query("select * from dex_head")).rows).toEqual([]);
  });
});

it("updates the row of each market once a block, whatever the block changes", async () => {
  await write(database.writer, {
    offers: [anOffer({ id: 1, hour: 0 })],
    trades: [aTrade({ hour: 1, quote: "50" }), aTrade({ hour: 8, offer_id: 1, quote: "100" })],
  });
  await using client = await openClient(database.url, { role: "dex_writer" });
  await client.query("begin");
  // Trades leave three windows, one of them the lowest of the day; one is added, and the book changes.
  await write(client, {
    offers: [anOffer({ id: 2, hour: 25, base: "1", quote: "90" })],
    trades: [aTrade({ hour: 25, offer_id: 1, quote: "101" }), aTrade({ hour: 25, idx: 1 })],
  });
  const { rows } = await client.query(
    "select pg_stat_get_xact_tuples_updated('dex_private.market_figure'::regclass)::integer as updates",
  );
  await client.query("commit");
  expect(rows).toEqual([{ updates: 1 }]);
  expect(await volumes()).not.toContain("0");
});

describe("the lowest and the highest price of a day", () => {
  const lowAndHigh = async (): Promise<unknown> => {
    const { rows } = await database.reader.query(
      `select trim_scale(low)::text as low, trim_scale(high)::text as high
      from dex_market
      where pair = 'WETH/DAI'`,
    );
    return rows[0];
  };

  it("are the next ones when their trade leaves the day or is removed", async () => {
    await write(database.writer, {
      trades: [
        aTrade({ hour: 1, quote: "100" }),
        aTrade({ hour: 2, quote: "300" }),
        aTrade({ hour: 3, quote: "120" }),
        aTrade({ hour: 4, quote: "200" }),
      ],
    });
    expect(await lowAndHigh()).toEqual({ low: "100", high: "300" });
    await setHead(database.writer, 25);
    expect(await lowAndHigh()).toEqual({ low: "120", high: "300" });
    await setHead(database.writer, 26);
    expect(await lowAndHigh()).toEqual({ low: "120", high: "200" });
    await setHead(database.writer, 27);
    expect(await lowAndHigh()).toEqual({ low: "200", high: "200" });
    await write(database.writer, { trades: [aTrade({ hour: 27.1, quote: "50" })] });
    expect(await lowAndHigh()).toEqual({ low: "50", high: "200" });
    await takeBack(27);
    expect(await lowAndHigh()).toEqual({ low: "200", high: "200" });
    // The empty blocks between are deleted: the head is back at hour 4.
    await takeBack(26);
    expect(await lowAndHigh()).toEqual({ low: "100", high: "300" });
    await takeBack(1);
    expect(await lowAndHigh()).toEqual({ low: "100", high: "100" });
    await setHead(database.writer, 27);
    expect(await lowAndHigh()).toEqual({ low: null, high: null });
  });
});

describe("the newest trade", () => {
  /** The last price of each market that has one. */
  async function last(): Promise<Record<string, string>> {
    const { rows } = await database.reader.query<{ market: string; price: string }>(
      `select
        base || quote as market,
        trim_scale(last)::text as price
      from dex_price
      where last is not null`,
    );
    return Object.fromEntries(rows.map(({ market, price }) => [market, price]));
  }

  it("is the one with the highest index of the last block, in any input order", async () => {
    await write(database.writer, {
      trades: [
        aTrade({ hour: 2, idx: 7, quote: "107" }),
        aTrade({ hour: 2, idx: 3, quote: "103" }),
        aTrade({ hour: 1, idx: 9, quote: "109" }),
      ],
    });
    expect(await last()).toEqual({ WETHDAI: "107" });
    await write(database.writer, {
      trades: [
        aTrade({ hour: 3, quote: "110" }),
        aTrade({ hour: 4, baseGem: MKR, quoteGem: WETH }),
      ],
    });
    expect(await last()).toEqual({ WETHDAI: "110", MKRWETH: "100" });
  });

  it("always has a price", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 }), aTrade({ hour: 2, base: "0" })] });
    expect(await last()).toEqual({ WETHDAI: "100" });
    await write(database.writer, {
      trades: [
        aTrade({ hour: 3, idx: 1, quote: "103" }),
        aTrade({ hour: 3, idx: 2, base: "0", quote: "1" }),
      ],
    });
    expect(await last()).toEqual({ WETHDAI: "103" });
  });

  it("is the previous one after the newest is removed, and none after all are", async () => {
    await write(database.writer, {
      trades: [1, 2, 3].map((hour) => aTrade({ hour, quote: String(100 + hour) })),
    });
    expect(await last()).toEqual({ WETHDAI: "103" });
    await takeBack(2);
    expect(await last()).toEqual({ WETHDAI: "102" });
    await takeBack(1);
    expect(await last()).toEqual({ WETHDAI: "101" });
    await takeBack(0);
    expect(await last()).toEqual({});
  });

  it("follows the registry", async () => {
    await write(database.writer, { trades: [aTrade({ baseGem: MKR, quoteGem: WETH })] });
    expect(await last()).toEqual({ MKRWETH: "100" });
    // The maker sold 1 MKR for 100 WETH, at 1 ÷ 100 MKR per WETH.
    await registerPair(database.writer, WETH, MKR);
    expect(await last()).toEqual({ WETHMKR: "0.01" });
  });

  it("is last as soon as it is written, and stays last as the head moves", async () => {
    const moves: [number, string | undefined, string | undefined][] = [
      [0, undefined, undefined],
      [1, "101", "101"],
      [2, "102", "102"],
      [2.5, undefined, "102"],
      [3, "103", "103"],
      [900, undefined, "103"],
    ];
    for (const [hour, quote, price] of moves) {
      const trades = quote === undefined ? [] : [aTrade({ hour, quote })];
      await write(database.writer, { trades, head: hour });
      expect([hour, (await last())["WETHDAI"]]).toEqual([hour, price]);
    }
  });
});

describe("a list of all markets", () => {
  const MARKETS = 2;
  beforeEach(async () => {
    const all = Array.from({ length: 50 }, (_, hour) => hour);
    await write(database.writer, {
      offers: all.flatMap((hour) => [
        anOffer({ hour, quote: "2000" }),
        anOffer({ hour, side: "buy", killed: blockAt(hour) }),
        anOffer({ hour, baseGem: MKR, quoteGem: WETH, filled: true }),
      ]),
      trades: all.flatMap((hour) => [
        aTrade({ hour }),
        aTrade({ hour, idx: 1, baseGem: MKR, quoteGem: WETH }),
      ]),
      head: 60,
    });
  });

  /** The session's scans of trades and offers that are not yet reported to the statistics. */
  async function scans(): Promise<{ trades: number; offers: number }> {
    const { rows } = await owner.query<{ trades: number; offers: number }>(
      `select
        coalesce(sum(seq_scan + idx_scan) filter (where relname = 'dex_trade'), 0)::integer as trades,
        coalesce(sum(seq_scan + idx_scan) filter (where relname in ('dex_offer', 'standing_offer')), 0)::integer
          as offers
      from pg_stat_xact_user_tables`,
    );
    return rows[0]!;
  }

  it.each(["dex_price", "dex_market", "dex_volume", "dex_summary"])(
    "reads no trade and no offer: %s",
    async (view) => {
      await owner.query("begin");
      await owner.query("set local enable_seqscan = off");
      const before = await scans();
      const { rows } = await owner.query(`select * from ${view}`);
      expect(rows).toHaveLength(MARKETS);
      const after = await scans();
      await owner.query("rollback");
      expect(after).toEqual(before);
    },
  );
});
