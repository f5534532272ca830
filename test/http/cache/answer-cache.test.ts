// Answers from memory: the same to the byte, asked for once, never older than they may be.
import { AsyncLocalStorage } from "node:async_hooks";
import { IncomingMessage, ServerResponse } from "node:http";
import { createConnection, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Database, Pool } from "../../../db/connect.ts";
import type { Answer } from "../../../http/answer.ts";
import { waitBehindOwn } from "../../../http/behind-own.ts";
import { begin } from "../../../http/request.ts";
import { AnswerCache, type CacheOptions } from "../../../http/cache/answer-cache.ts";
import { makeTestApp, ownErrors, type TestApp } from "../../app.ts";
import { openClient } from "../../database.ts";
import { exchange, graphql, type Asked, type Received } from "../../exchange-http.ts";
import {
  aTrade,
  blockAt,
  DAI,
  hours,
  MKR,
  registerMarkets,
  registerPair,
  setHead,
} from "../../factories.ts";
import { fillExchange } from "../../rest/exchange.ts";
import { useDatabase } from "../../served.ts";

const database = useDatabase();
let pool: Pool;
/** How often the service has taken a connection to ask for an answer. */
let questions = 0;
/** Takes the data to stand for a second, and for their version what `version` says. */
let app: TestApp;
let uncached: TestApp;

beforeAll(async () => {
  pool = database.pool({ role: "dex_reader", poolSize: 20 });
  pool.on("acquire", () => (questions += 1));
  app = await anApp();
  uncached = await anApp("off");
});
beforeEach(async () => {
  await database.empty();
  await fillExchange(
    database.writer,
    Array.from({ length: 40 }, (_, n) => aTrade({ id: 100 + n, hour: 23.75 })),
  );
});

/** The version, as a test says that it is; undefined where the database cannot say. */
const version: { text: string | undefined; hasHead: boolean } = { text: "A", hasHead: true };
/** The service's clock, in milliseconds. */
let clock = 0;
beforeEach(() => {
  // What was known before is not known any more.
  clock += 1_000_000;
  version.text = `at ${clock}`;
  version.hasHead = true;
  app.logged.length = 0;
  questions = 0;
});

const told = {
  query: () =>
    version.text === undefined
      ? Promise.reject(new Error("no version"))
      : Promise.resolve({ rows: [{ ...version }] }),
} as unknown as Database;

/** A service with a cache of its own, which is as `app`'s but for what is given. */
async function anApp(cache: Partial<CacheOptions> | "off" = {}): Promise<TestApp> {
  const made = await makeTestApp(pool, {
    cache:
      cache === "off"
        ? "off"
        : { bytes: 10_000_000, checkMs: 1000, versionFrom: told, now: () => clock, ...cache },
  });
  database.beforeDrop(made.close);
  // GraphQL has read its schema when it answers.
  await exchange(made.url, graphql({ query: "{ __typename }" }));
  questions = 0;
  return made;
}

/** Has room for few answers. */
let tiny: TestApp | undefined;
const tinyApp = async (): Promise<TestApp> => (tiny ??= await anApp({ bytes: 20_000 }));

const get = (path: string, headers: Record<string, string> = {}): Asked => ({ path, headers });
const json = ({ body }: Received) => JSON.parse(body.toString()) as Record<string, unknown>;

const PAGE = `query ($market: String, $first: Int) {
  allDexTrades(first: $first, orderBy: BLOCK_DESC, condition: { market: $market }) {
    nodes { id market price time }
  }
}`;
const aPage = (first: number, headers: Record<string, string> = {}): Asked =>
  graphql({ query: PAGE, variables: { market: "WETHDAI", first } }, headers);
const HEAD_TIME = "/v2/volumes/weth/dai";
const GRAPHQL_HEAD = graphql({ query: "{ dexHead { block } }" });

