// The simulated exchange: the properties of its histories in files, in a database and live.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parse } from "csv-parse/sync";
import { checksumAddress, pairHash } from "../../db/load/checksum.ts";
import { readFolder } from "../../db/load/folder.ts";
import { loadRows, type OfferRow, type TradeRow } from "../../db/load/write-rows.ts";
import { fromDecimal, toDecimal } from "../../db/simulate/amount.ts";
import { writeHistoryCsv } from "../../db/simulate/write-csv.ts";
import { catchUp, holdingsOf, simulateHistory } from "../../db/simulate/simulated-history.ts";
import { startLive, type LiveBlock } from "../../db/simulate/live-trading.ts";
import { OPTIONS, readOptions } from "../../db/simulate/options.ts";
import { makeRandom } from "../../db/simulate/random.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { makeDatabase, openClient, type TestDatabase } from "../database.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const END = new Date("2026-03-01T00:00:00Z");
const DAY = 86_400_000;
const daysLater = (days: number): Date => new Date(END.getTime() + days * DAY);

interface Files {
  tokens: { address: string; symbol: string; decimals: number; name: string }[];
  pairs: { base: string; quote: string; base_gem: string; quote_gem: string; active: boolean }[];
  offers: (OfferRow & { killed: number })[];
  trades: (TradeRow & { idx: number })[];
}

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function writeFiles(options: { seed?: number; days: number; trades: number; until?: Date }) {
  const folder = await mkdtemp(join(tmpdir(), "dex-simulate-"));
  folders.push(folder);
  await writeHistoryCsv(folder, { seed: 1, until: END, ...options });
  return folder;
}

const NUMBERS = ["decimals", "id", "offer_id", "killed", "block", "idx"];

async function readFiles(folder: string): Promise<Files> {
  const files: Record<string, unknown> = {};
  for (const name of ["tokens", "pairs", "offers", "trades"]) {
    files[name] = parse(await readFile(join(folder, `${name}.csv`)), {
      columns: true,
      cast: (value, { column }) =>
        NUMBERS.includes(String(column))
          ? Number(value)
          : column === "active"
            ? value === "true"
            : value,
    });
  }
  return files as unknown as Files;
}

