// The event stream where a change meets a client that comes, goes, was away, or is far behind.
import { setTimeout as sleep } from "node:timers/promises";
import { STREAM_LIMITS, type StreamLimits } from "../../../rest/stream/stream-endpoint.ts";
import type { Database } from "../../../db/connect.ts";
import { Feed, type Follower } from "../../../market/live/feed.ts";
import { readTopics } from "../../../rest/stream/topic-names.ts";
import type { LiveEvent } from "../../../market/live/events.ts";
import { VersionPoll } from "../../../market/version-poll.ts";
import { readPlace } from "../../../market/place.ts";
import { ownErrors } from "../../app.ts";
import { openClient } from "../../database.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  hours,
  MKR,
  registerMarkets,
  registerTokens,
  setHead,
  write,
} from "../../factories.ts";
import { useDatabase } from "../../served.ts";
import { followStream, type Received, type StreamClient } from "../../stream-client.ts";
import { startStreams, type StreamService } from "../../stream-service.ts";

const database = useDatabase();
let service: StreamService;
const open: StreamClient[] = [];

beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
  service = await startStreams(database.reader);
});

afterEach(async () => {
  for (const client of open.splice(0)) client.close();
  await service.close();
});

async function follow(topics: string, id?: string): Promise<StreamClient> {
  const headers = id === undefined ? {} : { "Last-Event-ID": id };
  const client = await followStream(`${service.url}/v2/stream?topics=${topics}`, headers);
  open.push(client);
  return client;
}

/** Replaces the service by one with other limits. */
async function limit(limits: Partial<StreamLimits>): Promise<void> {
  await service.close();
  service = await startStreams(database.reader, limits);
}

const takeBack = (block: number) => database.writer.query("select ingest.take_back($1)", [block]);

/** What several writes leave, seen at once. */
async function atOnce(act: (writer: Database) => Promise<void>): Promise<void> {
  await using client = await openClient(database.url, { role: "dex_writer" });
  await client.query("begin");
  await act(client);
  await client.query("commit");
}

async function asSuperuser(statement: string): Promise<void> {
  await using client = await openClient(database.url);
  await client.query(statement);
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(1);
}

/** Stops every reader of a table until the function that it resolves to is called, which may write. */
async function lock(table: string) {
  const client = await openClient(database.url);
  await client.query("begin");
  await client.query(`lock table ${table} in access exclusive mode`);
  return async (act: (writer: Database) => Promise<void> = () => Promise.resolve()) => {
    await act(client);
    await client.query("commit");
    await client.end();
  };
}

const WAITING =
  "not granted and database = (select oid from pg_database where datname = current_database())";

/** Resolves when a reader waits for a lock. */
const someoneWaits = () =>
  until(async () => {
    const { rowCount } = await database.owner.query(`select from pg_locks where ${WAITING}`);
    return rowCount! > 0;
  });

const topicsOf = (event: Received | undefined) => event!.data.topics;
const idsOf = (records: object[] | undefined) =>
  records!.map((record) => (record as { id: number }).id);
const timesOf = (records: object[] | undefined) =>
  records!.map((record) => (record as { time: string }).time);

describe("a reset", () => {
  it("has no id, so that a client that is cut off before the state is reset again", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const reset = (await (await follow("candles:WETH/DAI:1h", "garbage")).next())!;
    expect(reset.event).toBe("reset");
    expect(reset.id).toBeUndefined();
  });
});

describe("a page", () => {
  it("says that more follows, and has only what later pages leave as it is", async () => {
    await limit({ pageTrades: 2 });
    await setHead(database.writer, 0);
    const topics = "trades:WETH/DAI,candles:WETH/DAI:1h,market:WETH/DAI";
    const { id } = (await (await follow(topics)).next())!;
    await write(database.writer, {
      trades: [1, 2, 2.5, 3].map((hour) => aTrade({ hour })),
    });
    const client = await follow(topics, id);
    const first = (await client.next())!;
    expect(first.data).toMatchObject({ block: blockAt(2), more: true });
    expect(Object.keys(first.data.topics)).toEqual(["trades:WETH/DAI", "candles:WETH/DAI:1h"]);
    expect(timesOf(first.data.topics["candles:WETH/DAI:1h"])).toEqual([hours(1)]);
    const last = (await client.next())!;
    expect(last.data).not.toHaveProperty("more");
    expect(Object.keys(last.data.topics).sort()).toEqual(topics.split(",").sort());
    expect(timesOf(last.data.topics["candles:WETH/DAI:1h"])).toEqual([hours(2), hours(3)]);

    // The candle of the page's last block has trades of later blocks, which go.
    await takeBack(blockAt(2));
    expect(
      topicsOf(await (await follow(topics, first.id)).next())["candles:WETH/DAI:1h"],
    ).toMatchObject([{ time: hours(2), trades: 1 }]);
  });

  it("is read for one client, and not in the snapshot of all", async () => {
    await limit({ pageTrades: 1 });
    await setHead(database.writer, 0);
    const { id } = (await (await follow("trades:*")).next())!;
    await write(database.writer, {
      trades: Array.from({ length: 60 }, (_, n) => aTrade({ hour: 1 + n })),
    });
    const client = await follow("trades:*", id);
    const pages = await client.until(({ data }) => data.more !== true);
    expect(pages.flatMap((page) => idsOf(topicsOf(page)["trades:WETH/DAI"]))).toEqual(
      Array.from({ length: 60 }, (_, n) => n + 1),
    );
  });
});

