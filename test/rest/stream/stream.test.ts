// The event stream of REST: what a client is told, and how it goes on after it was away.
import { gunzipSync } from "node:zlib";
import { get } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import { acceptedTopics } from "../../../rest/stream/topic-names.ts";
import { makeTestApp } from "../../app.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  hours,
  MKR,
  registerMarkets,
  setHead,
  WETH,
  write,
} from "../../factories.ts";
import { followStream, type StreamClient } from "../../stream-client.ts";
import { serveDatabase } from "../../served.ts";

const open: StreamClient[] = [];

const { app, database } = serveDatabase(undefined, { streams: { ...STREAM_LIMITS, lagMs: 100 } });

beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

afterEach(() => {
  for (const client of open.splice(0)) client.close();
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

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(10);
}

const ofRest = async (path: string) => (await app.request.get(path).expect(200)).body.data;

const headOfRest = async () => {
  const { block, time, digest } = await ofRest("/v2/head");
  return { block, time, digest };
};

describe("a client that begins", () => {
  it("gets the state of its topics, and trades from then on", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })], offers: [anOffer({ id: 1 })] });
    const client = await follow(
      "head,trades:WETH/DAI,market:WETH/DAI,summary:WETH/DAI,candles:weth/dai:1h,book:WETH/DAI:5",
    );
    expect(await client.next()).toEqual(
      update(
        {
          head: await headOfRest(),
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
          head: await headOfRest(),
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

describe("a client that comes back", () => {
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

  it("with an id of no service begins anew, and is sent so", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const client = await follow("market:WETH/DAI", "garbage");
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

describe("a client that begins behind a block", () => {
  /** Trades in the hours 1, 2 and 3, and the head after them. */
  const writeHours = () =>
    write(database.writer, {
      trades: [1, 2, 3].map((hour) => aTrade({ hour, quote: String(100 + hour) })),
      head: 4,
    });

  it("gets the trades and candles after it, and the present state of the other topics", async () => {
    await writeHours();
    const { data } = (await (
      await follow(`head,trades:WETH/DAI,candles:WETH/DAI:1h&fromBlock=${blockAt(1.5)}`)
    ).next())!;
    expect(data.block).toBe(blockAt(4));
    expect(data.topics["trades:WETH/DAI"]).toMatchObject([{ price: "102" }, { price: "103" }]);
    expect(data.topics["candles:WETH/DAI:1h"]!.at(-1)).toMatchObject({ close: "103" });
    expect(data.topics["head"]).toMatchObject({ block: blockAt(4) });
  });

  it("gets the trades after the head where it begins behind that", async () => {
    await writeHours();
    const client = await follow(`trades:WETH/DAI&fromBlock=${blockAt(4)}`);
    await write(database.writer, { trades: [aTrade({ hour: 5, quote: "105" })] });
    const events = await client.until(({ data }) => "trades:WETH/DAI" in data.topics);
    expect(events.at(-1)!.data.topics["trades:WETH/DAI"]).toMatchObject([{ price: "105" }]);
  });

  it("gets no trade of the block, and none that was taken back before", async () => {
    await writeHours();
    await database.writer.query("select ingest.take_back($1)", [blockAt(2)]);
    await write(database.writer, { trades: [aTrade({ hour: 3, quote: "333" })] });
    const { event, data } = (await (
      await follow(`trades:WETH/DAI&fromBlock=${blockAt(2)}`)
    ).next())!;
    expect(event).toBe("update");
    expect(data.topics["trades:WETH/DAI"]).toMatchObject([{ price: "333" }]);
  });

  it("goes on by the header of a browser, which comes back with the same URL", async () => {
    await writeHours();
    const topics = `trades:WETH/DAI&fromBlock=${blockAt(1)}`;
    const { id } = (await (await follow(topics)).next())!;
    await write(database.writer, { trades: [aTrade({ hour: 5, quote: "105" })] });
    const { data } = (await (await follow(topics, id)).next())!;
    expect(data.topics["trades:WETH/DAI"]).toMatchObject([{ price: "105" }]);
  });

  it.each([
    [`${blockAt(1) - 1}`, /^No such block: there are the blocks from 3600, of .*, to 14400, of/],
    [`${blockAt(4) + 1}`, /^No such block/],
    ["head", /^fromBlock must be an integer from 0 to 2147483647, given once/],
    ["3600&fromBlock=3600", /^fromBlock must be an integer/],
    ["3600&from=00000000.0.0.1.1", "from and fromBlock must be given one at a time"],
    ["3600&block=3600", "block must be left out: a stream takes fromBlock"],
    ["3600&BLOCK=3600", "BLOCK must be left out: a stream takes fromBlock"],
    ["3600&topics=head", /^topics must be/],
  ])("is refused behind %s", async (fromBlock, message) => {
    await writeHours();
    const path = `/v2/stream?topics=trades:WETH/DAI&fromBlock=${fromBlock}`;
    const { body } = await app.request.get(path).expect(400);
    expect(body).toMatchObject({
      time: hours(4),
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
  });

  it("is refused where a topic has had too many candles since", async () => {
    await writeHours();
    await setHead(database.writer, 1 + 1000 / 60);
    const { body } = await app.request
      .get(`/v2/stream?topics=candles:WETH/DAI:1m&fromBlock=${blockAt(1)}`)
      .expect(400);
    expect((body as { message: string }).message).toBe(
      "fromBlock must be a block less than 1000 intervals of candles:WETH/DAI:1m behind the head",
    );
    const client = await follow(`candles:WETH/DAI:5m&fromBlock=${blockAt(1)}`);
    expect((await client.next())!.data.topics["candles:WETH/DAI:5m"]).toHaveLength(3);
  });
});

describe("bad requests", () => {
  it("bound the depths of all books of a stream", async () => {
    const books = (count: number) =>
      Array.from({ length: count }, (_, n) => `book:WETH/DAI:${1000 - n}`).join(",");
    const { body } = await app.request.get(`/v2/stream?topics=${books(6)}`).expect(400);
    expect((body as { message: string }).message).toBe(
      `topics must be ${acceptedTopics()}; the depths of the books add up to 5985, and may be 5000 in all`,
    );
    const client = await follow(books(5));
    expect(Object.keys((await client.next())!.data.topics)).toHaveLength(5);
  });

  it("name all that is wrong with the topics, and what is accepted", async () => {
    const { body } = await app.request
      .get("/v2/stream?topics=foo,book:WETH/DAI:0,candles:WETH/DAI:2m,head:x,trades:WETH")
      .expect(400);
    expect(body.message).toBe(
      `topics must be ${acceptedTopics()}; "foo" is no topic; "book:WETH/DAI:0" has no depth from 1 to ` +
        '1000; "candles:WETH/DAI:2m" has no interval: 1m, 5m, 15m, 30m, 1h, 4h, 1d; "head:x" has a ' +
        'market; "trades:WETH" has no market as BASE/QUOTE',
    );
  });

  it.each([
    ["Topics=head", "Topics must be written topics"],
    ["topics=head&FROM=1", "FROM must be written from"],
    ["?topics=head", "?topics must be written topics"],
    ["topics=head&fromblock=1", "fromblock must be written fromBlock"],
    ["topics=head&topics[]=trades:*", /^topics must be a list/],
    ["topics=head&from[]=00000000.0.0.1.1", "from must be the id of an event, given once"],
    ["topics=head&FROM[0]=00000000.0.0.1.1", "from must be the id of an event, given once"],
    ...["00000000.0.0.2147483648.1", "00000000.9223372036854775808.0.1.1"].map(
      (id): [string, string] => [
        `topics=head&from=${id}`,
        "from must be the id of an event, given once",
      ],
    ),
    ["topics=head&from=00000000.0.0.1.9007199254740992", /^from must be the id of an event/],
    ["topics=head&fromBlock%5B%5D=1", /^fromBlock must be an integer from 0 to 2147483647/],
    ...["block", "Block", "block[]", "TIME", "time[a]", "?hash"].map((key): [string, string] => [
      `topics=head&${key}=1`,
      `${key} must be left out: a stream takes fromBlock`,
    ]),
  ])("name a parameter that is misspelt, or beyond what an id has: ?%s", async (query, message) => {
    const { body } = await app.request.get(`/v2/stream?${query}`).expect(400);
    if (typeof message === "string") expect(body.message).toBe(message);
    else expect(body.message).toMatch(message);
  });

  it.each(["topics=head&from[]=1", "topics=head&block[]=1"])(
    "?%s are refused beside the header of a browser that comes back, too",
    async (query) => {
      const headers = { "Last-Event-ID": "00000000.0.0.1.1" };
      await app.request.get(`/v2/stream?${query}`).set(headers).expect(400);
    },
  );

  it.each(["offset=1", "fromBlocks[]=1", "blocks=1"])(
    "are none for what no endpoint has: ?%s",
    async (query) => {
      const client = await follow(`head&${query}`);
      expect(client.status).toBe(200);
    },
  );

  it("name each market that is not registered", async () => {
    const { body } = await app.request
      .get("/v2/stream?topics=trades:A/B,market:weth/dai,head,book:B/C:1")
      .expect(400);
    expect(body.message).toBe(
      `topics must be ${acceptedTopics()}; "trades:A/B" has an unknown market; "book:B/C:1" has an unknown market`,
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
    await using limited = await makeTestApp(database.reader, {
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
  });
});

it("keeps no place for clients that leave before their requests are read", async () => {
  await using limited = await makeTestApp(database.reader, {
    streams: { ...STREAM_LIMITS, all: 2 },
  });
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