describe("a history in files", () => {
  let files: Files;
  let decimals: Map<string, number>;
  let sellHash: Map<string, string>;
  const tradesOf = new Map<number, TradeRow[]>();
  const lot = (row: OfferRow | TradeRow): bigint =>
    fromDecimal(row.lot_amt, decimals.get(row.lot_gem)!);
  const bid = (row: OfferRow | TradeRow): bigint =>
    fromDecimal(row.bid_amt, decimals.get(row.bid_gem)!);
  /** BASE/QUOTE by the pair hash of each direction. */
  const marketOf = new Map<string, string>();

  /** Quote per base in 10^-18, rounded down. */
  function price(row: OfferRow | TradeRow): bigint {
    const sells = sellHash.get(marketOf.get(row.pair!)!) === row.pair;
    const [base, quote] = sells ? [lot(row), bid(row)] : [bid(row), lot(row)];
    const [baseGem, quoteGem] = sells ? [row.lot_gem, row.bid_gem] : [row.bid_gem, row.lot_gem];
    return (
      (quote * 10n ** BigInt(18 + decimals.get(baseGem)!)) /
      (base * 10n ** BigInt(decimals.get(quoteGem)!))
    );
  }

  beforeAll(async () => {
    files = await readFiles(await writeFiles({ days: 30, trades: 20_000 }));
    decimals = new Map(files.tokens.map((token) => [token.address, token.decimals]));
    sellHash = new Map();
    for (const { base, quote, base_gem, quote_gem } of files.pairs) {
      sellHash.set(`${base}/${quote}`, pairHash(base_gem, quote_gem));
      marketOf.set(pairHash(base_gem, quote_gem), `${base}/${quote}`);
      marketOf.set(pairHash(quote_gem, base_gem), `${base}/${quote}`);
    }
    for (const trade of files.trades) {
      tradesOf.set(trade.offer_id!, [...(tradesOf.get(trade.offer_id!) ?? []), trade]);
    }
  });

  it("has the requested number of trades within the requested days up to the end", () => {
    expect(files.trades).toHaveLength(20_000);
    const times = files.trades.map(({ time }) => Date.parse(time));
    expect(Math.min(...times)).toBeGreaterThan(END.getTime() - 30 * DAY);
    expect(Math.max(...times)).toBe(END.getTime());
  });

  it("trades tokens of 6, 8 and 18 decimals, one of them with a symbol in mixed case", () => {
    expect(new Set(decimals.values())).toEqual(new Set([6, 8, 18]));
    const traded = new Set(files.trades.flatMap((trade) => [trade.lot_gem, trade.bid_gem]));
    expect(new Set([...traded].map((gem) => decimals.get(gem)))).toEqual(new Set([6, 8, 18]));
    expect(files.tokens.map(({ symbol }) => symbol)).toContain("wstETH");
  });

  it("writes checksummed addresses and the pair hash of lot and bid", () => {
    const wrong: unknown[] = [];
    for (const row of [...files.offers, ...files.trades]) {
      const addresses = [row.maker, row.lot_gem, row.bid_gem];
      const right = addresses.every((address) => address === checksumAddress(address));
      if (!right || row.pair !== pairHash(row.lot_gem, row.bid_gem)) wrong.push(row);
    }
    expect(wrong).toEqual([]);
  });

  it("never writes an amount of 0 or with more digits than its token has", () => {
    const wrong: unknown[] = [];
    for (const row of [...files.offers, ...files.trades]) {
      // fromDecimal throws on too many digits.
      if (lot(row) <= 0n || bid(row) <= 0n) wrong.push(row);
    }
    expect(wrong).toEqual([]);
  });

  it("trades a dozen active pairs continuously, in both directions", () => {
    const lastDay = files.trades.filter(({ time }) => Date.parse(time) > END.getTime() - DAY);
    const directions = new Set(lastDay.map(({ pair }) => pair));
    const both = files.pairs.filter(
      ({ base_gem, quote_gem, active }) =>
        active &&
        directions.has(pairHash(base_gem, quote_gem)) &&
        directions.has(pairHash(quote_gem, base_gem)),
    );
    expect(both.length).toBeGreaterThanOrEqual(12);
  });

  it("has an inactive pair with trades, one without trades, and one quiet for two days", () => {
    const lastTrade = new Map<string, number>();
    for (const { pair, time } of files.trades) {
      lastTrade.set(marketOf.get(pair!)!, Date.parse(time));
    }
    expect(files.pairs.filter(({ active }) => !active).map(({ base }) => base)).toEqual(["REP"]);
    // Delisted halfway, with an empty book.
    expect(lastTrade.get("REP/DAI")).toBeLessThanOrEqual(END.getTime() - 15 * DAY);
    const taken = (id: number): bigint =>
      (tradesOf.get(id) ?? []).reduce((sum, trade) => sum + lot(trade), 0n);
    const delisted = files.offers.filter(({ pair }) => marketOf.get(pair!) === "REP/DAI");
    expect(delisted.length).toBeGreaterThan(12);
    for (const offer of delisted)
      expect(offer.killed > 0 || taken(offer.id) === lot(offer)).toBe(true);

    expect(lastTrade.has("BAT/DAI")).toBe(false);

    expect(lastTrade.get("GNO/WETH")).toBeLessThanOrEqual(END.getTime() - 2 * DAY);
    expect(lastTrade.get("GNO/WETH")).toBeGreaterThan(END.getTime() - 4 * DAY);
  });

  it("has prices from 1e-9 to 1e5", () => {
    const prices = files.trades.map(price);
    const lowest = prices.reduce((one, other) => (one < other ? one : other));
    const highest = prices.reduce((one, other) => (one > other ? one : other));
    // In units of 10^-18, 1e-9 is 10^9 and 1e5 is 10^23.
    expect(lowest).toBeGreaterThanOrEqual(10n ** 9n);
    expect(lowest).toBeLessThan(2n * 10n ** 9n);
    expect(highest).toBeLessThanOrEqual(10n ** 23n);
    expect(highest).toBeGreaterThan(7n * 10n ** 22n);
  });

  it("fills offers in parts by several takers, at the offer's price and never beyond the lot", () => {
    const offers = new Map(files.offers.map((offer) => [offer.id, offer]));
    expect(offers.size).toBe(files.offers.length);
    const wrong: unknown[] = [];
    let severalTakers = 0;
    let filled = 0;
    for (const [id, trades] of tradesOf) {
      const offer = offers.get(id)!;
      const total = lot(offer);
      const asked = bid(offer);
      let taken = 0n;
      let paid = 0n;
      for (const trade of trades) {
        if (
          trade.pair !== offer.pair ||
          trade.maker !== offer.maker ||
          trade.taker === offer.maker ||
          trade.block < offer.block ||
          (offer.killed > 0 && trade.block > offer.killed)
        ) {
          wrong.push(trade);
        }
        taken += lot(trade);
        paid += bid(trade);
        // Off the offer's price by less than the smallest unit: |paid - lot × asked ÷ total| < 1.
        const off = bid(trade) * total - lot(trade) * asked;
        if (off <= -total || off >= total) wrong.push(trade);
      }
      if (taken > total) wrong.push(offer);
      if (taken === total) {
        filled += 1;
        if (paid !== asked || offer.killed !== 0) wrong.push(offer);
      }
      if (new Set(trades.map(({ taker }) => taker)).size > 1) severalTakers += 1;
    }
    expect(wrong).toEqual([]);
    expect(filled).toBeGreaterThan(1000);
    expect(severalTakers).toBeGreaterThan(1000);
    expect(files.offers.filter(({ killed }) => killed > 0).length).toBeGreaterThan(100);
  });

  it("has several trades in a block and in a transaction, with different log indexes", () => {
    const blocks = new Map<number, TradeRow[]>();
    for (const trade of files.trades) {
      blocks.set(trade.block, [...(blocks.get(trade.block) ?? []), trade]);
    }
    const wrong: unknown[] = [];
    let shared = 0;
    for (const trades of blocks.values()) {
      const places = trades.map(({ idx }) => idx!);
      if (places.some((idx, place) => place > 0 && idx <= places[place - 1]!)) wrong.push(trades);
      if (new Set(trades.map(({ tx }) => tx)).size < trades.length) shared += 1;
    }
    expect(blocks.size).toBeLessThan(15_000);
    expect(shared).toBeGreaterThan(500);
    // A transaction has one block and one taker.
    const senders = new Map<string, string>();
    for (const { tx, block, taker } of files.trades) {
      const sender = `${block} ${taker}`;
      if ((senders.get(tx) ?? sender) !== sender) wrong.push(tx);
      senders.set(tx, sender);
    }
    expect(wrong).toEqual([]);
  });

  it("has blocks in order, twelve seconds apart, each with one time", () => {
    const wrong: unknown[] = [];
    let last = { block: 0, time: 0 };
    for (const trade of files.trades) {
      const time = Date.parse(trade.time);
      const blocks = trade.block - last.block;
      if (last.block > 0 && (blocks < 0 || time - last.time !== blocks * 12_000)) wrong.push(trade);
      last = { block: trade.block, time };
    }
    expect(wrong).toEqual([]);
  });

  it("never has a crossed book, and has bids and asks on every live market", () => {
    const made = Map.groupBy(files.offers, ({ block }) => block);
    const killed = Map.groupBy(
      files.offers.filter((offer) => offer.killed > 0),
      (offer) => offer.killed,
    );
    const traded = Map.groupBy(files.trades, ({ block }) => block);
    const prices = new Map(files.offers.map((offer) => [offer.id, price(offer)]));
    const left = new Map<number, bigint>();
    const books = new Map<string, { sell: Set<number>; buy: Set<number> }>();
    const bookOf = (pair: string) => {
      const market = marketOf.get(pair)!;
      const book = books.get(market) ?? { sell: new Set(), buy: new Set() };
      books.set(market, book);
      return { book, market, side: sellHash.get(market) === pair ? book.sell : book.buy };
    };
    const blocks = new Set([...made.keys(), ...killed.keys(), ...traded.keys()]);
    const crossed: unknown[] = [];
    let compared = 0;
    for (const block of [...blocks].sort((one, other) => one - other)) {
      const touched = new Set<string>();
      for (const offer of made.get(block) ?? []) {
        const { side, market } = bookOf(offer.pair!);
        side.add(offer.id);
        left.set(offer.id, lot(offer));
        touched.add(market);
      }
      for (const trade of traded.get(block) ?? []) {
        const rest = left.get(trade.offer_id!)! - lot(trade);
        left.set(trade.offer_id!, rest);
        if (rest === 0n) bookOf(trade.pair!).side.delete(trade.offer_id!);
      }
      for (const offer of killed.get(block) ?? []) bookOf(offer.pair!).side.delete(offer.id);
      for (const market of touched) {
        const { sell, buy } = books.get(market)!;
        const asks = [...sell].map((id) => prices.get(id)!);
        const bids = [...buy].map((id) => prices.get(id)!);
        if (asks.some((ask) => bids.some((bid) => bid >= ask))) crossed.push({ block, market });
        compared += asks.length * bids.length;
      }
    }
    expect(crossed).toEqual([]);
    expect(compared).toBeGreaterThan(100_000);
    const standing = [...books].filter(([, { sell, buy }]) => sell.size > 2 && buy.size > 2);
    const live = files.pairs.filter(({ base, active }) => active && base !== "BAT");
    expect(standing.map(([market]) => market).sort()).toEqual(
      live.map(({ base, quote }) => `${base}/${quote}`).sort(),
    );
  });

  it("is the same bytes for the same seed, days, trades and end, and differs for others", async () => {
    const all = async (folder: string): Promise<string[]> =>
      Promise.all(
        ["tokens", "pairs", "offers", "trades"].map((name) =>
          readFile(join(folder, `${name}.csv`), "utf8"),
        ),
      );
    const one = await all(await writeFiles({ days: 2, trades: 500 }));
    expect(await all(await writeFiles({ days: 2, trades: 500 }))).toEqual(one);
    const other = await all(await writeFiles({ days: 2, trades: 500, seed: 2 }));
    expect(other.slice(0, 2)).toEqual(one.slice(0, 2));
    expect(other[3]).not.toBe(one[3]);
  });

  it("can have only one trade", async () => {
    const { trades, offers } = await readFiles(await writeFiles({ days: 1, trades: 1 }));
    expect(trades.map(({ time }) => time)).toEqual(["2026-03-01T00:00:00Z"]);
    expect(offers.length).toBeGreaterThan(100);
  });
});

