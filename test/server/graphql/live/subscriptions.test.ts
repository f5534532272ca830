// Subscriptions: what each field tells while a writer writes, and how a client goes on after it was away.
import { setImmediate } from "node:timers/promises";
import type { Client } from "graphql-ws";
import { STREAM_LIMITS } from "../../../../rest/stream/stream-endpoint.ts";
import { makePool } from "../../../../db/connect.ts";
import { makeTestApp, ownErrors, type TestApp } from "../../../app.ts";
import { makeDatabase, type TestDatabase } from "../../../database.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  hours,
  MKR,
  registerMarkets,
  registerPair,
  setHead,
  WETH,
  write,
} from "../../../factories.ts";
import { dataOf } from "../../../graphql.ts";
import { recordStatements } from "../../../statements.ts";
import { connectTo, follow } from "../../../subscription-client.ts";

let database: TestDatabase;
let app: TestApp;
let client: Client;

beforeAll(async () => {
  database = await makeDatabase();
  app = await makeTestApp(database.reader);
});

beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
  client = connectTo(app.url);
});

afterEach(async () => {
  await client.dispose();
  // A snapshot that is still read would deadlock with the next test's truncation.
  while (database.reader.idleCount < database.reader.totalCount) await setImmediate();
  expect(ownErrors(app.logged.splice(0))).toEqual([]);
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

const EACH = "cursor head { block time } retractedTo { block time trade } reset";

const HEAD = `subscription { dexHead { ${EACH} } }`;

const TRADES = `
  subscription ($market: String, $taker: String, $maker: String, $after: String) {
    dexTrades(market: $market, taker: $taker, maker: $maker, after: $after) {
      ${EACH} more
      nodes { id price block offer { id filled } }
    }
  }
`;

const MARKETS = `
  subscription ($pairs: [String!]) {
    dexMarkets(pairs: $pairs) { ${EACH} nodes { pair last active dexPair { base } } removed }
  }
`;

const CANDLE = "time open high low close vol quoteVol trades complete";
const CANDLES = `
  subscription ($after: String) {
    dexCandles(base: "weth", quote: "dai", interval: "1h", after: $after) {
      ${EACH} nodes { ${CANDLE} }
    }
  }
`;

const LEVEL = "act price vol quoteVol offers";
const BOOK = `
  subscription {
    dexBook(base: "WETH", quote: "DAI", depth: 5) { ${EACH} whole nodes { ${LEVEL} } }
  }
`;

const CURSOR = /^[0-9a-f]{8}\.\d+\.\d+\.-?\d+\.\d+$/;

const momentOf = (hour: number) => ({
  block: blockAt(hour),
  time: hours(hour).replace("Z", "000+00:00"),
});

const leftAt = (hour: number, trade: number) => ({ ...momentOf(hour), trade: String(trade) });

/** The event of a head without a reorganisation. */
const at = (hour: number, others: object = {}) => ({
  cursor: expect.stringMatching(CURSOR) as unknown,
  head: momentOf(hour),
  retractedTo: null,
  reset: null,
  ...others,
});

const takeBack = (hour: number) =>
  database.writer.query("select ingest.take_back($1)", [blockAt(hour)]);

const nodesOf = async (field: string, fields: string) => {
  const data = await dataOf<Record<string, { nodes: object[] }>>(
    app,
    `{ ${field} { nodes { ${fields} } } }`,
  );
  return Object.values(data)[0]!.nodes;
};

const candlesNow = () => nodesOf('dexCandles(base: "WETH", quote: "DAI", interval: "1h")', CANDLE);

describe("dexHead", () => {
  it("tells the head, and each new one", async () => {
    const heads = follow(client, HEAD);
    expect(await heads.next()).toMatchObject({ head: null });
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    expect(await heads.next()).toEqual(at(1));
    await setHead(database.writer, 2);
    expect(await heads.next()).toEqual(at(2));
    await takeBack(1);
    expect(await heads.next()).toEqual(at(1, { retractedTo: leftAt(1, 1) }));
  });
});

describe("dexTrades", () => {
  it("tells each new trade once, with its offer as of the same head", async () => {
    await write(database.writer, { offers: [anOffer({ id: 1 })], trades: [aTrade({ hour: 1 })] });
    const trades = follow(client, TRADES);
    expect(await trades.next()).toEqual(at(1, { nodes: [], more: false }));
    await write(database.writer, { trades: [aTrade({ hour: 2, quote: "110" })] });
    const [price] = await nodesOf('allDexTrades(condition: { id: "2" })', "price");
    const offer = { id: 1, filled: false };
    expect(await trades.next()).toEqual(
      at(2, { more: false, nodes: [{ id: "2", ...price, block: blockAt(2), offer }] }),
    );
    await write(database.writer, { trades: [aTrade({ hour: 3, base: "8" })] });
    expect(await trades.next()).toMatchObject({ nodes: [{ id: "3", offer: { filled: true } }] });
  });

  it("resolves fragments, aliases and directives as a query", async () => {
    const trades = follow(
      client,
      `subscription ($with: Boolean!) {
        live: dexTrades { ...Event }
      }
      fragment Event on DexTradesEvent { nodes { ...Trade offer @include(if: $with) { id } } }
      fragment Trade on DexTrade { key: id ... on DexTrade { __typename } }`,
      { with: false },
    );
    expect(await trades.next()).toEqual({ nodes: [] });
    await write(database.writer, { trades: [aTrade()] });
    expect(await trades.next()).toEqual({ nodes: [{ key: "1", __typename: "DexTrade" }] });
  });

  it.each([
    ["a market, in any case", { market: "mkr/weth" }, ["2"]],
    ["a taker", { taker: anAddress("one") }, ["1", "2"]],
    ["a maker", { maker: anAddress("two").toUpperCase().replace("X", "x") }, ["3"]],
    ["a market and a taker", { market: "WETH/DAI", taker: anAddress("one") }, ["1"]],
    ["a taker and a maker", { taker: anAddress("one"), maker: anAddress("two") }, []],
  ])("tells only those of %s", async (_name, variables, ids) => {
    const chosen = follow(client, TRADES, variables);
    await chosen.next();
    const [taker, maker] = [anAddress("one"), anAddress("two")];
    await write(database.writer, {
      trades: [
        aTrade({ hour: 1, taker }),
        aTrade({ hour: 2, taker, baseGem: MKR, quoteGem: WETH }),
        aTrade({ hour: 3, maker }),
      ],
    });
    // The last one is not told, because it comes by a later event at the earliest.
    const all = follow(client, TRADES, {});
    const { cursor } = await all.next();
    const told =
      ids.length === 0 ? [] : await chosen.until(({ nodes }) => nodes.at(-1)!["id"] === ids.at(-1));
    expect(told.flatMap(({ nodes }) => nodes.map(({ id }) => id))).toEqual(ids);
    expect(cursor).toMatch(CURSOR);
  });

  it("tells a client that comes back what it has missed, in pages of whole blocks", async () => {
    await setHead(database.writer, 0);
    const { cursor: after } = await follow(client, TRADES).next();
    const trades = Array.from({ length: 2500 }, (_, n) =>
      aTrade({ hour: 1, block: 3600 + Math.floor(n / 400), idx: n % 400 }),
    ).map((trade) => ({ ...trade, time: hours(trade.block / 3600) }));
    await write(database.writer, { trades });
    const missed = follow(client, TRADES, { after });
    const pages = [await missed.next(), await missed.next(), await missed.next()];
    expect(pages.map(({ nodes }) => nodes.length)).toEqual([800, 800, 900]);
    expect(pages.flatMap(({ nodes }) => nodes.map(({ id }) => id))).toEqual(
      trades.map((_, n) => String(n + 1)),
    );
    expect(pages.map(({ more }) => more)).toEqual([true, true, false]);
    expect(pages.map(({ head }) => head!.block)).toEqual([3601, 3603, 3606]);
    const again = follow(client, TRADES, { after: pages[0]!.cursor });
    expect((await again.next()).nodes).toEqual(pages[1]!.nodes);
    await write(database.writer, { trades: [aTrade({ hour: 3 })] });
    expect(await missed.next()).toMatchObject({ nodes: [{ id: "2501" }] });
  });

  it("tells a block with more trades than a page whole", async () => {
    await setHead(database.writer, 0);
    const { cursor: after } = await follow(client, TRADES).next();
    const block = (hour: number) => Array.from({ length: 2100 }, (_, idx) => aTrade({ hour, idx }));
    await write(database.writer, { trades: [...block(1), ...block(2)] });
    const missed = follow(client, TRADES, { after });
    expect((await missed.next()).nodes).toHaveLength(2100);
    expect((await missed.next()).nodes).toHaveLength(2100);
  });

  it("goes on exactly in another process", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { cursor: after } = await follow(client, TRADES).next();
    await client.dispose();
    await write(database.writer, { trades: [aTrade({ hour: 2 }), aTrade({ hour: 3 })] });
    const other = await makeTestApp(database.reader);
    const elsewhere = connectTo(other.url);
    const events = follow(elsewhere, TRADES, { after });
    expect(await events.next()).toMatchObject(at(3, { nodes: [{ id: "2" }, { id: "3" }] }));
    await elsewhere.dispose();
    await other.close();
  });
});

describe("subscriptions of one change", () => {
  it("share its statements", async () => {
    const pool = makePool(database.url, { role: "dex_reader", poolSize: 5 });
    const statements = recordStatements(pool);
    const other = await makeTestApp(pool);
    const followers = connectTo(other.url);
    const all = Array.from({ length: 25 }, () => follow(followers, TRADES));
    for (const each of all) await each.next();
    statements.splice(0);
    await write(database.writer, { trades: [aTrade()] });
    const events = await Promise.all(all.map((each) => each.next()));
    expect(new Set(events.map((event) => JSON.stringify(event))).size).toBe(1);
    expect(events[0]!.nodes).toMatchObject([{ id: "1" }]);
    const reads = statements.filter(({ text }) => text.includes("dex_trade"));
    const rounds = statements.filter(({ text }) => text.startsWith("begin"));
    // In each: the ids, and the rows with their offers. Up to two rounds had begun before.
    expect(reads.length).toBeLessThanOrEqual(2 * (rounds.length + 2));
    await followers.dispose();
    await other.close();
    await pool.end();
  });

  it("are of one snapshot, whatever is written while they are planned", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const query = `subscription {
      dexMarkets(pairs: ["WETH/DAI"]) { head { block } nodes { last dexPair { dexMarket { last } } } }
    }`;
    const markets = follow(client, query);
    await markets.next();
    for (let n = 1; n <= 50; n += 1) {
      await write(database.writer, { trades: [aTrade({ hour: 1 + n, quote: String(100 + n) })] });
    }
    const events = await markets.until(({ head }) => head!.block === blockAt(51));
    for (const { head, nodes } of events) {
      const last = `${100 + Math.round(head!.block / 3600) - 1}.000000000000000000`;
      expect(nodes).toEqual([{ last, dexPair: { dexMarket: { last } } }]);
    }
  });
});

