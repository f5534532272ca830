// X-Head-Block names the head of an answer; X-Min-Block asks for an answer of that block or a later one.
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../db/connect.ts";
import { awaitMinBlock } from "../../http/min-block.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { aTrade, blockAt, registerMarkets, write } from "../factories.ts";
import { useApp, useDatabase } from "../served.ts";

const database = useDatabase();

const CACHE = { bytes: 10_000_000, checkMs: 60_000 };

/** Waits for a block as long as the test lasts. */
const app = useApp(database, { minBlockWaitMs: 3_600_000 });
/** Waits for no block. */
const hasty = useApp(database, { minBlockWaitMs: 0, cache: "off" });
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

const writeHour = (hour: number) => write(database.writer, { trades: [aTrade({ hour })] });

const REST = [
  ...["/v1/markets/", "/v1/pairs/weth/dai", "/v1/prices/", "/v1/volumes/weth/dai"],
  ...["/v2/prices", "/v2/summary", "/v2/trades/weth/dai", "/v2/candles/weth/dai"],
];
const QUERIES = [
  "{ allDexTrades { nodes { id } } }",
  "{ allDexTrades { nodes { id } totalCount } }",
  "{ dexHead { block } allDexMarkets { nodes { last } } }",
];

const askGraphql = (of: TestApp, query: string, least: string | number) =>
  of.request
    .post("/graphql")
    .set({ accept: "application/json", "x-min-block": String(least) })
    .send({ query });

describe("X-Head-Block", () => {
  it.each(REST)("is the head of %s", async (path) => {
    await writeHour(1);
    const { headers } = await app.request.get(path).expect(200);
    expect(headers["x-head-block"]).toBe(String(blockAt(1)));
    const { headers: again } = await app.request
      .get(path)
      .set("if-none-match", headers["etag"] ?? "")
      .expect(304);
    expect(again["x-head-block"]).toBe(String(blockAt(1)));
  });

  it.each(QUERIES)("is the head of %s, where a block is asked for", async (query) => {
    await writeHour(1);
    for (const one of [app, app, hasty]) {
      const { headers, body } = await askGraphql(one, query, 0).expect(200);
      expect(body.errors).toBeUndefined();
      expect(headers["x-head-block"]).toBe(String(blockAt(1)));
    }
  });

  it("is absent without any block, and of an operation that reads no data", async () => {
    const empty = await app.request.get("/v2/prices").expect(200);
    expect(empty.headers).not.toHaveProperty("x-head-block");
    const { headers } = await askGraphql(app, QUERIES[0]!, 0).expect(200);
    expect(headers).not.toHaveProperty("x-head-block");
    const typename = await askGraphql(app, "{ __typename }", 0).expect(200);
    expect(typename.headers).not.toHaveProperty("x-head-block");
  });

  it("may be read by pages of other origins", async () => {
    const { headers } = await app.request.get("/v2/prices").expect(200);
    expect(headers["access-control-expose-headers"]).toContain("X-Head-Block");
    expect(headers["vary"]).toBe("Accept-Encoding, X-Min-Block");
  });
});

