// The event stream of REST: what a client is told, and how it goes on after it was away.
import { gunzipSync } from "node:zlib";
import { get } from "node:http";
import { connect } from "node:net";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import { ACCEPTED_TOPICS } from "../../../rest/stream/topics.ts";
import { makeTestApp, type TestApp } from "../../app.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import {
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
} from "../../factories.ts";
import { followStream, type StreamClient } from "../../stream-client.ts";

let database: TestDatabase;
let app: TestApp;
const open: StreamClient[] = [];

beforeAll(async () => {
  database = await makeDatabase();
  app = await makeTestApp(database.reader, { streams: { ...STREAM_LIMITS, lagMs: 100 } });
});

beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

afterEach(() => {
  for (const client of open.splice(0)) client.close();
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

async function follow(topics: string, id?: string): Promise<StreamClient> {
  const headers = id === undefined ? {} : { "Last-Event-ID": id };
  const client = await followStream(`${app.url}/v2/stream?topics=${topics}`, headers);
  open.push(client);
  return client;
}

const update = (topics: object, hour: number) => ({
  event: "update",
  id: expect.stringMatching(/^[0-9a-f]{8}\.\d+\.\d+\.-?\d+\.\d+$/),
  data: { block: blockAt(hour), time: hours(hour), topics },
});

const takeBack = (hour: number) =>
  database.writer.query("select ingest.take_back($1)", [blockAt(hour)]);

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()));
}

const ofRest = async (path: string) => (await app.request.get(path).expect(200)).body.data;

describe("a client that begins", () => {
  it("gets the state of its topics, and trades from then on", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })], offers: [anOffer({ id: 1 })] });
    const client = await follow(
      "head,trades:WETH/DAI,market:WETH/DAI,summary:WETH/DAI,candles:weth/dai:1h,book:WETH/DAI:5",
    );
    expect(await client.next()).toEqual(
      update(
        {
          head: { block: blockAt(1), time: hours(1) },
          "market:WETH/DAI": await ofRest("/v1/markets/weth/dai"),
          "summary:WETH/DAI": await ofRest("/v2/summary/weth/dai"),
          "candles:WETH/DAI:1h": await ofRest("/v2/candles/weth/dai?interval=1h"),
          "book:WETH/DAI:5": { whole: true, ...(await ofRest("/v2/book/weth/dai?depth=5")) },
        },
        1,
      ),
    );
    await write(database.writer, { trades: [aTrade({ hour: 2, quote: "110" })] });
    expect(await client.next()).toEqual(
      update(
        {
          head: { block: blockAt(2), time: hours(2) },
          "trades:WETH/DAI": [(await ofRest("/v2/trades/weth/dai"))[0]],
          "market:WETH/DAI": await ofRest("/v1/markets/weth/dai"),
          "summary:WETH/DAI": await ofRest("/v2/summary/weth/dai"),
          "candles:WETH/DAI:1h": await ofRest("/v2/candles/weth/dai?interval=1h"),
          // The offer sold 10 WETH for 1000 DAI, and 2 of them are taken.
          "book:WETH/DAI:5": {
            whole: false,
            bids: [],
            asks: [{ price: "100", vol: "8", quoteVol: "800", offers: 1 }],
          },
        },
        2,
      ),
    );
  });

  it("before the first block gets no head", async () => {
    const client = await follow("head,trades:*");
    const { data, id } = (await client.next())!;
    expect(data).toEqual({ block: null, time: null, topics: { head: null } });
    expect(id).toMatch(/\.-1\.0$/);
    await setHead(database.writer, 1);
    expect(await client.next()).toEqual(update({ head: { block: 3600, time: hours(1) } }, 1));
  });

  it("follows all markets by *, also one that is registered later", async () => {
    const client = await follow("trades:*");
    await client.next();
    await write(database.writer, {
      trades: [
        aTrade({ hour: 1 }),
        aTrade({ hour: 1, idx: 1, baseGem: MKR, quoteGem: WETH, base: "2", quote: "1" }),
      ],
    });
    const { data } = (await client.next())!;
    expect(Object.keys(data.topics)).toEqual(["trades:MKR/WETH", "trades:WETH/DAI"]);
  });
});