describe("a client that follows", () => {
  it("goes on after another has left while it joined", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })], offers: [anOffer({ id: 1 })] });
    const first = await follow("head,book:WETH/DAI:5");
    await first.next();
    const unlock = await lock("dex_private.period_figure");
    const joining = follow("head,book:WETH/DAI:5,candles:WETH/DAI:1h,market:*");
    await someoneWaits();
    first.close();
    await until(async () => (await service.count()) === 1);
    await unlock();
    const second = await joining;
    expect(Object.keys(topicsOf(await second.next())).sort()).toEqual([
      "book:WETH/DAI:5",
      "candles:WETH/DAI:1h",
      "head",
      "market:MKR/WETH",
      "market:WETH/DAI",
    ]);
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    expect(Object.keys(topicsOf(await second.next())).sort()).toEqual([
      "book:WETH/DAI:5",
      "candles:WETH/DAI:1h",
      "head",
      "market:WETH/DAI",
    ]);
    expect(ownErrors(service.logged)).toEqual([]);
  });

  it("misses nothing where the connection is lost half-way", async () => {
    const client = await follow("head,trades:WETH/DAI");
    await client.next();
    const unlock = await lock("dex_private.reorganisation");
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    await someoneWaits();
    await asSuperuser(`select pg_terminate_backend(pid) from pg_locks where ${WAITING}`);
    await until(() => Promise.resolve(service.logged.length > 0));
    await unlock();
    const { data } = (await client.next())!;
    expect(data.block).toBe(blockAt(1));
    expect(idsOf(data.topics["trades:WETH/DAI"])).toEqual([1]);
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    expect(idsOf(topicsOf(await client.next())["trades:WETH/DAI"])).toEqual([2]);
  });

  it("is sent to pages by more candles at once than an event has", async () => {
    await setHead(database.writer, 0);
    const client = await follow("candles:WETH/DAI:1m");
    await client.next();
    await atOnce((writer) =>
      write(writer, {
        trades: Array.from({ length: 1001 }, (_, n) => aTrade({ hour: 1 + n / 60 })),
      }),
    );
    expect(await client.next()).toMatchObject({ event: "closed", data: { reason: "behind" } });
  });

  it("is reset by another name of a market, though it has no trades", async () => {
    const client = await follow("market:*");
    await client.next();
    await registerTokens(database.writer, { address: MKR, symbol: "SKY" });
    expect((await client.next())!.event).toBe("reset");
    expect(Object.keys(topicsOf(await client.next()))).toEqual([
      "market:SKY/WETH",
      "market:WETH/DAI",
    ]);
  });
});

it("frees what a client took that left before it was answered", async () => {
  const unlock = await lock("dex_pair");
  const gone = new AbortController();
  const asked = fetch(`${service.url}/v2/stream?topics=market:WETH/DAI`, { signal: gone.signal });
  await someoneWaits();
  gone.abort();
  await expect(asked).rejects.toThrow();
  await until(async () => (await service.connections()) === 0);
  await unlock();
  const client = await follow("head");
  await client.next();
  for (const each of open.splice(0)) each.close();
  await until(async () => (await service.count()) === 0);
});

it("ends a stream that is asked for while the service stops", async () => {
  const unlock = await lock("dex_pair");
  const asked = follow("market:WETH/DAI");
  await someoneWaits();
  const closing = service.close();
  await unlock();
  expect((await (await asked).next())?.event).toBe("closed");
  await closing;
  service = await startStreams(database.reader);
});