describe("an answer from memory", () => {
  const ENCODINGS = ["identity", "gzip", "gzip, deflate, br", ""];
  const QUESTIONS: [string, Asked][] = [
    ...[
      "/v1/markets/",
      "/v1/markets/weth/dai",
      "/v1/pairs/",
      "/v1/pairs/weth/dai",
      "/v1/prices/",
      "/v1/prices/weth/dai",
      "/v1/volumes/",
      "/v1/volumes/weth/dai",
      "/v2/prices",
      "/v2/prices/weth/dai",
      "/v2/volumes",
      "/v2/volumes/weth/dai",
      "/v2/summary",
      "/v2/summary/weth/dai",
      "/v2/book/weth/dai",
      "/v2/candles/weth/dai",
      "/v2/trades/weth/dai",
      "/v2/trades/weth/dai?limit=2&fromId=120",
    ].map((path): [string, Asked] => [path, get(path)]),
    ["a GraphQL page", aPage(30)],
    ["a short GraphQL page", aPage(1)],
    ["graphql-response+json", aPage(2, { Accept: "application/graphql-response+json" })],
  ];

  it.each(QUESTIONS)("is the same to the byte, asked by whatever means: %s", async (_, asked) => {
    let made = 0;
    for (const encoding of ENCODINGS) {
      const question = { ...asked, headers: { ...asked.headers, "Accept-Encoding": encoding } };
      const expected = await exchange(uncached.url, question);
      questions = 0;
      expect(await exchange(app.url, question)).toEqual(expected);
      made += questions;
      expect(await exchange(app.url, question)).toEqual(expected);
      expect(questions).toBeLessThanOrEqual(1);
      expect(expected.status).toBe(200);
    }
    // One for each encoding that is negotiated: REST has gzip and none, GraphQL br as well.
    expect(made).toBe(asked.method === "POST" ? 3 : 2);
  });

  it("is HEAD's without the body, whichever of HEAD and GET was first", async () => {
    const question = get("/v2/trades/weth/dai", { "Accept-Encoding": "gzip" });
    const head = await exchange(uncached.url, { ...question, method: "HEAD" });
    const whole = await exchange(uncached.url, question);
    questions = 0;
    expect(await exchange(app.url, { ...question, method: "HEAD" })).toEqual(head);
    expect(await exchange(app.url, question)).toEqual(whole);
    expect(await exchange(app.url, { ...question, method: "HEAD" })).toEqual(head);
    expect(questions).toBe(1);
  });

  it.each(["identity", "gzip"])("is 304 for who has it: %s", async (encoding) => {
    const path = "/v2/trades/weth/dai";
    const first = await exchange(uncached.url, get(path, { "Accept-Encoding": encoding }));
    const etag = first.headers[first.headers.indexOf("ETag") + 1]!;
    const conditions: Record<string, string>[] = [
      // The first is also the one that finds nothing in memory.
      { "If-None-Match": etag },
      { "If-None-Match": etag },
      { "If-None-Match": `"other", W/${etag}` },
      { "If-None-Match": "*" },
      { "If-None-Match": '"other"' },
      { "If-None-Match": etag, "Cache-Control": "no-cache" },
      { "If-Modified-Since": "Sat, 01 Jan 2050 00:00:00 GMT" },
    ];
    const statuses = [];
    for (const condition of conditions) {
      for (const method of ["GET", "HEAD"]) {
        const question = {
          ...get(path, { ...condition, "Accept-Encoding": encoding }),
          method,
        };
        const expected = await exchange(uncached.url, question);
        expect(await exchange(app.url, question)).toEqual(expected);
        statuses.push(expected.status);
      }
    }
    expect(statuses).toEqual([
      304, 304, 304, 304, 304, 304, 304, 304, 200, 200, 200, 200, 200, 200,
    ]);
  });

  it("is kept by the bytes of a GraphQL body", async () => {
    const bodies = [
      '{"query":"query ($n: Int) { allDexTrades(first: $n) { totalCount } }","variables":{"n":null}}',
      '{"query":"query ($n: Int) { allDexTrades(first: $n) { totalCount } }","variables":{"n":1e999}}',
    ];
    for (const body of [...bodies, ...bodies.toReversed()]) {
      expect(await exchange(app.url, graphql(body))).toEqual(
        await exchange(uncached.url, graphql(body)),
      );
    }
    const [ofNull, ofInfinity] = await Promise.all(
      bodies.map((body) => exchange(app.url, graphql(body))),
    );
    expect(json(ofNull!)).toHaveProperty("data.allDexTrades.totalCount");
    expect(json(ofInfinity!)).toHaveProperty("errors");
  });

  it("is shared by clients that negotiate the same in other words", async () => {
    for (const accept of ["application/json", "application/json,", "Application/JSON"]) {
      const asked = graphql({ query: "{ dexHead { block } }" }, { Accept: accept });
      expect((await exchange(app.url, asked)).status).toBe(200);
    }
    for (const encoding of ["gzip", "gzip;q=1.0, *;q=0.1", "deflate, gzip"]) {
      await exchange(app.url, get("/v1/markets/", { "Accept-Encoding": encoding }));
    }
    expect(questions).toBe(2);
  });

  it("may have a field that is named errors", async () => {
    const asked = graphql({ query: "{ errors: dexHead { errors: block } }" });
    for (let n = 0; n < 3; n += 1) expect((await exchange(app.url, asked)).status).toBe(200);
    expect(questions).toBe(1);
  });

  it("is not shared by requests that differ in anything else", async () => {
    const two =
      "query A { allDexTrades(first: 1) { nodes { id } } } query B { allDexTrades(first: 1) { nodes { block } } }";
    const different: Asked[] = [
      get("/v1/prices"),
      get("/v2/prices"),
      get("/v2/trades/weth/dai"),
      get("/v2/trades/weth/dai", { "Accept-Encoding": "gzip" }),
      get("/v2/trades/weth/dai?limit=2"),
      get("/v2/trades/weth/dai?limit=20"),
      aPage(1),
      aPage(30),
      aPage(30, { "Accept-Encoding": "gzip" }),
      aPage(30, { Accept: "application/graphql-response+json" }),
      graphql({ query: two, operationName: "A" }),
      graphql({ query: two, operationName: "B" }),
      graphql({ query: PAGE, variables: { market: "WETHDAI", first: "1" } }),
    ];
    const answers = new Set<string>();
    // At once as well as one after the other.
    await Promise.all(different.map((asked) => exchange(app.url, asked)));
    for (const asked of different) {
      const { status, headers, body } = await exchange(app.url, asked);
      answers.add([status, ...headers, body.toString("base64")].join("\n"));
    }
    expect(answers.size).toBe(different.length);
  });
});