describe("a history in a database", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await makeDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(() => database.empty());

  const figures = async () => {
    const { rows } = await database.reader.query(
      `select
        market.*,
        price.vwap24h,
        price.vwap12h,
        price.vwap1h,
        (select block from dex_head) as head
      from dex_market as market
      join dex_price as price using (pair)
      order by pair`,
    );
    return rows;
  };
  const one = async (sql: string) => (await database.reader.query(sql)).rows[0];
  const counts = () =>
    one(
      `select
        count(*)::int as trades,
        count(distinct id)::int as ids,
        min(id)::int as first,
        max(id)::int as last,
        max(offer_id) as last_offer
      from dex_trade`,
    );

  const overfilled = async (): Promise<number> => {
    const { offers } = await one(
      `select count(*)::int as offers
      from dex_offer as offer
      where offer.lot_amt < (
        select sum(trade.lot_amt)
        from dex_trade as trade
        where trade.offer_id = offer.id
      )`,
    );
    return offers;
  };

  it("has figures for every live market, and the last block as head", async () => {
    const progress: number[] = [];
    const report = await simulateHistory(database.url, {
      seed: 1,
      days: 4,
      trades: 6000,
      until: END,
      onProgress: (done) => progress.push(done),
    });
    expect(report).toMatchObject({
      trades: 6000,
      from: "2026-02-25T00:00:00Z",
      to: "2026-03-01T00:00:00Z",
    });
    expect(progress.at(-1)).toBe(6000);
    expect(await one("select block, time from dex_head")).toEqual({
      block: report.block,
      time: END,
    });

    const rows = await figures();
    expect(rows).toHaveLength(16);
    for (const row of rows) {
      const { pair, active, bid, ask } = row;
      expect(active).toBe(pair !== "REP/DAI");
      if (pair === "BAT/DAI") {
        expect(row).toMatchObject({ last: null, bid: null, ask: null, vol: null });
      } else if (pair === "REP/DAI") {
        expect(row).toMatchObject({ last: expect.any(String), bid: null, ask: null, vol: null });
      } else if (pair === "GNO/WETH") {
        expect(row).toMatchObject({ last: expect.any(String), vol: null, low: null });
        expect(bid).not.toBeNull();
      } else {
        for (const value of Object.values(row)) expect(value).not.toBeNull();
        expect(Number(bid)).toBeLessThan(Number(ask));
        expect(Number(row.low)).toBeLessThanOrEqual(Number(row.last));
        expect(Number(row.high)).toBeGreaterThanOrEqual(Number(row.last));
      }
    }
  });

  it("equals the same history loaded from files", async () => {
    const options = { seed: 7, days: 3, trades: 7000, until: END };
    await simulateHistory(database.url, options);
    const tables = async () => ({
      offers: (await database.reader.query("select * from dex_offer order by id")).rows,
      trades: (await database.reader.query("select * from dex_trade order by id")).rows,
      figures: await figures(),
    });
    const simulated = await tables();
    expect(simulated.trades).toHaveLength(7000);

    await database.empty();
    await using client = await openClient(database.url, { role: "dex_writer" });
    await loadRows(client, await readFolder(await writeFiles(options)));
    expect(await tables()).toEqual(simulated);
  });

  it("continues after its head, with new ids and the existing books", async () => {
    const seed = 3;
    await simulateHistory(database.url, { seed, days: 3, trades: 2000, until: END });
    const before = await counts();
    const { block } = await one("select block from dex_head");
    const left = (
      await database.reader.query(
        "select id from dex_offer where killed = 0 and not filled order by id",
      )
    ).rows.map(({ id }) => id as number);

    const report = await simulateHistory(database.url, {
      seed,
      days: 2,
      trades: 1500,
      until: daysLater(5),
    });
    // Two days after the head, although a later end would be allowed.
    expect(report.to).toBe("2026-03-03T00:00:00Z");
    const after = await counts();
    expect(after).toMatchObject({ trades: 3500, ids: 3500, first: before.first });
    expect(after.last).toBeGreaterThan(before.last);
    expect(after.last_offer).toBeGreaterThan(before.last_offer);
    expect((await one("select block from dex_head")).block).toBeGreaterThan(block);

    const continued = await one(
      `select
        count(*)::int as trades,
        min(block) as first_block,
        count(distinct market)::int as markets
      from dex_trade
      where id > ${before.last}`,
    );
    expect(continued).toMatchObject({ trades: 1500, markets: 13 });
    expect(continued.first_block).toBeGreaterThan(block);
    // Open offers were taken further, none beyond its lot.
    const { rows: taken } = await database.reader.query(
      "select distinct offer_id from dex_trade where id > $1 and offer_id = any ($2)",
      [before.last, left],
    );
    expect(taken.length).toBeGreaterThan(20);
    expect(await overfilled()).toBe(0);
    for (const { bid, ask } of await figures()) {
      if (bid !== null) expect(Number(bid)).toBeLessThan(Number(ask));
    }
  });

  it("neither trades nor reactivates a pair that was deactivated by hand", async () => {
    await simulateHistory(database.url, { seed: 1, days: 1, trades: 300, until: END });
    await database.writer.query(
      "select ingest.register_pair(base_gem, quote_gem, false) from dex_pair where base = 'MKR'",
    );
    const { last } = await counts();
    await simulateHistory(database.url, { seed: 1, days: 1, trades: 300, until: daysLater(1) });
    const { rows } = await database.reader.query(
      "select distinct market from dex_trade where id > $1",
      [last],
    );
    const markets = rows.map(({ market }) => market as string);
    expect(markets).toContain("WETHDAI");
    expect(markets.filter((market) => market.startsWith("MKR"))).toEqual([]);
    expect(await one("select bool_or(active) as active from dex_pair where base = 'MKR'")).toEqual({
      active: false,
    });
  });

  it("fits many trades into little time with blocks in order", async () => {
    await simulateHistory(database.url, { seed: 1, days: 1, trades: 100, until: END });
    const until = new Date(END.getTime() + 2000);
    await simulateHistory(database.url, { seed: 1, days: 30, trades: 400, until });
    expect(await one("select count(*)::int as trades, max(time) as time from dex_trade")).toEqual({
      trades: 500,
      time: until,
    });
    const { backwards } = await one(
      `select count(*)::int as backwards
      from (
        select time < lag(time) over (order by block, idx) as back
        from dex_trade
      ) as ordered
      where back`,
    );
    expect(backwards).toBe(0);
  });

  it("rejects an end before the head or in the future, and leaves the database unchanged", async () => {
    await simulateHistory(database.url, { seed: 1, days: 1, trades: 100, until: END });
    const options = { seed: 1, days: 1, trades: 100 };
    await expect(
      simulateHistory(database.url, { ...options, until: daysLater(-1) }),
    ).rejects.toThrow("2026-03-01T00:00:00Z: history after it cannot end at 2026-02-28T00:00:00Z");
    const future = new Date(Date.now() + DAY);
    await expect(simulateHistory(database.url, { ...options, until: future })).rejects.toThrow(
      "future",
    );
    expect(await counts()).toMatchObject({ trades: 100 });
  });

  it("rejects a database with data that is not simulated", async () => {
    expect(await holdingsOf(database.url)).toBe("empty");
    await registerMarkets(database.writer);
    await write(database.writer, { trades: [aTrade()] });
    expect(await holdingsOf(database.url)).toBe("other");
    await expect(
      simulateHistory(database.url, { seed: 1, days: 1, trades: 10, until: END }),
    ).rejects.toThrow("other data than a simulated exchange");
    await expect(catchUp(database.url, { seed: 1, until: END })).rejects.toThrow("other data");
    expect(await counts()).toMatchObject({ trades: 1 });
  });

  it("names an offer that somebody wrote into the simulated exchange, and what to do", async () => {
    await simulateHistory(database.url, { seed: 1, days: 1, trades: 100, until: END });
    await using writer = await openClient(database.url, { role: "dex_writer" });
    await writer.query("select ingest.take_turn()");
    const { rows } = await writer.query<{ block: number; offers: unknown }>(
      `select
        head.block + 1 as block,
        jsonb_build_array(
          to_jsonb(offer) || jsonb_build_object('id', 999999, 'lot_amt', '0.000000000000000001')
        ) as offers
      from dex_head as head
      cross join lateral (
        select pair, lot_gem, bid_gem, maker, bid_amt::text as bid_amt, tx
        from dex_offer
        join dex_token as lot on lot.address = lot_gem
        where lot.decimals < 18
        order by id desc
        limit 1
      ) as offer`,
    );
    await writer.query("select ingest.write_block($1, $2, offers => $3)", [
      rows[0]!.block,
      daysLater(1 / 24).toISOString(),
      JSON.stringify(rows[0]!.offers),
    ]);
    await expect(catchUp(database.url, { seed: 1, until: daysLater(1) })).rejects.toThrow(
      /^Offer 999999 of \S+ gives 0\.000000000000000001 for \S+, more digits than .* SEED_TRADES=0/,
    );
    expect(await counts()).toMatchObject({ trades: 100 });
  });

  it("catches up at the same density, up to the given end", async () => {
    expect(await catchUp(database.url, { seed: 1, until: END })).toBeNull();
    await simulateHistory(database.url, { seed: 1, days: 2, trades: 1000, until: END });
    expect(await catchUp(database.url, { seed: 1, until: END })).toBeNull();

    // 500 trades a day; the first is a little later than the first block.
    const report = await catchUp(database.url, { seed: 1, until: daysLater(3) });
    expect(report?.to).toBe("2026-03-04T00:00:00Z");
    expect(report?.trades).toBeGreaterThanOrEqual(1500);
    expect(report?.trades).toBeLessThan(1530);

    const bounded = await catchUp(database.url, { seed: 1, until: daysLater(60), max: 700 });
    expect(bounded).toMatchObject({ trades: 700, to: "2026-04-30T00:00:00Z" });
  });

  it("runs two concurrent runs one after the other", async () => {
    await simulateHistory(database.url, { seed: 1, days: 1, trades: 100, until: END });
    const run = (seed: number) =>
      simulateHistory(database.url, { seed, days: 9, trades: 6000, until: daysLater(1) });
    await Promise.all([run(1), run(2)]);
    expect(await counts()).toMatchObject({ trades: 12_100, ids: 12_100 });
    expect(await overfilled()).toBe(0);
  });

  /** Trades live until `enough`. */
  async function tradeLive(
    options: { seed: number; rate: number; onError?: (error: Error) => void },
    enough: (blocks: LiveBlock[]) => boolean,
  ): Promise<LiveBlock[]> {
    const blocks: LiveBlock[] = [];
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const live = startLive(database.url, {
      ...options,
      interval: 10,
      onBlock: (block) => {
        blocks.push(block);
        if (enough(blocks)) resolve(undefined);
      },
    });
    await promise;
    await live.stop();
    return blocks;
  }

  const tradesIn = (blocks: LiveBlock[]): number =>
    blocks.reduce((sum, { trades }) => sum + trades, 0);

  it("starts live on an empty database, and moves the head with each block, with or without trades", async () => {
    const started = Math.floor(Date.now() / 1000) * 1000;
    const blocks = await tradeLive(
      { seed: 1, rate: 20 },
      (made) => made.length >= 10 && tradesIn(made) >= 5 && made.some(({ trades }) => trades === 0),
    );
    expect(blocks.map(({ block }) => block)).toEqual(
      blocks.map((_made, place) => blocks[0]!.block + place),
    );
    expect(await counts()).toMatchObject({ trades: tradesIn(blocks) });
    const head = await one("select block, time from dex_head");
    expect(head).toEqual({ block: blocks.at(-1)!.block, time: new Date(blocks.at(-1)!.time) });
    expect(head.time.getTime()).toBeGreaterThanOrEqual(started);
    expect(head.time.getTime()).toBeLessThanOrEqual(Date.now());
    const sides = (await figures()).filter(({ bid, ask }) => bid !== null && ask !== null);
    expect(sides).toHaveLength(13);
  });

  it("continues live after a history, with new ids", async () => {
    await simulateHistory(database.url, { seed: 1, days: 1, trades: 200, until: END });
    const before = await counts();
    const { block } = await one("select block from dex_head");
    const blocks = await tradeLive({ seed: 1, rate: 100 }, (made) => tradesIn(made) >= 10);
    expect(blocks[0]!.block).toBe(Number(block) + 1);
    const after = await counts();
    expect(after.trades).toBe(200 + tradesIn(blocks));
    expect(after.ids).toBe(after.trades);
    expect(after.last).toBeGreaterThan(before.last);
  });

  it("waits while the head is in the future", async () => {
    await simulateHistory(database.url, { seed: 1, days: 1, trades: 100, until: END });
    await database.writer.query(
      "select ingest.write_block(block + 1, now() + interval '1 hour') from dex_head",
    );
    const { promise, resolve } = Promise.withResolvers<string>();
    const live = startLive(database.url, {
      seed: 1,
      rate: 100,
      interval: 10,
      onError: ({ message }) => resolve(message),
    });
    expect(await promise).toMatch(/head, block \d+, is of .*, which is still to come/);
    await live.stop();
    expect(await counts()).toMatchObject({ trades: 100 });
  });

  it("continues live after the database dropped its connection", async () => {
    await database.owner.query(
      `create table written (block integer);
      create function note_head() returns trigger language plpgsql security definer as $$
      begin
        insert into public.written (block) values (new.number);
        return null;
      end
      $$;
      create trigger note_head after insert on dex_block
      for each row execute function note_head()`,
    );
    const errors: string[] = [];
    let dropped = 0;
    let dropping: Promise<void> | undefined;
    const blocks = await tradeLive(
      { seed: 1, rate: 50, onError: ({ message }) => errors.push(message) },
      (made) => {
        if (made.length === 3) {
          dropped = made[2]!.block;
          dropping = dropSimulator();
        }
        return errors.length > 0 && made.at(-1)!.block > dropped + 2;
      },
    );
    await dropping;
    expect(errors.length).toBeGreaterThan(0);
    const { rows } = await database.owner.query<{ block: number }>(
      "select block from written order by block",
    );
    await database.owner.query("drop function note_head cascade; drop table written");
    const written = rows.map(({ block }) => block);
    expect(written).toEqual(written.map((_block, place) => written[0]! + place));
    // For each failure at most one block is not reported: it was written before the connection was lost.
    const told = blocks.map(({ block }) => block);
    expect(told).toEqual(written.filter((block) => told.includes(block)));
    expect(written.length - told.length).toBeLessThanOrEqual(errors.length);
  });

  async function dropSimulator(): Promise<void> {
    await using admin = await openClient(database.url);
    await admin.query(
      `select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database()
        and application_name = 'dex-simulate'`,
    );
  }
});