it("refuses a market that was known before it got another name", async () => {
  const client = await follow("market:MKR/WETH");
  await client.next();
  client.close();
  await until(async () => (await service.count()) === 0);
  await registerTokens(database.writer, { address: MKR, symbol: "SKY" });
  expect((await follow("market:MKR/WETH")).status).toBe(400);
});

describe("beside clients that begin with different ids", () => {
  let poll: VersionPoll;
  let feed: Feed<LiveEvent>;
  let got: string[];
  const topics = readTopics(["head,candles:WETH/DAI:1h"]);

  /** A follower without topics of the locked table. */
  const followHead = (name: string) => feed.join(readTopics(["head"]), undefined, follower(name));

  const follower = (name: string, isClosed = () => false): Follower<LiveEvent> => ({
    client: name,
    isClosed,
    send: () => void got.push(name),
    fallBehind: () => undefined,
  });

  beforeEach(async () => {
    await write(database.writer, { trades: [1, 2, 3].map((hour) => aTrade({ hour })) });
    poll = new VersionPoll({
      ...{ db: database.reader, everyMs: 1, lostMs: 600_000, log: () => undefined },
    });
    feed = new Feed<LiveEvent>({
      ...{ pool: database.reader, clientPool: database.reader, poll },
      bounds: { trades: 1000, candles: 1000 },
      maxTrades: 10_000,
      messageOf: (event) => event,
    });
    got = [];
  });
  afterEach(() => poll.close());

  /** Each begins at another place. */
  async function joinMany(name: string, isClosed?: () => boolean) {
    const place = await readPlace(database.reader);
    const all = Array.from({ length: 100 }, (_, n) => ({ ...place, block: place.block - n }));
    return all.map((since) => feed.join(topics, since, follower(name, isClosed)));
  }

  it("those that follow get a change between these", async () => {
    await followHead("first");
    const unlock = await lock("dex_private.period_figure");
    const joined = await joinMany("other");
    await someoneWaits();
    await unlock((writer) => setHead(writer, 4));
    await Promise.all(joined);
    expect(got.lastIndexOf("first")).toBeGreaterThan(0);
    expect(got.lastIndexOf("first")).toBeLessThan(100);
  });

  it("those that follow get a change before one of these is read", async () => {
    // Only those that join cause a reading.
    jest.spyOn(poll, "follow").mockReturnValue(() => undefined);
    await followHead("first");
    await setHead(database.writer, 4);
    const unlock = await lock("dex_private.period_figure");
    const joined = await joinMany("other");
    await someoneWaits();
    const before = [...got];
    await unlock();
    await Promise.all(joined);
    expect(before).toEqual(["first", "first"]);
  });

  it("another client begins behind one of them at most, after those that are being read", async () => {
    const unlock = await lock("dex_private.period_figure");
    const joined = await joinMany("many");
    await someoneWaits();
    const other = followHead("other");
    await unlock();
    await Promise.all([...joined, other]);
    // Up to 20 are being read.
    expect(got.indexOf("other")).toBeLessThanOrEqual(21);
    expect(got).toHaveLength(101);
  });

  it("one whose reading fails is refused, and no other", async () => {
    await database.owner.query("revoke select on dex_private.period_figure from dex_reader");
    const failing = feed.join(topics, undefined, follower("failing"));
    const other = followHead("other");
    await expect(failing).rejects.toThrow("permission denied");
    await expect(other).resolves.toBe("follows");
    await database.owner.query("grant select on dex_private.period_figure to dex_reader");
  });

  it("those that have left are not read", async () => {
    await Promise.all(await joinMany("gone", () => true));
    expect(got).toEqual([]);
    await followHead("other");
    expect(got).toEqual(["other"]);
  });
});

it("a thousand clients that come at once get the same events", async () => {
  await write(database.writer, { trades: [aTrade({ hour: 1 })], offers: [anOffer({ id: 1 })] });
  await limit({ all: STREAM_LIMITS.all });
  const clients = await Promise.all(
    Array.from({ length: 1000 }, (_, n) =>
      follow(n % 2 === 0 ? "head,book:WETH/DAI:5" : "head,market:*,candles:WETH/DAI:1h"),
    ),
  );
  await Promise.all(clients.map((client) => client.next()));
  await write(database.writer, { trades: [aTrade({ hour: 2 })] });
  const events = await Promise.all(clients.map((client) => client.next()));
  expect(new Set(events.map((event) => JSON.stringify(event))).size).toBe(2);
  for (const client of clients) client.close();
  await until(async () => (await service.count()) === 0);
});