describe("many who ask the same at once", () => {
  it.each([
    ["REST", get("/v1/markets/")],
    ["GraphQL", aPage(30)],
  ])("are answered by one question to the database: %s", async (_, asked) => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => exchange(app.url, asked)));
    expect(questions).toBe(1);
    expect(answers[0]!.status).toBe(200);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });

  it("are answered also where the first has gone away", async () => {
    const locking = await lockPairs();
    const first = new AbortController();
    const gone = exchange(app.url, get("/v1/pairs/"), { signal: first.signal });
    await waitingForLock(1);
    const others = [exchange(app.url, get("/v1/pairs/")), exchange(app.url, get("/v1/pairs/"))];
    first.abort();
    await expect(gone).rejects.toThrow("aborted");
    await locking.release();
    for (const other of await Promise.all(others)) expect(other.status).toBe(200);
    expect(questions).toBe(1);
  });

  it("fail alone where a connection is lost: the others ask for themselves", async () => {
    const locking = await lockPairs();
    const all = [1, 2, 3].map(() => exchange(app.url, get("/v1/pairs/")));
    await waitingForLock(1, "pg_terminate_backend(pid)");
    await Promise.race(all);
    await locking.release();
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 200, 503]);
  });

  it("are all refused where PostgreSQL has cancelled the statement, and the next asks again", async () => {
    const locking = await lockPairs();
    const all = [1, 2, 3].map(() => exchange(app.url, get("/v1/pairs/")));
    await waitingForLock(1, "pg_cancel_backend(pid)");
    const told = await Promise.all(all);
    await locking.release();
    expect(told.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(questions).toBe(1);
    expect((await exchange(app.url, get("/v1/pairs/"))).status).toBe(200);
  });

  it.each([
    ["an answer", "true", 200, '"data":{'],
    ["an error", "pg_cancel_backend(pid)", 503, "too long"],
    ["a GraphQL answer", "true", 200, '"data":{"allDexPairs"'],
    ["a GraphQL answer with an error", "pg_cancel_backend(pid)", 200, '"code":"TIMEOUT"'],
  ])("get %s though others fill the cache in between", async (kind, act, status, text) => {
    const app = await tinyApp();
    const asked = kind.includes("GraphQL")
      ? graphql({ query: "{ allDexPairs { nodes { base } } }" })
      : get("/v1/pairs/");
    const locking = await lockPairs();
    const first = exchange(app.url, asked);
    await waitingForLock(1);
    const second = exchange(app.url, asked);
    for (let n = 0; n < 30; n += 1) {
      await exchange(app.url, graphql({ query: `{ dexHead { block b${n}: block } }` }));
    }
    await waitingForLock(1, act);
    if (act !== "true") await first;
    await locking.release();
    const { status: given, body } = await first;
    expect([given, body.toString()]).toEqual([status, expect.stringContaining(text)]);
    // Other clients of GraphQL ask again themselves.
    expect((await second).status).toBe(status);
    expect(ownErrors(app.logged.splice(0))).toEqual([]);
  });

  it("do not wait for an answer of another version", async () => {
    const locking = await lockPairs();
    const before = exchange(app.url, get("/v1/pairs/"));
    await waitingForLock(1);
    version.text = "B";
    clock += 1000;
    const after = exchange(app.url, get("/v1/pairs/"));
    await waitingForLock(2);
    await locking.release();
    expect((await before).status).toBe(200);
    expect((await after).status).toBe(200);
    expect(questions).toBe(2);
  });
});

