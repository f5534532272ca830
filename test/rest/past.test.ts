// Every endpoint, as of a past block, is what it was when that block was the head.
import type { Response } from "supertest";
import type { Pool } from "../../db/connect.ts";
import { makeFindAsOf } from "../../market/queries/as-of.ts";
import { findHead } from "../../market/queries/head.ts";
import { OF_ONE_VERSION, makeTestApp } from "../app.ts";
import { makeDatabase } from "../database.ts";
import {
  aHash,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  registerMarkets,
  registerPair,
  WETH,
} from "../factories.ts";
import { serveDatabase } from "../served.ts";
import { examplePaths, LISTINGS as listings } from "./example-paths.ts";

/** Hours after genesis of the blocks; the last final one is that of the fourth. */
const HOURS = [1, 2, 9, 26, 27];
const FINAL = blockAt(26);

const { app, database } = serveDatabase((writer) => registerMarkets(writer), { listings });
/** By path, behind each block. */
const heads: Record<string, Response>[] = [];
beforeAll(async () => {
  for (const n of HOURS.keys()) {
    await writeBlock(n);
    heads.push(await answers());
    await registerPair(database.writer, WETH, DAI, n % 2 === 1);
  }
});

const writeBlock = (n: number, price = 200 + n): Promise<unknown> => {
  const hour = HOURS[n]!;
  const offers = [
    anOffer({ id: 10 + n, hour, base: "10", quote: String(1000 + n) }),
    anOffer({ id: 20 + n, hour, side: "buy", base: "10", quote: String(900 - n) }),
  ].map((offer) => ({ ...offer, killed: undefined }));
  const trades = [
    aTrade({ hour, offer_id: 10, base: "2", quote: String(price) }),
    aTrade({ hour, offer_id: 20, side: "buy", base: "1", quote: "90", idx: 1 }),
  ];
  return database.writer.query(
    "select ingest.write_block($1, $2, $3, offers => $4, trades => $5, killed => $6)",
    [
      ...[blockAt(hour), hours(hour), aHash(`${price} in ${hour}`)],
      ...[JSON.stringify(offers), JSON.stringify(trades), n === 3 ? [11, 20 + n - 1] : []],
    ],
  );
};

const PATHS = examplePaths({ market: "weth/dai", block: blockAt(1) });

async function answers(asOf = ""): Promise<Record<string, Response>> {
  const found: Record<string, Response> = {};
  for (const path of PATHS) found[path] = await app.request.get(path + asOf);
  return found;
}

/** What is known to be final is of now. */
const FINAL_NOW = /"final":(null|\d+)/;

const told = ({ status, text, headers }: Response): unknown => [
  status,
  text.replace(FINAL_NOW, '"final"'),
  FINAL_NOW.test(text) ? "" : headers["etag"],
  headers["x-head-block"],
];
const toldOf = (found: Record<string, Response>): unknown =>
  Object.fromEntries(Object.entries(found).map(([path, answer]) => [path, told(answer)]));

it("is what it was when the block was the head, at every endpoint", async () => {
  for (const [n, hour] of HOURS.entries()) {
    expect(toldOf(await answers(`&block=${blockAt(hour)}`))).toEqual(toldOf(heads[n]!));
  }
  const statuses = Object.entries(heads.at(-1)!).map(([path, { status }]) => [path, status]);
  expect(statuses.filter(([, status]) => status !== 200)).toEqual([]);
});

const PRICE = "/v2/prices/weth/dai";
const priceAt = (asOf: string) => app.request.get(`${PRICE}?${asOf}`);

it.each([
  ["a number between two blocks", `block=${blockAt(9) - 1}`],
  ["a time", `time=${hours(2)}`],
  ["a time between two blocks", `time=${hours(3)}`],
  ["a hash", `hash=${aHash("201 in 2")}`],
  ["a hash in capitals", `hash=0x${aHash("201 in 2").slice(2).toUpperCase()}`],
  ["a percent-encoded name", `%62lock=${blockAt(2)}`],
])("takes %s", async (_what, asOf) => {
  expect(told(await priceAt(asOf))).toEqual(told(heads[1]![`${PRICE}?`]!));
});