describe("a reorganisation", () => {
  it("is told before what replaces it", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 }), aTrade({ hour: 2 })] });
    const trades = follow(client, TRADES);
    await trades.next();
    await takeBack(1);
    expect(await trades.next()).toEqual(
      at(1, { retractedTo: leftAt(1, 1), nodes: [], more: false }),
    );
    await write(database.writer, { trades: [aTrade({ hour: 1.5, quote: "50" })] });
    const next = await trades.next();
    expect(next).toMatchObject(at(1.5, { nodes: [{ block: blockAt(1.5) }] }));
  });

  it("is told to a client that was away, with what replaces it", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 }), aTrade({ hour: 2 })] });
    const { cursor: after } = await follow(client, TRADES).next();
    await takeBack(1);
    await write(database.writer, { trades: [aTrade({ hour: 3, quote: "50" })] });
    const missed = await follow(client, TRADES, { after }).next();
    expect(missed).toMatchObject(at(3, { retractedTo: leftAt(1, 1) }));
    expect(missed.nodes.map(({ block }) => block)).toEqual([blockAt(3)]);
  });

  it("of blocks that a client has not seen is not told to it", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { cursor: after } = await follow(client, TRADES).next();
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    await takeBack(1);
    expect(await follow(client, TRADES, { after }).next()).toEqual(
      at(1, { nodes: [], more: false }),
    );
  });
});