describe("an event is told", () => {
  it("only where a topic has changed", async () => {
    const client = await follow("trades:MKR/WETH,book:MKR/WETH:5");
    await client.next();
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    await write(database.writer, {
      trades: [aTrade({ hour: 2, baseGem: MKR, quoteGem: WETH })],
    });
    expect(await client.next()).toMatchObject({ data: { block: blockAt(2) } });
  });

  it("when a market is switched off, without a block", async () => {
    const client = await follow("market:WETH/DAI");
    expect((await client.next())!.data.topics["market:WETH/DAI"]).toMatchObject({ active: true });
    const { rows } = await database.reader.query(
      "select address from dex_token where symbol = 'DAI'",
    );
    await registerPair(database.writer, WETH, rows[0].address, false);
    expect((await client.next())!.data.topics["market:WETH/DAI"]).toMatchObject({ active: false });
  });

  it("when a candle is complete", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const client = await follow("candles:WETH/DAI:1h");
    expect((await client.next())!.data.topics["candles:WETH/DAI:1h"]).toMatchObject([
      { time: hours(1), complete: false },
    ]);
    await setHead(database.writer, 2);
    expect((await client.next())!.data.topics["candles:WETH/DAI:1h"]).toMatchObject([
      { time: hours(1), complete: true },
    ]);
  });

  it("with a level that is gone as nothing left", async () => {
    await write(database.writer, {
      offers: [anOffer({ id: 1 }), anOffer({ id: 2, quote: "2000" })],
    });
    const client = await follow("book:WETH/DAI:5");
    await client.next();
    await write(database.writer, {
      trades: [aTrade({ hour: 1, offer_id: 1, base: "10", quote: "1000" })],
    });
    expect((await client.next())!.data.topics["book:WETH/DAI:5"]).toEqual({
      whole: false,
      bids: [],
      asks: [{ price: "100", vol: "0", quoteVol: "0", offers: 0 }],
    });
  });
});

describe("a reorganisation", () => {
  it("is told before what replaces it", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 }), aTrade({ hour: 2 })] });
    const client = await follow("trades:WETH/DAI,candles:WETH/DAI:1h");
    await client.next();
    await takeBack(1);
    const retract = (await client.next())!;
    expect(retract).toMatchObject({
      event: "retract",
      data: { block: blockAt(1), time: hours(1) },
    });
    await client.next();
    await write(database.writer, { trades: [aTrade({ hour: 1.5, quote: "50" })] });
    expect((await client.next())!.data.topics["trades:WETH/DAI"]).toEqual([
      (await ofRest("/v2/trades/weth/dai"))[0],
    ]);
  });

  it("is told to a client that was away", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 }), aTrade({ hour: 2 })] });
    const first = await follow("trades:WETH/DAI");
    const { id } = (await first.next())!;
    first.close();
    await takeBack(1);
    await write(database.writer, { trades: [aTrade({ hour: 3, quote: "50" })] });
    const second = await follow("trades:WETH/DAI", id);
    expect(await second.next()).toMatchObject({ event: "retract", data: { block: blockAt(1) } });
    expect(await second.next()).toEqual(
      update({ "trades:WETH/DAI": [(await ofRest("/v2/trades/weth/dai"))[0]] }, 3),
    );
  });

  it("of blocks that a client has not seen is not told to it", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { id } = (await (await follow("trades:WETH/DAI")).next())!;
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    await takeBack(1);
    expect(await (await follow("trades:WETH/DAI", id)).next()).toEqual(update({}, 1));
  });
});