const AVAILABLE = `No such block: there are the blocks from ${blockAt(1)}, of 2026-01-01T01:00:00Z, to ${blockAt(27)}, of 2026-01-02T03:00:00Z`;

it.each([
  [`block=${blockAt(1) - 1}`, AVAILABLE],
  [`block=${blockAt(27) + 1}`, AVAILABLE],
  [`time=${hours(28)}`, AVAILABLE],
  [`hash=${aHash("another")}`, AVAILABLE],
  ["block=head", /^block must be an integer from 0 to 2147483647/],
  ["block=1&block=2", /^block must be/],
  ["Block=1", "Block must be written block"],
  [`?block=${blockAt(2)}`, "?block must be written block"],
  ["time=yesterday", /^time must be a time from 1970 on in ISO 8601/],
  ["hash=0x12", "hash must be the hash of a block: 0x and 64 hexadecimal digits, given once"],
  [`block=1&time=${hours(1)}`, "block and time must be given one at a time"],
])("refuses %s", async (asOf, message) => {
  const { status, body } = await priceAt(asOf);
  expect([status, body.message]).toEqual([
    400,
    typeof message === "string" ? message : expect.stringMatching(message),
  ]);
});

it("takes the times that a refusal names, and says which form of a time it takes", async () => {
  const { body } = await priceAt("block=1");
  const named = [...(body.message as string).matchAll(/of ([^ ,]+)/g)].map(([, time]) => time!);
  const heads = named.map(async (time) => (await priceAt(`time=${time}`)).headers["x-head-block"]);
  expect(await Promise.all(heads)).toEqual([blockAt(1), blockAt(27)].map(String));
  for (const time of ["2026-01-01T02:00Z", "2026-01-01T02:00:00.000001Z"]) {
    expect((await priceAt(`time=${time}`)).body.message).toMatch(
      /UTC, with seconds and at most milliseconds, such as/,
    );
  }
});

const [long, short] = ["public, max-age=3600", "public, max-age=1"];

it("is kept for an hour where the chain takes the block back no more, and else as the head", async () => {
  const kept = async (asOf: string) => (await priceAt(asOf)).headers["cache-control"];
  expect(await kept(`block=${FINAL}`)).toBe(long);
  expect(await kept(`hash=${aHash("203 in 26")}`)).toBe(long);
  expect(await kept(`time=${hours(25.9)}`)).toBe(long);
  // A block can still come between.
  expect(await kept(`block=${FINAL + 1}`)).toBe(short);
  expect(await kept(`time=${hours(26)}`)).toBe(short);
  expect(await kept(`block=${blockAt(27)}`)).toBe(short);
  expect(await kept("limit=1")).toBe(short);
  // An indexer records what is final; else it is what is 64 blocks below the head.
  await database.writer.query("select ingest.begin_index(1, $1, 'x', 1, 'event')", [DAI]);
  await database.writer.query("select ingest.checked_to($1, null)", [blockAt(27)]);
  expect(await kept(`block=${blockAt(27)}`)).toBe(long);
});

it("is not kept for an hour where the block has no rows and so is deleted later", async () => {
  const other = await makeDatabase();
  const small = await makeTestApp(other.reader, { listings, finality: 2 });
  const keptAt = async (asOf: string) =>
    (await small.request.get(`/v1/markets?${asOf}`)).headers["cache-control"];
  const hashOf = (hour: number) => `hash=${aHash(`in ${hour}`)}`;
  const writeAt = (hour: number, ...trades: object[]): Promise<unknown> =>
    other.writer.query("select ingest.write_block($1, $2, $3, trades => $4)", [
      ...[blockAt(hour), hours(hour), aHash(`in ${hour}`), JSON.stringify(trades)],
    ]);
  await writeAt(1);
  await writeAt(1.05, aTrade({ hour: 1.05 }));
  await writeAt(1.1);
  await writeAt(1.15);
  for (const hour of [1, 1.1]) {
    for (const asOf of [`block=${blockAt(hour)}`, hashOf(hour), `time=${hours(hour)}`]) {
      expect([asOf, await keptAt(asOf)]).toEqual([asOf, short]);
    }
  }
  for (const asOf of [`block=${blockAt(1.1) - 1}`, hashOf(1.05), `time=${hours(1.05)}`]) {
    expect([asOf, await keptAt(asOf)]).toEqual([asOf, long]);
  }
  // The answers name other blocks, which are deleted, and the basis, which may still be recorded.
  const final = `block=${blockAt(1.1) - 1}`;
  for (const path of ["head", `block/${blockAt(1)}`, "blocks?from=0"]) {
    const asked = `/v2/${path}${path.includes("?") ? "&" : "?"}${final}`;
    const { headers } = await small.request.get(asked).expect(200);
    expect([asked, headers["cache-control"]]).toEqual([asked, short]);
  }
  // The deleted block's number now names another.
  await writeAt(10);
  const later = await small.request.get(`/v1/markets?block=${blockAt(1.1)}`);
  expect(later.headers["x-head-block"]).toBe(String(blockAt(1.05)));
  await small.close();
  await other.drop();
});

