// What a client of live data gets while a writer writes, and after it was away: the same by each transport.
import { setImmediate } from "node:timers/promises";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import type { Database } from "../../../db/connect.ts";
import { makeTestApp, ownErrors, type TestApp } from "../../app.ts";
import { makeDatabase, openClient, type TestDatabase } from "../../database.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  MKR,
  registerMarkets,
  registerPair,
  registerTokens,
  setHead,
  WETH,
  write,
} from "../../factories.ts";
import {
  rowsIn,
  type Asked,
  type Connection,
  type LiveClient,
  type LiveEvent,
  type Retract,
  type Row,
} from "./live-client.ts";
import { readTruth } from "./live-truth.ts";
import { TRANSPORTS } from "./transports.ts";

const market = "WETH/DAI";
const HEAD: Asked = { kind: "head" };
const TRADES: Asked = { kind: "trades", market };
const MARKETS: Asked = { kind: "market" };
const CANDLES: Asked = { kind: "candles", market, interval: "1h" };
const BOOK: Asked = { kind: "book", market, depth: 5 };

let database: TestDatabase;
/** Waits for a place as long as the test lasts. */
let app: TestApp;
/** Waits for no place. */
let impatient: TestApp;
const open: Connection[] = [];

beforeAll(async () => {
  database = await makeDatabase();
  const streams = { ...STREAM_LIMITS, checkMs: 1, lagMs: 3_600_000 };
  app = await makeTestApp(database.reader, { streams });
  impatient = await makeTestApp(database.reader, { streams: { ...streams, lagMs: 0 } });
});

beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

afterEach(async () => {
  for (const connection of open.splice(0)) connection.close();
  // A snapshot that is still read would deadlock with the next test's truncation.
  while (database.reader.idleCount < database.reader.totalCount) await setImmediate();
  expect(ownErrors([...app.logged.splice(0), ...impatient.logged.splice(0)])).toEqual([]);
});

afterAll(async () => {
  await app.close();
  await impatient.close();
  await database.drop();
});

const takeBack = (hour: number, blocks = 0) =>
  database.writer.query("select ingest.take_back($1)", [blockAt(hour) + blocks]);

/** What several writes leave, seen at once. */
async function atOnce(act: (writer: Database) => Promise<void>): Promise<void> {
  await using client = await openClient(database.url, { role: "dex_writer" });
  await client.query("begin");
  await act(client);
  await client.query("commit");
}

const tradesAt = (...all: number[]) =>
  write(database.writer, { trades: all.map((hour) => aTrade({ hour })) });

const idsOf = (rows: readonly Row[]): number[] => rows.map(({ id }) => Number(id));

const momentOf = (block: number | null, time: string | null) => ({
  block,
  time: time === null ? null : new Date(time).toISOString(),
});

const at = (hour: number) => ({ block: blockAt(hour), time: hours(hour) });

const headOf = (event: LiveEvent) =>
  event.event === "update" && event.head !== null
    ? momentOf(event.head.block, event.head.time)
    : null;

/** What an event says that stands. */
const leftBy = ({ block, time, trade }: Retract) => ({ ...momentOf(block, time), trade });