/** Has every question about pairs wait until it is released. */
async function lockPairs(): Promise<{ release: () => Promise<void> }> {
  const client = await openClient(database.url);
  await client.query("begin");
  await client.query("lock table dex_pair in access exclusive mode");
  return { release: () => client.end() };
}

/** Waits until so many questions wait for a lock, and does that to them. */
async function waitingForLock(count: number, act = "true"): Promise<void> {
  await using admin = await openClient(database.url);
  for (;;) {
    const { rowCount } = await admin.query(
      `select pid
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'`,
    );
    if (rowCount === count) break;
  }
  await admin.query(
    `select ${act}
    from pg_stat_activity
    where datname = current_database()
      and wait_event_type = 'Lock'`,
  );
}

describe("a query string", () => {
  const answered = async (paths: string[], headers = {}): Promise<unknown[]> => {
    const bodies = [];
    for (const path of paths) bodies.push((await exchange(app.url, get(path, headers))).body);
    return bodies.map(String);
  };

  it("makes an answer for each value of the parameters that the path knows, and for no others", async () => {
    const equal = [
      ["/v1/markets/", "/v1/markets/?", "/v1/markets/?limit=1", "/v1/markets/?a=1&a=2&%zz"],
      ["/v2/trades/weth/dai?limit=1&fromId=120", "/v2/trades/weth/dai?x=1&fromId=120&limit=1&"],
      ["/coingecko/pairs", "/coingecko/pairs?depth=5"],
    ];
    for (const paths of equal) expect(new Set(await answered(paths)).size).toBe(1);
    expect(questions).toBe(equal.length);
    const values = [1, 2, 3].map((limit) => `/v2/trades/weth/dai?limit=${limit}&fromId=120`);
    expect(new Set(await answered(values)).size).toBe(3);
  });

  it("makes no answer for itself on the market pages, whatever else is accepted", async () => {
    const paths = ["/markets/weth/dai", "/markets/weth/dai?interval=1h", "/markets/weth/dai?x"];
    for (const accept of ["text/html", "text/html, a/b", "text/html;q=0.9, application/json;q=0.1"])
      expect(new Set(await answered(paths, { Accept: accept })).size).toBe(1);
    expect(questions).toBe(1);
  });

  it("that is wrong is refused, though an answer without it is in memory", async () => {
    const path = "/v2/trades/weth/dai";
    await exchange(app.url, get(path));
    for (const query of ["LIMIT=5", "limit[]=5", "Limit[a]=5", "limit=5&limit=6", "fromid=1"]) {
      const { status } = await exchange(app.url, get(`${path}?${query}`));
      expect([query, status]).toEqual([query, 400]);
    }
  });
});