it("is kept for an hour below as many blocks as the setting has, whatever an indexer has recorded", async () => {
  const keptWith = async (finality: number, block: number): Promise<unknown> => {
    const other = await makeTestApp(database.reader, { listings, finality });
    const { headers } = await other.request.get(`${PRICE}?block=${block}`);
    await other.close();
    return headers["cache-control"];
  };
  expect(await keptWith(0, blockAt(27))).toBe(long);
  expect(await keptWith(3600, blockAt(26))).toBe(long);
  expect(await keptWith(3600, blockAt(26) + 1)).toBe(short);
  expect(await keptWith(1_000_000, blockAt(1))).toBe(short);
});

it("has 304, HEAD, X-Min-Block and fromId", async () => {
  const { headers } = await priceAt(`block=${blockAt(2)}`);
  const asked = `${PRICE}?block=${blockAt(2)}`;
  const again = await app.request.get(asked).set("If-None-Match", headers["etag"]!);
  expect([again.status, again.headers["x-head-block"]]).toEqual([304, String(blockAt(2))]);
  expect((await app.request.head(asked)).headers["etag"]).toBe(headers["etag"]);
  // The database has that block; the answer is of an earlier one.
  const since = await app.request.get(asked).set("X-Min-Block", String(blockAt(27)));
  expect([since.status, since.headers["x-head-block"]]).toEqual([200, String(blockAt(2))]);

  const trades = `/v2/trades/weth/dai?block=${blockAt(9)}`;
  const { body } = await app.request.get(`${trades}&limit=2`);
  const [newest, next] = body.data as { id: number; time: string }[];
  expect(newest?.time).toBe(hours(9));
  const page = await app.request.get(`${trades}&limit=1&fromId=${next!.id}`);
  expect(page.body.data).toEqual([next]);
});

it("leaves the last head, in the envelope of errors, and the connections of the pool", async () => {
  await app.request.get(PRICE);
  await priceAt(`block=${blockAt(2)}`);
  const { totalCount } = database.reader;
  for (let n = 0; n < 5; n += 1) {
    const { body } = await priceAt("block=2147483647");
    expect(body.time).toBe(new Date(hours(27)).toISOString());
  }
  expect(database.reader.totalCount).toBe(totalCount);
  expect((await app.request.get(PRICE)).headers["x-head-block"]).toBe(String(blockAt(27)));
});

it("begins no transaction for a request of the head", async () => {
  // A single statement of a pool gives `connect` a callback.
  const connect = jest.spyOn(database.reader, "connect");
  const transactions = (): number =>
    (connect.mock.calls as unknown[][]).filter(({ length }) => length === 0).length;
  await app.request.get(`${PRICE}?limit=100`);
  expect(transactions()).toBe(0);
  await priceAt(`block=${blockAt(1) + 7}`);
  expect(transactions()).toBe(1);
  connect.mockRestore();
});