describe("X-Min-Block", () => {
  it("is answered at once where the block is there", async () => {
    await writeHour(2);
    await hasty.request
      .get("/v2/prices")
      .set("x-min-block", String(blockAt(2)))
      .expect(200);
    await askGraphql(hasty, QUERIES[1]!, blockAt(1)).expect(200);
  });

  it("waits until the block is written", async () => {
    await writeHour(1);
    const rest = app.request.get("/v2/summary").set("x-min-block", String(blockAt(2)));
    const graphql = askGraphql(app, "{ dexHead { block } }", blockAt(2));
    const answers = Promise.all([rest, graphql]);
    await sleep(50);
    await writeHour(2);
    for (const { status, headers } of await answers) {
      expect([status, headers["x-head-block"]]).toEqual([200, String(blockAt(2))]);
    }
  });

  it("is 503 with the block that there is, in each interface's form, once the wait is over", async () => {
    await writeHour(1);
    const least = blockAt(2);
    const message = `The service has block ${blockAt(1)}, and X-Min-Block asks for ${least}: ask again in a moment`;
    const v1 = await hasty.request.get("/v1/markets/").set("x-min-block", String(least));
    expect(v1.body).toMatchObject({ data: {}, message });
    const v2 = await hasty.request.get("/v2/prices").set("x-min-block", String(least));
    expect(v2.body).toMatchObject({ message });
    const graphql = await askGraphql(hasty, QUERIES[0]!, least);
    expect(graphql.body).toEqual({
      errors: [{ message, extensions: { code: "UNAVAILABLE", retryAfter: 1 } }],
    });
    // They are over a moment after their answers.
    const over = () => hasty.over.filter(({ status }) => status === 503).slice(-3);
    while (over().at(-1)?.route !== "/graphql") await new Promise(setImmediate);
    expect(over().map(({ route }) => route)).toEqual(["/v1/markets", "/v2/prices", "/graphql"]);
    for (const { status, headers } of [v1, v2, graphql]) {
      expect(status).toBe(503);
      expect(headers["retry-after"]).toBe("1");
      expect(headers["x-head-block"]).toBe(String(blockAt(1)));
    }
  });

  it("is 503 without any block", async () => {
    const { body } = await hasty.request.get("/v2/prices").set("x-min-block", "7").expect(503);
    expect(body.message).toBe(
      "The service has no block, and X-Min-Block asks for 7: ask again in a moment",
    );
    await hasty.request.get("/v2/prices").set("x-min-block", "0").expect(200);
  });

  it("is given no answer that is cached of an older block", async () => {
    await using cached = await makeTestApp(database.reader, { cache: CACHE, minBlockWaitMs: 0 });
    await writeHour(1);
    const path = "/v2/trades/weth/dai";
    await cached.request.get(path).expect(200);
    await askGraphql(cached, QUERIES[1]!, 0).expect(200);
    await writeHour(2);
    // The cache looks for a new version once a minute only.
    const old = await cached.request.get(path).expect(200);
    expect(old.headers["x-head-block"]).toBe(String(blockAt(1)));
    const rest = await cached.request.get(path).set("x-min-block", String(blockAt(2)));
    expect([rest.status, rest.body.data.length]).toEqual([200, 2]);
    const { status, body } = await askGraphql(cached, QUERIES[1]!, blockAt(2));
    expect([status, body.data.allDexTrades.totalCount]).toEqual([200, 2]);
  });

  it("is 503 for a block that a reorganisation has taken back", async () => {
    await writeHour(1);
    await writeHour(2);
    await database.writer.query("select ingest.take_back($1)", [blockAt(1)]);
    const { headers } = await hasty.request
      .get("/v2/prices")
      .set("x-min-block", String(blockAt(2)))
      .expect(503);
    expect(headers["x-head-block"]).toBe(String(blockAt(1)));
  });

  it.each(["", "-1", "1.5", "0x1", "2147483648", "99999999999", "1, 2"])(
    "of %p is 400, and says what is accepted",
    async (given) => {
      const message = "X-Min-Block must be a block number, an integer from 0 to 2147483647";
      const rest = await app.request.get("/v2/prices").set("x-min-block", given).expect(400);
      expect(rest.body.message).toBe(message);
      const graphql = await askGraphql(app, "{ dexHead { block } }", given).expect(400);
      expect(graphql.body).toEqual({
        errors: [{ message, extensions: { code: "BAD_REQUEST" } }],
      });
    },
  );

  it("fails alone where its statement does: those that wait for the same one read again", async () => {
    let reads = 0;
    const db = {
      query: () => {
        reads += 1;
        return reads === 1
          ? Promise.reject(new Error("Connection terminated"))
          : Promise.resolve({ rows: [{ block: 7 }] });
      },
    } as unknown as Database;
    const outcomes = new Map<unknown, (status: number) => void>();
    const listener = awaitMinBlock({
      ...{ db, segments: ["v2"], waitMs: 0 },
      refuse: (req, _res, { status }) => outcomes.get(req)?.(status),
    })((req) => outcomes.get(req)?.(200));
    const ask = (): Promise<number> =>
      new Promise((resolve) => {
        const req = new IncomingMessage(new Socket());
        Object.assign(req, { url: "/v2/prices", headers: { "x-min-block": "7" } });
        outcomes.set(req, resolve);
        listener(req, new ServerResponse(req));
      });
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([503, 200, 200]);
  });

  it("means nothing to what has no head", async () => {
    for (const path of ["/health", "/openapi.json", "/"]) {
      await hasty.request.get(path).set("x-min-block", "99999").expect(200);
    }
  });
});