describe("what is not kept", () => {
  it("is an unknown pair: once registered, it is known", async () => {
    const path = "/v1/pairs/mkr/dai";
    const unknown = await exchange(app.url, get(path));
    await registerPair(database.writer, MKR, DAI);
    const known = await exchange(app.url, get(path));
    expect([unknown.status, known.status]).toEqual([400, 200]);
  });

  it("is an answer that only its own client may get", async () => {
    // Its variables have no value of the type, so it fails before it is executed.
    const wrong = graphql({ query: PAGE, variables: { first: "1" } });
    const answers = await Promise.all([1, 2, 3].map(() => exchange(app.url, wrong)));
    for (const { status, body } of answers) {
      expect([status, body.toString()]).toEqual([200, expect.stringContaining('"errors"')]);
    }
    expect(app.over.slice(-3).map(({ cache }) => cache)).toEqual(["miss", "miss", "miss"]);
  });

  it.each(["identity", "gzip"])("is a GraphQL answer with an error: %s", async (encoding) => {
    // Long enough to be compressed, and its data stand before its error.
    const query = "{ allDexTrades(first: 40) { nodes { id price } } dexHead { time block } }";
    const asked = graphql({ query }, { "Accept-Encoding": encoding });
    // A renamed column would not do: a statement that is prepared already may go on with it.
    await database.owner.query("revoke select on dex_head from dex_reader");
    const broken = await exchange(app.url, asked);
    await database.owner.query("grant select on dex_head to dex_reader");
    const sound = await exchange(app.url, asked);
    const again = await exchange(app.url, asked);
    expect(broken.status).toBe(200);
    expect(app.logged).not.toEqual([]);
    expect(sound.body).not.toEqual(broken.body);
    expect(again).toEqual(sound);
  });

  it("is a GraphQL query that does not fit the schema", async () => {
    for (const query of ["{ nope }", "{", "mutation { nope }", "subscription { nope }"]) {
      const expected = await exchange(uncached.url, graphql({ query }));
      expect(await exchange(app.url, graphql({ query }))).toEqual(expected);
      expect(await exchange(app.url, graphql({ query }))).toEqual(expected);
      expect(json(expected)).toHaveProperty("errors");
    }
  });

  it("is an answer that takes more than an eighth of the memory", async () => {
    const app = await tinyApp();
    const large = get("/v2/trades/weth/dai", { "Accept-Encoding": "identity" });
    const small = get("/v2/volumes/weth/dai");
    for (let n = 0; n < 3; n += 1) await exchange(app.url, large);
    expect(questions).toBe(3);
    for (let n = 0; n < 3; n += 1) await exchange(app.url, small);
    expect(questions).toBe(4);
  });
});