describe("a cursor that is later than the head", () => {
  it("is waited for, since a standby may lag", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { cursor } = await follow(client, TRADES).next();
    const after = cursor.replace(`${blockAt(1)}.1`, `${blockAt(2)}.2`);
    const trades = follow(client, TRADES, { after });
    await write(database.writer, { trades: [aTrade({ hour: 2 }), aTrade({ hour: 3 })] });
    const events = await trades.until(({ head }) => head!.block === blockAt(3));
    expect(events.flatMap(({ nodes }) => nodes)).toMatchObject([{ id: "3" }]);
  });
});

describe("a reset", () => {
  it.each([
    ["of another database", () => "00000000.0.0.3600.1"],
    ["later than the head, for too long", (cursor: string) => `${cursor}9`],
  ])("is told to a client with a cursor %s", async (_name, change) => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { cursor } = await follow(client, TRADES).next();
    const impatient = await makeTestApp(database.reader, {
      streams: { ...STREAM_LIMITS, lagMs: 0 },
    });
    const other = connectTo(impatient.url);
    const event = await follow(other, TRADES, { after: change(cursor) }).next();
    await other.dispose();
    await impatient.close();
    expect(event).toEqual(
      at(1, { reset: expect.stringMatching(/another history/), nodes: [], more: false }),
    );
    expect(event.cursor).toBe(cursor);
  });

  it("is told where the labels of trades change", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1, baseGem: MKR, quoteGem: WETH })] });
    const trades = follow(client, TRADES);
    const { cursor: after } = await trades.next();
    const { rows } = await database.writer.query("select epoch from dex_private.write_state");
    await database.writer.query("select ingest.register_token($1, 'MKRX', 18, null)", [MKR]);
    const now = await database.writer.query("select epoch from dex_private.write_state");
    expect(now.rows).not.toEqual(rows);
    expect(await trades.next()).toMatchObject({ reset: expect.any(String), nodes: [] });
    expect(await follow(client, TRADES, { after }).next()).toMatchObject({
      reset: expect.any(String),
    });
  });

  it("is told to a client that has missed a page of candles", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { cursor: after } = await follow(client, CANDLES).next();
    const trades = Array.from({ length: 1000 }, (_, n) => aTrade({ hour: n + 2 }));
    await write(database.writer, { trades });
    const event = await follow(client, CANDLES, { after }).next();
    expect(event).toMatchObject({ reset: "more than 999 candles are missing" });
    expect(event.nodes).toHaveLength(1);
  });
});