describe("a client that comes back", () => {
  it("gets each trade that it has missed once, in pages of whole blocks", async () => {
    await setHead(database.writer, 0);
    const { id } = (await (await follow("trades:*")).next())!;
    const trades = Array.from({ length: 2500 }, (_, n) =>
      aTrade({ hour: 1, block: 3600 + Math.floor(n / 400), idx: n % 400 }),
    ).map((trade) => ({ ...trade, time: hours(trade.block / 3600) }));
    await write(database.writer, { trades });
    const client = await follow("trades:*", id);
    // 400 trades a block: two whole blocks a page, until 900 are left.
    const pages = [await client.next(), await client.next(), await client.next()];
    expect(pages.map((page) => page!.data.topics["trades:WETH/DAI"]!.length)).toEqual([
      800, 800, 900,
    ]);
    const ids = pages
      .flatMap((page) => page!.data.topics["trades:WETH/DAI"]!)
      .map((trade) => (trade as { id: number }).id);
    expect(ids).toEqual(Array.from({ length: 2500 }, (_, n) => n + 1));
    // Each page can be resumed.
    const again = await follow("trades:*", pages[0]!.id);
    expect((await again.next())!.data.topics).toEqual(pages[1]!.data.topics);
  });

  it("gets a block with more trades than a page whole", async () => {
    await setHead(database.writer, 0);
    const { id } = (await (await follow("trades:WETH/DAI")).next())!;
    await write(database.writer, {
      trades: Array.from({ length: 2100 }, (_, idx) => aTrade({ hour: 1, idx })),
    });
    await write(database.writer, {
      trades: Array.from({ length: 2100 }, (_, idx) => aTrade({ hour: 2, idx })),
    });
    const client = await follow("trades:WETH/DAI", id);
    expect((await client.next())!.data.topics["trades:WETH/DAI"]).toHaveLength(2100);
    expect((await client.next())!.data.topics["trades:WETH/DAI"]).toHaveLength(2100);
  });

  it("gets the candles since, and the state of the other topics", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 }), aTrade({ hour: 2 })] });
    const topics = "candles:WETH/DAI:1h,market:WETH/DAI";
    const { id } = (await (await follow(topics)).next())!;
    await write(database.writer, { trades: [aTrade({ hour: 3 }), aTrade({ hour: 5 })] });
    const client = await follow(topics, id);
    const candles = await ofRest("/v2/candles/weth/dai?interval=1h");
    expect((await client.next())!.data.topics).toEqual({
      "candles:WETH/DAI:1h": candles.slice(1),
      "market:WETH/DAI": await ofRest("/v1/markets/weth/dai"),
    });
  });

  it.each([
    ["of another database", "00000000.0.0.3600.1"],
    ["of no service", "garbage"],
    ["later than the head", undefined],
  ])("with an id %s starts anew, and is told so", async (_name, given) => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { id } = (await (await follow("market:WETH/DAI")).next())!;
    const client = await follow("market:WETH/DAI", given ?? `${id!}9`);
    expect(await client.next()).toMatchObject({ event: "reset" });
    expect(await client.next()).toEqual(
      update({ "market:WETH/DAI": await ofRest("/v1/markets/weth/dai") }, 1),
    );
  });

  it("goes on by ?from= as by the header", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { id } = (await (await follow("trades:WETH/DAI")).next())!;
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    const client = await follow(`trades:WETH/DAI&from=${id!}`);
    expect((await client.next())!.data.topics["trades:WETH/DAI"]).toHaveLength(1);
  });
});