it("keeps the answers of the head, however many past blocks are asked for", async () => {
  await using small = await makeTestApp(database.reader, {
    listings,
    cache: { ...OF_ONE_VERSION, bytes: 200_000 },
  });
  const from = async (path: string): Promise<unknown> =>
    (await small.request.get(path)).headers["server-timing"];
  await from(PRICE);
  for (let n = 0; n < 100; n += 1) await from(`${PRICE}?block=${blockAt(9) + n}`);
  expect(await from(PRICE)).toBe("cache;desc=hit");
  expect(await from(`${PRICE}?block=${blockAt(9) + 99}`)).toBe("cache;desc=hit");
  expect(await from(`${PRICE}?block=${blockAt(9)}`)).toMatch(/^cache;desc=miss/);
});

it.each(["block=10", "time=2018-06-12T10:00:00Z", `hash=0x${"ab".repeat(32)}`])(
  "is refused for what has no history, by %s",
  async (asked) => {
    const { status, body } = await app.request.get(`/v2/registrations?${asked}`);
    const [name] = asked.split("=");
    expect([status, body.message]).toEqual([400, `${name} must be left out: this has no history`]);
  },
);

it("gives nothing of a block that was taken back", async () => {
  const asOf = `block=${blockAt(27)}`;
  const before = await priceAt(asOf);
  expect(told(await priceAt(asOf))).toEqual(told(before));
  await database.writer.query("select ingest.take_back($1)", [blockAt(26)]);
  expect((await priceAt(asOf)).status).toBe(400);
  expect((await priceAt(`hash=${aHash("204 in 27")}`)).status).toBe(400);
  await writeBlock(4, 555);
  const after = await priceAt(asOf);
  expect(after.status).toBe(200);
  expect(after.body.data).not.toEqual(before.body.data);
});

it("sends what names the block and what is asked together, and waits for no more", async () => {
  const client = await database.reader.connect();
  const happened: string[] = [];
  const query = client.query.bind(client) as (asked: unknown) => Promise<unknown>;
  const sent = jest.spyOn(client, "query").mockImplementation((asked: unknown): unknown => {
    happened.push(client.pipeline ? "sent" : "queued");
    return query(asked).finally(() => happened.push("answered"));
  });
  const { promise: released, resolve } = Promise.withResolvers<undefined>();
  const release = jest.spyOn(client, "release").mockImplementation(() => resolve(undefined));
  const pool = { connect: () => Promise.resolve(client) } as unknown as Pool;
  try {
    const found = await makeFindAsOf(pool)({ block: blockAt(HOURS[0]!) }, findHead);
    expect(found.block).toBe(blockAt(HOURS[0]!));
    // The last is the commit.
    expect(happened).toEqual([
      ...["sent", "sent", "sent"],
      ...["answered", "answered", "answered"],
      "sent",
    ]);
    await released;
    expect(happened.at(-1)).toBe("answered");
  } finally {
    sent.mockRestore();
    release.mockRestore();
    client.release();
  }
});

it("refuses every block of a database that has lost all of them, in REST, GraphQL and the page", async () => {
  await using other = await makeDatabase();
  await registerMarkets(other.writer);
  await using small = await makeTestApp(other.reader, { listings });
  for (let hour = 1; hour <= 6; hour += 1) {
    await other.writer.query("select ingest.write_block($1, $2, trades => $3)", [
      ...[blockAt(hour), hours(hour), JSON.stringify([aTrade({ hour })])],
    ]);
  }
  // With what the planner then knows, it reads the blocks first.
  await other.owner.query("analyze dex_block");
  await other.writer.query("select ingest.take_back(-1)");
  const none = "No such block: no block was ever written";
  for (const path of ["/v2/head", PRICE, "/v2/trades/weth/dai"]) {
    const { status, body } = await small.request.get(`${path}?block=5`);
    expect([path, status, body.message]).toEqual([path, 400, none]);
  }
  const page = await small.request.get("/markets/weth/dai?block=5").accept("text/html");
  expect([page.status, page.text.includes(none)]).toEqual([400, true]);
  const { body } = await small.request
    .post("/graphql")
    .send({ query: "query @asOf(block: 5) { dexHead { block } }" });
  expect(body.errors).toMatchObject([{ message: none, extensions: { code: "NO_SUCH_BLOCK" } }]);
});