describe("a GraphQL body", () => {
  const bodies: [string, string][] = [
    ["empty", ""],
    ["no JSON", "{"],
    ["null", "null"],
    ["a list", '[{"query":"{ __typename }"}]'],
    ["without a query", "{}"],
    ["with a query that is none", '{"query":1}'],
    [
      "as deep as the stack",
      `{"query":"{ __typename }","variables":${"[".repeat(45_000)}${"]".repeat(45_000)}}`,
    ],
    ["too long", JSON.stringify({ query: `{ __typename } #${"x".repeat(100_000)}` })],
  ];
  it.each(bodies)("that is %s is answered as without the cache", async (_, body) => {
    const expected = await exchange(uncached.url, graphql(body));
    expect(await exchange(app.url, graphql(body))).toEqual(expected);
    expect(await exchange(app.url, graphql(body))).toEqual(expected);
  });

  it("that does not say how long it is, is taken up to the same length", async () => {
    const chunked = async (query: string) => {
      const response = await fetch(`${app.url}/graphql`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: new Blob([JSON.stringify({ query })]).stream(),
        duplex: "half",
      });
      await response.arrayBuffer();
      return response.status;
    };
    expect(await chunked("{ __typename }")).toBe(200);
    expect(await chunked(`{ __typename } #${"x".repeat(100_000)}`)).toBe(413);
  });

  /** Sends a request as it is given, byte by byte, and gives the body of its answer. */
  const sendSlowly = async (url: string, lines: string[], body = ""): Promise<string> => {
    const { hostname, port } = new URL(url);
    const socket = createConnection(Number(port), hostname);
    socket.setNoDelay(true);
    const head = ["POST /graphql HTTP/1.1", "Host: x", "Connection: close", ...lines];
    for (const byte of Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`)) {
      socket.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return (await buffer(socket)).toString().split("\r\n\r\n")[1] ?? "";
  };
  const JSON_HEADERS = ["Accept: application/json", "Content-Type: application/json"];

  it("that is not announced is an empty one, with and without the cache", async () => {
    for (const { url } of [app, uncached]) {
      const expected = await exchange(url, graphql(""));
      expect(await sendSlowly(url, JSON_HEADERS)).toBe(expected.body.toString());
    }
  });

  it("that comes in pieces is the same as in one", async () => {
    const { body = "", ...whole } = graphql({ query: "{ dexHead { block time } }" });
    const expected = await exchange(app.url, { ...whole, body });
    const lines = [...JSON_HEADERS, `Content-Length: ${body.length}`];
    expect(await sendSlowly(app.url, lines, body)).toBe(expected.body.toString());
    expect(questions).toBe(1);
  });

  it("that is said to be compressed is refused, though the same was answered plain", async () => {
    const plain = graphql({ query: "{ dexHead { block } }" });
    expect((await exchange(app.url, plain)).status).toBe(200);
    const compressed = { ...plain, headers: { ...plain.headers, "Content-Encoding": "gzip" } };
    expect((await exchange(app.url, compressed)).status).toBe(415);
  });

  it("that is broken off leaves nothing behind", async () => {
    const { port } = new URL(app.url);
    await new Promise<void>((resolve) => {
      const socket = createConnection(Number(port), "127.0.0.1", () => {
        socket.write(
          "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
          () => socket.destroy(),
        );
      });
      socket.on("close", () => resolve());
    });
    expect((await exchange(app.url, GRAPHQL_HEAD)).status).toBe(200);
    expect(app.logged).toEqual([]);
  });
});

describe("an answer is never older than it may be", () => {
  it("is given from memory as long as the version stands, and no longer", async () => {
    const first = await exchange(app.url, get(HEAD_TIME));
    await setHead(database.writer, 24.5);

    clock += 999;
    expect(await exchange(app.url, get(HEAD_TIME))).toEqual(first);
    clock += 1;
    // Asked for, and still the same.
    expect(await exchange(app.url, get(HEAD_TIME))).toEqual(first);
    version.text = "B";
    clock += 1000;
    expect(json(await exchange(app.url, get(HEAD_TIME)))["time"]).toBe(hours(24.5));
    expect(questions).toBe(2);
  });

  it("is a second old at most where no block was ever written", async () => {
    await database.empty();
    await registerMarkets(database.writer);
    version.hasHead = false;
    const app = await anApp({ checkMs: 10_000 });
    const start = clock;
    const first = await exchange(app.url, get(HEAD_TIME));
    clock = start + 999;
    expect(await exchange(app.url, get(HEAD_TIME))).toEqual(first);
    clock = start + 1000;
    expect(await exchange(app.url, get(HEAD_TIME))).not.toEqual(first);
    expect(questions).toBe(2);
  });

  it("is none from memory where the version cannot be read", async () => {
    await exchange(app.url, get(HEAD_TIME));
    await exchange(app.url, GRAPHQL_HEAD);
    await setHead(database.writer, 24.5);
    version.text = undefined;
    clock += 1000;
    for (let n = 0; n < 2; n += 1) {
      expect(json(await exchange(app.url, get(HEAD_TIME)))["time"]).toBe(hours(24.5));
      expect(json(await exchange(app.url, GRAPHQL_HEAD))).toEqual({
        data: { dexHead: { block: blockAt(24.5) } },
      });
    }
    expect(app.logged).toEqual([new Error("no version")]);
  });

  it("shows each write to who asks after it, where each request asks for the version", async () => {
    const app = await anApp({ checkMs: 0, versionFrom: database.owner });
    for (let n = 1; n <= 40; n += 1) {
      await setHead(database.writer, 24 + n / 3600);
      const [rest, graph] = await Promise.all([
        exchange(app.url, get(HEAD_TIME)),
        exchange(app.url, GRAPHQL_HEAD),
      ]);
      expect(json(rest)["time"]).toBe(hours(24 + n / 3600));
      expect(json(graph)).toEqual({ data: { dexHead: { block: blockAt(24) + n } } });
    }
  });

  it("shows each write once the time is over, with a writer at work", async () => {
    const CHECK_MS = 20;
    const app = await anApp({
      checkMs: CHECK_MS,
      versionFrom: database.owner,
      now: () => performance.now(),
    });
    // When each head was surely committed, by the number of seconds after the first.
    const committed: number[] = [];
    let writing = true;
    const shown = new Set<number>();
    const writeHeads = async (): Promise<void> => {
      // A reader that halts sees few of them: it has time until it has seen enough.
      for (let n = 1; n <= 300 || shown.size <= 10; n += 1) {
        await setHead(database.writer, 24 + n / 3600);
        committed[n] = performance.now();
        await new Promise((resolve) => setTimeout(resolve, n % 7));
      }
      writing = false;
    };
    const read = async (asked: Asked, headOf: (received: Received) => number): Promise<void> => {
      while (writing) {
        const due = performance.now() - CHECK_MS;
        const oldest = committed.findLastIndex((at) => at <= due);
        const head = headOf(await exchange(app.url, asked));
        shown.add(head);
        expect(head).toBeGreaterThanOrEqual(oldest);
      }
    };
    const ofRest = (received: Received): number =>
      (Date.parse(json(received)["time"] as string) - Date.parse(hours(24))) / 1000;
    const ofGraphql = (received: Received): number =>
      (json(received) as { data: { dexHead: { block: number } } }).data.dexHead.block - blockAt(24);
    await Promise.all([
      writeHeads(),
      read(get(HEAD_TIME), ofRest),
      read(get(HEAD_TIME), ofRest),
      read(GRAPHQL_HEAD, ofGraphql),
    ]);
  });
});

type Share = (make: () => Promise<Answer | undefined>) => Promise<Answer | undefined>;

/** The cache alone: how the next request of a client shares its answer. */
function aCache(): { cache: AnswerCache; next: (client?: string) => Promise<Share> } {
  const cache = new AnswerCache({
    bytes: 1_000_000,
    bodyBytes: 1000,
    questions: [({ url }) => url],
    checkMs: 60_000,
    versionFrom: database.reader,
    log: () => undefined,
  });
  const next = (client = "192.0.2.1"): Promise<Share> =>
    new Promise((resolve) => {
      const req = new IncomingMessage(new Socket());
      Object.assign(req, { method: "GET", url: "/v2/pairs" });
      const handedOn = cache.answering(() => {
        const asRequest = AsyncLocalStorage.snapshot();
        resolve((make) => asRequest(() => cache.share(req, make)));
      });
      begin(() => client, [])(handedOn)(req, new ServerResponse(req));
    });
  return { cache, next };
}

const unasked = (): Promise<never> => Promise.reject(new Error("not asked"));

it("a clear leaves a request without an answer to share alone", async () => {
  const { cache, next } = aCache();
  const [first, second] = [await next(), await next()];
  const made = Promise.withResolvers<undefined>();
  const own = first(() => made.promise);
  const joined = second(unasked);
  cache.clear();
  made.resolve(undefined);
  expect(await Promise.all([own, joined])).toEqual([undefined, undefined]);
});

it("a client does not wait for the answer to another one that waits behind its own requests", async () => {
  const { next } = aCache();
  const answer: Answer = { headers: [], body: "", etag: undefined };
  const [greedy, again] = [await next(), await next()];
  const [other, third] = [await next("192.0.2.2"), await next("192.0.2.3")];
  const late = Promise.withResolvers<Answer>();
  let isOver: (() => void) | undefined;
  const ofGreedy = [
    greedy(() => {
      isOver = waitBehindOwn();
      return late.promise;
    }),
    again(unasked),
  ];
  const soon = Promise.withResolvers<Answer>();
  // Who comes later waits for the one that has its turn earlier.
  const ofOthers = [other(() => soon.promise), third(unasked)];
  soon.resolve(answer);
  expect(await Promise.all(ofOthers)).toMatchObject([answer, answer]);
  isOver?.();
  late.resolve(answer);
  expect(await Promise.all(ofGreedy)).toMatchObject([answer, answer]);
});