describe.each(TRANSPORTS)("by $name, a client", (transport) => {
  function follow(asked: Asked, after?: string, { url }: { url: string } = app): LiveClient {
    const connection = transport.connect(url);
    open.push(connection);
    return connection.follow([asked], after);
  }

  /** The place of a client that begins now. */
  const placeNow = async (asked: Asked): Promise<string> => (await follow(asked).update()).place;

  async function retract(client: LiveClient): Promise<Retract> {
    const event = await client.next();
    if (event?.event !== "retract") throw new Error(`no retraction: ${JSON.stringify(event)}`);
    return event;
  }

  /** The rows of a topic as a client has them that follows it from the first block. */
  async function rowsNow(asked: Asked): Promise<readonly Row[]> {
    const truth = await readTruth(database.reader, { intervals: ["1h"], depths: [5] });
    return transport.rowsOf(asked, truth) ?? [];
  }

  describe("that begins", () => {
    it("gets the head, none before the first block, and each new one", async () => {
      const heads = follow(HEAD);
      const first = await heads.update();
      expect([first.head, rowsIn(first)]).toEqual([null, []]);
      expect(first.place).toMatch(/^[0-9a-f]{8}\.\d+\.\d+\.-1\.0$/);
      for (const [hour, block] of [
        [1, tradesAt],
        [2, (n: number) => setHead(database.writer, n)],
      ] as const) {
        await block(hour);
        const next = await heads.update();
        expect(headOf(next)).toEqual(at(hour));
        expect(rowsIn(next)).toEqual(await rowsNow(HEAD));
      }
      await takeBack(1);
      expect(leftBy(await retract(heads))).toEqual({ ...at(1), trade: 1 });
      expect(headOf(await heads.update())).toEqual(at(1));
    });

    it("gets trades from then on, each once", async () => {
      await tradesAt(1);
      const trades = follow(TRADES);
      expect(rowsIn(await trades.update())).toEqual([]);
      await tradesAt(2);
      expect(rowsIn(await trades.update())).toEqual((await rowsNow(TRADES)).slice(1));
    });

    it("gets the running candle, then those that change or are complete", async () => {
      await tradesAt(0.5, 1);
      const candles = follow(CANDLES);
      const last = async (count: number) => (await rowsNow(CANDLES)).slice(-count);
      expect(rowsIn(await candles.update())).toEqual(await last(1));
      await tradesAt(1.5);
      expect(rowsIn(await candles.update())).toEqual(await last(1));
      await tradesAt(3);
      expect(rowsIn(await candles.update())).toEqual(await last(2));
      await setHead(database.writer, 4);
      expect(rowsIn(await candles.update())).toMatchObject([{ complete: true }]);
    });

    it("gets the whole book, then the levels that change, and what is gone with nothing left", async () => {
      await write(database.writer, {
        offers: [anOffer({ id: 1 }), anOffer({ id: 2, quote: "2000" })],
      });
      const book = follow(BOOK);
      const before = await rowsNow(BOOK);
      const [first] = [...(await book.update()).changes.values()];
      expect(first).toMatchObject({ whole: true, rows: before });
      await write(database.writer, {
        trades: [aTrade({ hour: 1, offer_id: 1, base: "10", quote: "1000" })],
        offers: [anOffer({ id: 3, hour: 1, side: "buy", base: "1", quote: "50" })],
      });
      const [next] = [...(await book.update()).changes.values()];
      const bid = (await rowsNow(BOOK)).find(({ act }) => act === "buy");
      const gone = { ...before[0], vol: "0", quoteVol: "0", offers: 0 };
      expect(next?.whole).toBe(false);
      expect(next?.rows).toHaveLength(2);
      expect(next?.rows).toEqual(expect.arrayContaining([bid, gone]));
    });

    it("gets all markets, then those that change, also without a block", async () => {
      const markets = follow(MARKETS);
      expect(rowsIn(await markets.update())).toEqual(await rowsNow(MARKETS));
      await tradesAt(1);
      expect(rowsIn(await markets.update())).toEqual((await rowsNow(MARKETS)).slice(1));
      await registerPair(database.writer, WETH, DAI, false);
      expect(rowsIn(await markets.update())).toMatchObject([{ pair: market, active: false }]);
      await registerPair(database.writer, MKR, DAI);
      expect(rowsIn(await markets.update())).toMatchObject([{ pair: "MKR/DAI" }]);
    });

    it.each<Asked>([
      { kind: "trades", market: "MKR/WETH" },
      { kind: "market", market: "MKR/WETH" },
      { kind: "summary", market: "MKR/WETH" },
      { kind: "candles", market: "MKR/WETH", interval: "1h" },
      { kind: "book", market: "MKR/WETH", depth: 5 },
    ])("gets an event only where its $kind has changed", async (asked) => {
      const client = follow(asked);
      await client.update();
      await write(database.writer, {
        trades: [aTrade({ hour: 1 })],
        offers: [anOffer({ id: 6, hour: 1 })],
      });
      await write(database.writer, {
        trades: [aTrade({ hour: 2, baseGem: MKR, quoteGem: WETH })],
        offers: [anOffer({ id: 7, hour: 2, baseGem: MKR, quoteGem: WETH })],
      });
      const next = await client.update();
      expect(headOf(next)).toEqual(at(2));
      expect(rowsIn(next)).toEqual(await rowsNow(asked));
    });
  });

  describe("whose blocks are taken back", () => {
    it("is sent what stands before what replaces it", async () => {
      await tradesAt(1, 2);
      const trades = follow(TRADES);
      await trades.update();
      await takeBack(1);
      expect(leftBy(await retract(trades))).toEqual({ ...at(1), trade: 1 });
      await tradesAt(1.5);
      const events = await trades.until((event) => headOf(event)?.block === blockAt(1.5));
      expect(events.every(({ event }) => event === "update")).toBe(true);
      expect(events.flatMap((event) => idsOf(rowsIn(event)))).toEqual([3]);
    });

    it("is sent so after it was away, with what replaces it", async () => {
      await tradesAt(1, 2);
      const after = await placeNow(TRADES);
      await takeBack(1);
      await tradesAt(3);
      const trades = follow(TRADES, after);
      expect(leftBy(await retract(trades))).toEqual({ ...at(1), trade: 1 });
      const next = await trades.update();
      expect([headOf(next), idsOf(rowsIn(next))]).toEqual([at(3), [3]]);
    });

    it("is sent nothing of blocks that it has not seen", async () => {
      await tradesAt(1);
      const after = await placeNow(TRADES);
      await tradesAt(2);
      await takeBack(1);
      const next = await follow(TRADES, after).next();
      expect([headOf(next!), rowsIn(next)]).toEqual([at(1), []]);
    });

    it("is sent the last trade that stands, where blocks have the same time", async () => {
      const block = (n: number) => ({
        ...aTrade({ hour: 1 }),
        block: blockAt(1) + n,
        time: hours(1),
      });
      await write(database.writer, { trades: [block(0), block(1), block(2)] });
      const trades = follow(TRADES);
      await trades.update();
      await takeBack(1, 1);
      expect(leftBy(await retract(trades))).toEqual({
        ...{ block: blockAt(1) + 1, time: hours(1), trade: 2 },
      });
    });

    it("is sent the same trade when others have replaced the later ones before it comes back", async () => {
      await tradesAt(1, 2);
      const after = await placeNow(TRADES);
      for (const hour of [3, 4]) {
        await takeBack(1);
        await tradesAt(hour);
      }
      const trades = follow(TRADES, after);
      expect(leftBy(await retract(trades))).toEqual({ ...at(1), trade: 1 });
      expect(idsOf(rowsIn(await trades.update()))).toEqual([4]);
    });

    it("is sent the last recorded block, where it goes on", async () => {
      await tradesAt(1, 2);
      const trades = follow(TRADES);
      await trades.update();
      await takeBack(1, 7);
      const { place, ...left } = await retract(trades);
      expect(leftBy(left)).toEqual({ ...at(1), trade: 1 });
      const after = place ?? (await trades.update()).place;
      expect((await follow(TRADES, after).next())?.event).toBe("update");
    });

    it("is sent the last block that stood, where the one that it was taken back to came later", async () => {
      await tradesAt(1, 2);
      const after = await placeNow(TRADES);
      await takeBack(1.5);
      await tradesAt(1.5);
      const trades = follow(TRADES, after);
      expect(leftBy(await retract(trades))).toEqual({ ...at(1), trade: 1 });
      expect(idsOf(rowsIn(await trades.update()))).toEqual([3]);
    });

    it("is sent no block where none is left, and goes on there", async () => {
      await tradesAt(1);
      const trades = follow(TRADES);
      await trades.update();
      await takeBack(0.5);
      const { place, ...left } = await retract(trades);
      expect(leftBy(left)).toEqual({ block: null, time: null, trade: 0 });
      const after = place ?? (await trades.update()).place;
      expect((await follow(TRADES, after).next())?.event).toBe("update");
    });

    it("misses no candle by blocks that it has not seen", async () => {
      await tradesAt(1);
      const candles = follow(CANDLES);
      await candles.update();
      await atOnce(async (writer) => {
        await write(writer, { trades: [aTrade({ hour: 2.5 }), aTrade({ hour: 3 })] });
        await writer.query("select ingest.take_back($1)", [blockAt(2.5)]);
      });
      const next = rowsIn(await candles.next());
      expect(next).toMatchObject([{ complete: true }, { complete: false }]);
      expect(next).toEqual(await rowsNow(CANDLES));
    });

    it("gets the candles that are left again, as after it was away", async () => {
      await tradesAt(1, 2, 3);
      const after = await placeNow(CANDLES);
      await tradesAt(4, 5);
      const candles = follow(CANDLES, after);
      expect(rowsIn(await candles.update())).toEqual((await rowsNow(CANDLES)).slice(2));
      await takeBack(2);
      for (const client of [candles, follow(CANDLES, after)]) {
        expect(leftBy(await retract(client))).toEqual({ ...at(2), trade: 2 });
        expect(rowsIn(await client.update())).toEqual((await rowsNow(CANDLES)).slice(-1));
      }
    });
  });

  describe("that was away", () => {
    it("gets each trade that it has missed once, in pages of whole blocks", async () => {
      await setHead(database.writer, 0);
      const after = await placeNow(TRADES);
      const trades = Array.from({ length: 2500 }, (_, n) =>
        aTrade({ hour: 1, block: 3600 + Math.floor(n / 400), idx: n % 400 }),
      ).map((trade) => ({ ...trade, time: hours(trade.block / 3600) }));
      await write(database.writer, { trades });
      const client = follow(TRADES, after);
      // 400 trades a block: two whole blocks a page, until 900 are left.
      const pages = [await client.update(), await client.update(), await client.update()];
      expect(pages.map((page) => rowsIn(page).length)).toEqual([800, 800, 900]);
      expect(pages.map(({ more }) => more)).toEqual([true, true, false]);
      expect(pages.map(({ head }) => head?.block)).toEqual([3601, 3603, 3606]);
      expect(pages.flatMap((page) => idsOf(rowsIn(page)))).toEqual(trades.map((_, n) => n + 1));
      // Each page can be resumed.
      const again = follow(TRADES, pages[0]!.place);
      expect(rowsIn(await again.update())).toEqual(rowsIn(pages[1]));
      await tradesAt(3);
      expect(idsOf(rowsIn(await client.update()))).toEqual([2501]);
    });

    it("gets a block with more trades than a page whole", async () => {
      await setHead(database.writer, 0);
      const after = await placeNow(TRADES);
      const block = (hour: number) =>
        Array.from({ length: 2100 }, (_, idx) => aTrade({ hour, idx }));
      await write(database.writer, { trades: [...block(1), ...block(2)] });
      const client = follow(TRADES, after);
      for (const _page of [1, 2]) expect(rowsIn(await client.update())).toHaveLength(2100);
    });

    it("goes on exactly in another process", async () => {
      await tradesAt(1);
      const after = await placeNow(TRADES);
      await tradesAt(2, 3);
      const next = await follow(TRADES, after, impatient).next();
      expect([headOf(next!), idsOf(rowsIn(next))]).toEqual([at(3), [2, 3]]);
    });

    it("waits for a place that is later than the head, since a standby may lag", async () => {
      await tradesAt(1);
      const after = (await placeNow(TRADES)).replace(`${blockAt(1)}.1`, `${blockAt(2)}.2`);
      const client = follow(TRADES, after);
      await tradesAt(2, 3);
      const events = await client.until((event) => headOf(event)?.block === blockAt(3));
      expect(events.every(({ event }) => event === "update")).toBe(true);
      expect(events.flatMap((event) => idsOf(rowsIn(event)))).toEqual([3]);
    });
  });

  describe("is reset, and gets the state,", () => {
    /** It names its place, and the present state follows. */
    async function expectReset(client: LiveClient, reason: RegExp, rows: readonly Row[] = []) {
      expect(await client.next()).toEqual({
        event: "reset",
        reason: expect.stringMatching(reason),
      });
      const next = await client.next();
      expect(next).toMatchObject({ event: "update", more: false });
      expect(rowsIn(next)).toEqual(rows);
      return next;
    }

    it.each([
      ["of another database", () => "00000000.0.0.3600.1"],
      ["later than the head, for too long", (place: string) => `${place}9`],
    ])("where its place is %s", async (_name, change) => {
      await tradesAt(1);
      const place = await placeNow(TRADES);
      const client = follow(TRADES, change(place), impatient);
      const state = await expectReset(client, /of another history or later than the head/);
      expect(state).toMatchObject({ place });
    });

    it("where the labels of trades change, as after it was away", async () => {
      await tradesAt(1);
      const candles = follow(CANDLES);
      const { place } = await candles.update();
      await registerTokens(database.writer, { address: MKR, symbol: "SKY" });
      const rows = await rowsNow(CANDLES);
      await expectReset(candles, /labels/, rows);
      await expectReset(follow(CANDLES, place), /labels of trades have changed/, rows);
    });

    it("where the reorganisations since are no longer recorded", async () => {
      await tradesAt(1, 2);
      const after = await placeNow(TRADES);
      for (const hour of [1, 0]) await takeBack(hour);
      await using client = await openClient(database.url);
      await client.query(
        `delete from dex_private.reorganisation
        where number < (select max(number) from dex_private.reorganisation)`,
      );
      await expectReset(follow(TRADES, after), /no longer recorded/);
    });

    it("where it has missed a page of candles", async () => {
      await tradesAt(1);
      const after = await placeNow(CANDLES);
      await tradesAt(...Array.from({ length: 1000 }, (_, n) => n + 2));
      const client = follow(CANDLES, after);
      await expectReset(client, /^more than 999 candles/, (await rowsNow(CANDLES)).slice(-1));
    });
  });
});