describe("the command", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await makeDatabase();
  });
  afterAll(() => database.drop());

  /** Runs the command as npm does; `afterStart` may send a signal. */
  async function simulate(
    line: string,
    afterStart?: (stop: () => boolean) => Promise<void>,
  ): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = spawn(process.execPath, ["db/commands/simulate.ts", ...line.split(" ")], {
      cwd: ROOT,
      env: { ...process.env, DATABASE_URL: database.url, DATABASE_OWNER_URL: "" },
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (text) => (stdout += String(text)));
    child.stderr.on("data", (text) => (stderr += String(text)));
    const ended = once(child, "close");
    await afterStart?.(() => child.kill("SIGTERM"));
    const [code] = (await ended) as [number | null];
    return { code, stdout, stderr };
  }

  const trades = async (): Promise<number> =>
    (await database.reader.query("select count(*)::int as count from dex_trade")).rows[0].count;

  it("writes a history to the database, and prints its end", async () => {
    const until = "--until 2026-03-01T00:00:00Z";
    expect(await simulate(`--days 2 --trades 300 ${until}`)).toEqual({
      code: 0,
      stdout:
        "300 trades from 2026-02-27T00:00:00Z to 2026-03-01T00:00:00Z; the head is block 20014400.\n",
      stderr: "",
    });
    expect(await trades()).toBe(300);
    expect(await simulate("--days 1 --trades 100")).toMatchObject({ code: 0, stderr: "" });
    expect(await trades()).toBe(400);
  });

  it.each([
    ["--rate 50", "; Ctrl-C ends it"],
    ["--rate 50 --for 31536000", " for 31536000 s"],
  ])("%s trades live until a signal", async (line, howLong) => {
    const before = await trades();
    const ended = await simulate(line, async (stop) => {
      for (let looks = 0; looks < 400 && (await trades()) === before; looks += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      stop();
    });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toBe(
      `Trading at 50 trades a second${howLong}.\n` +
        `${(await trades()) - before} trades in ${blocksOf(ended)} blocks.\n`,
    );
    expect(await trades()).toBeGreaterThan(before);
  });

  const blocksOf = ({ stdout }: { stdout: string }): string => / in (\d+) /.exec(stdout)?.[1] ?? "";

  it("writes files without a database", async () => {
    const before = await trades();
    const folder = await mkdtemp(join(tmpdir(), "dex-simulate-"));
    folders.push(folder);
    const ended = await simulate(`--days 1 --trades 50 --csv ${folder}`);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const files = await readFiles(folder);
    expect(files.trades).toHaveLength(50);
    expect(ended.stdout).toBe(
      `${folder}: 50 trades, ${files.offers.length} offers, with their tokens and pairs.\n`,
    );
    expect(await trades()).toBe(before);
  });

  it("reports an error in one line", async () => {
    expect(await simulate("--days none")).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "--days must be a whole number from 1 to 3650, but is 'none'. `--help` shows what is accepted.\n",
    });
  });
});