describe("bad requests", () => {
  it("bound the depths of all books of a stream", async () => {
    const books = (count: number) =>
      Array.from({ length: count }, (_, n) => `book:WETH/DAI:${1000 - n}`).join(",");
    const { body } = await app.request.get(`/v2/stream?topics=${books(6)}`).expect(400);
    expect((body as { message: string }).message).toBe(
      `topics must be ${ACCEPTED_TOPICS}; the depths of the books add up to 5985, and may be 5000 in all`,
    );
    const client = await follow(books(5));
    expect(Object.keys((await client.next())!.data.topics)).toHaveLength(5);
  });

  it("name all that is wrong with the topics, and what is accepted", async () => {
    const { body } = await app.request
      .get("/v2/stream?topics=foo,book:WETH/DAI:0,candles:WETH/DAI:2m,head:x,trades:WETH")
      .expect(400);
    expect(body.message).toBe(
      `topics must be ${ACCEPTED_TOPICS}; "foo" is no topic; "book:WETH/DAI:0" has no depth from 1 to ` +
        '1000; "candles:WETH/DAI:2m" has no interval: 1m, 5m, 15m, 30m, 1h, 4h, 1d; "head:x" has a ' +
        'market; "trades:WETH" has no market as BASE/QUOTE',
    );
  });

  it("name each market that is not registered", async () => {
    const { body } = await app.request
      .get("/v2/stream?topics=trades:A/B,market:weth/dai,head,book:B/C:1")
      .expect(400);
    expect(body.message).toBe(
      `topics must be ${ACCEPTED_TOPICS}; "trades:A/B" has an unknown market; "book:B/C:1" has an unknown market`,
    );
  });

  it.each([
    ...["", "?topics=", "?topics=head&topics=head", "?topics=head&from=1", "?topics=head,"],
    ...["00.0.1.1", "0.00.1.1", "0.0.01.1", "0.0.-0.1", "0.0.1.01"].map(
      (place) => `?topics=head&from=00000000.${place}`,
    ),
  ])("%j are answered 400", async (query) => {
    await app.request.get(`/v2/stream${query}`).expect(400);
  });

  it.each(["topics=foo", "topics=trades:A/B", "topics=head&from=1"])(
    "?%s have the time of the head, also where REST has been asked nothing since",
    async (query) => {
      await setHead(database.writer, 1);
      await app.request.get("/v1/markets").expect(200);
      await setHead(database.writer, 2);
      const { body } = await app.request.get(`/v2/stream?${query}`).expect(400);
      expect(body.time).toBe(hours(2));
    },
  );

  it("beyond the streams of a client are answered 429, beyond all 503", async () => {
    const limited = await makeTestApp(database.reader, {
      streams: { ...STREAM_LIMITS, all: 2, perClient: 1 },
      trustedProxies: 1,
    });
    const of = (client: string) =>
      followStream(`${limited.url}/v2/stream?topics=head`, { "x-forwarded-for": client });
    const first = await of("10.0.0.1");
    expect((await of("10.0.0.1")).status).toBe(429);
    open.push(await of("10.0.0.2"));
    expect((await of("10.0.0.3")).status).toBe(503);
    first.close();
    await until(async () => {
      const third = await of("10.0.0.3");
      open.push(third);
      return third.status === 200;
    });
    await limited.close();
  });
});

it("keeps no place for clients that leave before their requests are read", async () => {
  const limited = await makeTestApp(database.reader, { streams: { ...STREAM_LIMITS, all: 2 } });
  const { port, hostname } = new URL(limited.url);
  // The head is read before the request is handed on.
  const request =
    "GET /v2/stream?topics=head HTTP/1.1\r\nHost: localhost\r\nX-Min-Block: 0\r\n\r\n";
  for (let n = 0; n < 40; n += 1) {
    const socket = connect(Number(port), hostname);
    await new Promise((resolve) => socket.write(request, resolve));
    socket.resetAndDestroy();
  }
  await until(async () => {
    const stream = await followStream(`${limited.url}/v2/stream?topics=head`);
    open.push(stream);
    return stream.status === 200;
  });
  await limited.close();
});

it("compresses where asked, with one deflate block for all clients", async () => {
  await write(database.writer, { trades: [aTrade({ hour: 1 })] });
  let closed: Promise<void> | undefined;
  const streaming = await makeTestApp(database.reader);
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    get(
      `${streaming.url}/v2/stream?topics=market:WETH/DAI`,
      { headers: { "accept-encoding": "gzip" } },
      (response) => {
        expect(response.headers["content-encoding"]).toBe("gzip");
        response.on("data", (chunk: Buffer) => {
          if (chunks.push(chunk) === 1) closed = streaming.close();
        });
        response.on("end", () => resolve(Buffer.concat(chunks)));
      },
    ).on("error", reject);
  });
  await closed;
  const text = gunzipSync(bytes).toString();
  expect(text).toMatch(
    /^retry: 3000\n\nevent: update\n[^]*retry: \d+\nevent: closed\ndata: {"reason":"stopping"}\n\n$/,
  );
});