describe("dexMarkets", () => {
  it("tells all markets, then those that change", async () => {
    const markets = follow(client, MARKETS);
    expect((await markets.next()).nodes.map(({ pair }) => pair)).toEqual(["MKR/WETH", "WETH/DAI"]);
    for (const quote of ["100", "110", "120"]) {
      await write(database.writer, { trades: [aTrade({ hour: Number(quote), quote })] });
      const event = await markets.next();
      expect(event).toMatchObject(at(Number(quote), { removed: [] }));
      expect(event.nodes).toEqual(
        await nodesOf(
          'allDexMarkets(condition: { pair: "WETH/DAI" })',
          "pair last active dexPair { base }",
        ),
      );
    }
    await registerPair(database.writer, MKR, WETH, false);
    expect((await markets.next()).nodes).toMatchObject([{ pair: "MKR/WETH", active: false }]);
  });

  it("tells only those that are asked for", async () => {
    const markets = follow(client, MARKETS, { pairs: ["mkr/weth"] });
    expect((await markets.next()).nodes).toHaveLength(1);
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    await write(database.writer, {
      trades: [aTrade({ hour: 2, baseGem: MKR, quoteGem: WETH })],
    });
    expect((await markets.next()).nodes).toMatchObject([{ pair: "MKR/WETH" }]);
  });
});

describe("dexCandles", () => {
  it("tells the running candle as it changes, and each one when it is complete", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 0.5 }), aTrade({ hour: 1 })] });
    const candles = follow(client, CANDLES);
    expect(await candles.next()).toEqual(at(1, { nodes: (await candlesNow()).slice(-1) }));
    await write(database.writer, { trades: [aTrade({ hour: 1.5, quote: "110" })] });
    expect((await candles.next()).nodes).toEqual((await candlesNow()).slice(-1));
    await write(database.writer, { trades: [aTrade({ hour: 3, quote: "120" })] });
    expect((await candles.next()).nodes).toEqual((await candlesNow()).slice(-2));
    await setHead(database.writer, 4);
    expect((await candles.next()).nodes).toMatchObject([{ complete: true }]);
  });

  it("tells those since a cursor, and those that a reorganisation has left", async () => {
    await write(database.writer, { trades: [1, 2, 3].map((hour) => aTrade({ hour })) });
    const { cursor: after } = await follow(client, CANDLES).next();
    await write(database.writer, { trades: [aTrade({ hour: 4 }), aTrade({ hour: 5 })] });
    const candles = follow(client, CANDLES, { after });
    expect((await candles.next()).nodes).toEqual((await candlesNow()).slice(2));
    await takeBack(2);
    expect(await candles.next()).toEqual(
      at(2, { retractedTo: leftAt(2, 2), nodes: (await candlesNow()).slice(-1) }),
    );
    expect(await follow(client, CANDLES, { after }).next()).toEqual(
      at(2, { retractedTo: leftAt(2, 2), nodes: (await candlesNow()).slice(-1) }),
    );
  });
});

describe("dexBook", () => {
  it("tells the whole book, then the levels that change", async () => {
    await write(database.writer, {
      offers: [anOffer({ id: 1 }), anOffer({ id: 2, quote: "2000" })],
    });
    const book = follow(client, BOOK);
    const bookNow = await nodesOf('dexBook(base: "WETH", quote: "DAI")', LEVEL);
    expect(await book.next()).toEqual(at(0, { whole: true, nodes: bookNow }));
    await write(database.writer, {
      trades: [aTrade({ hour: 1, offer_id: 1, base: "10", quote: "1000" })],
      offers: [anOffer({ id: 3, hour: 1, side: "buy", base: "1", quote: "50" })],
    });
    const [bid] = await nodesOf('dexBook(base: "WETH", quote: "DAI")', LEVEL);
    const { price } = bookNow[0] as { price: string };
    expect(await book.next()).toEqual(
      at(1, {
        whole: false,
        nodes: [{ act: "sell", price, vol: "0", quoteVol: "0", offers: 0 }, bid],
      }),
    );
  });
});