describe("the command line", () => {
  const NOW = new Date("2026-03-01T00:00:00Z");
  const read = (line: string) =>
    readOptions(parseArgs({ args: line.split(" ").filter(Boolean), options: OPTIONS }).values, NOW);

  it("defaults to 30 days with 20,000 trades", () => {
    expect(read("")).toEqual({
      mode: "history",
      seed: 1,
      days: 30,
      trades: 20_000,
      until: undefined,
      csv: undefined,
    });
    expect(read("--days 2 --trades 5 --seed 9 --until 2026-02-28T12:00:00Z --csv out")).toEqual({
      mode: "history",
      seed: 9,
      days: 2,
      trades: 5,
      until: new Date("2026-02-28T12:00:00Z"),
      csv: "out",
    });
  });

  it("trades live with --rate, by default for ever", () => {
    expect(read("--rate 0.5")).toEqual({ mode: "live", seed: 1, rate: 0.5, seconds: undefined });
    expect(read("--rate 3 --for 10")).toMatchObject({ rate: 3, seconds: 10 });
  });

  it.each([
    ["--days 0", "--days must be a whole number from 1 to 3650, but is '0'"],
    ["--days 1.5", "--days must be a whole number from 1 to 3650, but is '1.5'"],
    ["--days 030", "--days must be a whole number from 1 to 3650, but is '030'"],
    ["--days=", "--days must be a whole number from 1 to 3650, but is ''"],
    ["--trades 1e3", "--trades must be a whole number from 1 to 10000000, but is '1e3'"],
    ["--seed 4294967296", "--seed must be a whole number from 0 to 4294967295"],
    ["--rate 0", "--rate must be a number above 0, up to 1000, but is '0'"],
    ["--rate 01", "--rate must be a number above 0, up to 1000, but is '01'"],
    ["--rate fast", "--rate must be a number above 0, up to 1000, but is 'fast'"],
    ["--rate 1 --for 0", "--for must be a whole number from 1 to 31536000, but is '0'"],
    ["--for 10", "--for is for trading live: give --rate too"],
    ["--rate 1 --days 3", "--days is for history, and --rate trades live"],
    ["--until yesterday", "--until must be a time in UTC like 2026-01-31T12:00:00Z"],
    ["--until 2026-02-30T00:00:00Z", "--until must be a time in UTC"],
    ["--until 2026-03-01T00:00:01Z", "--until must not be in the future"],
    ["--csv=", "--csv must be a folder"],
  ])("rejects %s in one line", (line, message) => {
    expect(() => read(line)).toThrow(message);
    expect(() => read(line)).toThrow(/^[^\n]+$/);
  });
});

describe("its parts", () => {
  it("formats amounts as decimals and parses them again", () => {
    expect(toDecimal(1n, 18)).toBe("0.000000000000000001");
    expect(toDecimal(1234567n, 6)).toBe("1.234567");
    expect(toDecimal(42n, 0)).toBe("42");
    expect(fromDecimal("1.234567000000000000", 6)).toBe(1234567n);
    expect(fromDecimal("3", 8)).toBe(300000000n);
    expect(() => fromDecimal("0.0000001", 6)).toThrow("no amount of a token with 6 decimals");
    expect(() => fromDecimal("1e3", 6)).toThrow(RangeError);
  });

  it("draws random numbers evenly, and differently for each seed and block", () => {
    const counts = Array.from({ length: 10 }, () => 0);
    const firsts = new Set<number>();
    for (let block = 0; block < 10_000; block += 1) {
      const random = makeRandom(1, block);
      firsts.add(random.below(2 ** 32));
      counts[random.below(10)]! += 1;
    }
    // 1000 expected for each, with a standard deviation of 30.
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
    expect(firsts.size).toBeGreaterThan(9990);
    expect(makeRandom(2 ** 32 - 1).below(1000)).toBe(makeRandom(2 ** 32 - 1).below(1000));
  });
});
