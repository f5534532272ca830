// Subscriptions of one operation whose clients have the same: executed once for all of them, as if each were alone.
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { Client } from "graphql-ws";
import { WebSocket } from "ws";
import { Subscription } from "../../../graphql/subscriptions/subscription.ts";
import { SharedOperation } from "../../../graphql/subscriptions/shared-operations.ts";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { ownErrors } from "../../app.ts";
import { anOffer, aTrade, blockAt, MKR, registerMarkets, WETH, write } from "../../factories.ts";
import { useApp, useDatabase } from "../../served.ts";
import { connectTo, follow, refusalOf, type Followed } from "../../subscription-client.ts";

const database = useDatabase();
let client: Client;
const sockets: WebSocket[] = [];

const app = useApp(database, {
  limits: { ...GRAPHQL_LIMITS, rows: 2 },
  // A test halts the database.
  streams: { ...STREAM_LIMITS, lostMs: 600_000 },
});

beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
  client = connectTo(app.url);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await client.dispose();
  for (const socket of sockets.splice(0)) socket.terminate();
  // A snapshot that is still read would deadlock with the next test's truncation.
  while (database.reader.idleCount < database.reader.totalCount) await setImmediate();
  expect(ownErrors(app.logged.splice(0))).toEqual([]);
});

const TRADES = `
  subscription ($market: String, $after: String) {
    dexTrades(market: $market, after: $after) { cursor retractedTo { block } nodes { id tx } }
  }
`;

/** Followers that have got their first event. */
async function begun(all: Followed[]): Promise<Followed[]> {
  for (const each of all) await each.next();
  return all;
}

const followers = (count: number, query: string, variables?: Record<string, unknown>) =>
  begun(Array.from({ length: count }, () => follow(client, query, variables)));

/** Counts the events that are executed from now on. */
const countExecutions = () => jest.spyOn(Subscription.prototype, "ask");

const ids = ({ nodes }: { nodes: Record<string, unknown>[] }) => nodes.map(({ id }) => id);

/** The texts that a client without a library gets. */
async function textsOf(id: string, variables: object, query: string) {
  const socket = new WebSocket(`${app.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  sockets.push(socket);
  const texts: string[] = [];
  socket.on("message", (data: Buffer) => texts.push(String(data)));
  await once(socket, "open");
  socket.send(JSON.stringify({ type: "connection_init" }));
  const next = async (): Promise<string> => {
    while (texts.length === 0) await setImmediate();
    return texts.shift() ?? "";
  };
  expect(await next()).toBe('{"type":"connection_ack"}');
  socket.send(JSON.stringify({ id, type: "subscribe", payload: { query, variables } }));
  return next;
}

describe("one execution", () => {
  it("serves all clients of a document, also those that came back with a cursor", async () => {
    const [first] = await followers(1, TRADES);
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { cursor: after } = await first!.next();
    const others = await followers(5, TRADES, {});
    const returned = await followers(5, TRADES, { after });
    const all = [first!, ...others, ...returned];
    const executions = countExecutions();
    for (const hour of [2, 3]) {
      await write(database.writer, { trades: [aTrade({ hour })] });
      const events = await Promise.all(all.map((each) => each.next()));
      expect(new Set(events.map((event) => JSON.stringify(event))).size).toBe(1);
      expect(ids(events[0]!)).toEqual([String(hour)]);
    }
    // And one that waits for the next change.
    expect(executions.mock.calls.length).toBeLessThanOrEqual(3);
  });

  it("goes on where clients leave, and others come in their place", async () => {
    const [first, second] = await followers(2, TRADES);
    await first!.end();
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    expect(ids(await second!.next())).toEqual(["1"]);
    await second!.end();
    const [third] = await followers(1, TRADES);
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    expect(ids(await third!.next())).toEqual(["2"]);
  });

  it("serves clients together again that were at different heads", async () => {
    const [first] = await followers(1, TRADES);
    const { cursor: after } = await follow(client, TRADES).next();
    for (const hour of [1, 2, 3]) {
      await write(database.writer, { trades: [aTrade({ hour })] });
      await first!.next();
    }
    // It catches up while the next one is written.
    const returned = follow(client, TRADES, { after });
    await write(database.writer, { trades: [aTrade({ hour: 4 })] });
    expect(ids(await first!.next())).toEqual(["4"]);
    const missed = await returned.until((event) => ids(event).at(-1) === "4");
    expect(missed.flatMap(ids)).toEqual(["1", "2", "3", "4"]);
    await write(database.writer, { trades: [aTrade({ hour: 5 })] });
    expect(await first!.next()).toEqual(await returned.next());
    const executions = countExecutions();
    await write(database.writer, { trades: [aTrade({ hour: 6 })] });
    expect(await first!.next()).toEqual(await returned.next());
    expect(executions.mock.calls.length).toBeLessThanOrEqual(1);
  });

  it.each([
    ["begin", false],
    ["come back with one cursor", true],
  ])("serves clients that %s while the database is read for others", async (_name, isBack) => {
    const [first] = await followers(1, TRADES);
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const { cursor } = await first!.next();
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    await first!.next();
    const starts = jest.spyOn(SharedOperation.prototype, "start");
    const executions = countExecutions();
    const halting = await database.owner.connect();
    await halting.query("begin; lock table dex_private.write_state");
    const variables = isBack ? { after: cursor } : {};
    const started = Array.from({ length: 10 }, () => follow(client, TRADES, variables).next());
    while (starts.mock.calls.length < 10) await setImmediate();
    await halting.query("commit");
    halting.release();
    const events = await Promise.all(started);
    expect(new Set(events.map((event) => JSON.stringify(event))).size).toBe(1);
    expect(ids(events[0]!)).toEqual(isBack ? ["2"] : []);
    // One for all, and one that waits for the next change.
    expect(executions.mock.calls.length).toBeLessThanOrEqual(2);
  });

  it("has a client begin at the head though the first client came back with a cursor", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const before = follow(client, TRADES);
    const { cursor: after } = await before.next();
    await before.end();
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    const [first] = await followers(1, TRADES, { after });
    const starts = jest.spyOn(SharedOperation.prototype, "start");
    const second = follow(client, TRADES);
    expect(ids(await second.next())).toEqual([]);
    expect(starts).toHaveBeenCalledTimes(1);
    await write(database.writer, { trades: [aTrade({ hour: 3 })] });
    for (const each of [first!, second]) expect(ids(await each.next())).toEqual(["3"]);
  });

  it.each([
    ["a variable", "($fromBlock: Int)", "$fromBlock"],
    ["the document", "", String(blockAt(1))],
  ])(
    "serves clients together that began behind a block by %s, when they have caught up",
    async (_name, declared, fromBlock) => {
      const query = `subscription ${declared} { dexTrades(fromBlock: ${fromBlock}) { nodes { id } } }`;
      await write(database.writer, { trades: [1, 2, 3].map((hour) => aTrade({ hour })) });
      const isByVariable = declared !== "";
      const behind = (hour: number) =>
        follow(client, query, isByVariable ? { fromBlock: blockAt(hour) } : {});
      const all = [behind(1), behind(1), behind(2)];
      const first = await Promise.all(all.map((each) => each.next()));
      expect(first.map(ids)).toEqual([["2", "3"], ["2", "3"], isByVariable ? ["3"] : ["2", "3"]]);
      if (isByVariable) all.push(...(await followers(2, query)));
      await write(database.writer, { trades: [aTrade({ hour: 4 })] });
      for (const each of all) expect(ids(await each.next())).toEqual(["4"]);
      const executions = countExecutions();
      await write(database.writer, { trades: [aTrade({ hour: 5 })] });
      for (const each of all) expect(ids(await each.next())).toEqual(["5"]);
      // And one that waits for the next change.
      expect(executions.mock.calls.length).toBeLessThanOrEqual(2);
    },
  );

  it("does not take an empty cursor for none", async () => {
    await followers(1, TRADES);
    const [error] = await refusalOf(client, TRADES, { after: "" });
    expect(error!.message).toBe('"after" must be the cursor of an event, not ""');
  });

  it("of other variables is another one", async () => {
    const [all] = await followers(1, TRADES);
    const [some] = await followers(1, TRADES, { market: "MKR/WETH" });
    await write(database.writer, {
      trades: [aTrade({ hour: 1 }), aTrade({ hour: 2, baseGem: MKR, quoteGem: WETH })],
    });
    // Each block is written by itself, so that they can come in one event or in two.
    const got = ids(await all!.next());
    if (got.length === 1) got.push(...ids(await all!.next()));
    expect(got).toEqual(["1", "2"]);
    expect(ids(await some!.next())).toEqual(["2"]);
  });
});

describe("a message that clients share", () => {
  it.each([
    ["126 bytes", "subscription ($after: String) { dexTrades(after: $after) { nodes { id } } }", 1],
    ["64 kB", TRADES, 20],
    ["more", TRADES, 1000],
  ])("of less than %s has the bytes that a client alone gets", async (_name, query, count) => {
    const { cursor: after } = await follow(client, TRADES).next();
    const all = await Promise.all(["1", 'ä"\n'].map((id) => textsOf(id, {}, query)));
    for (const next of all) await next();
    await write(database.writer, {
      trades: Array.from({ length: count }, (_, idx) => aTrade({ hour: 1, idx })),
    });
    for (const [n, id] of ["1", 'ä"\n'].entries()) {
      // The first client of a text is alone.
      const alone = await textsOf(id, { after }, query + " ".repeat(n + 1));
      expect(await all[n]!()).toBe(await alone());
    }
  });
});

describe("a reorganisation", () => {
  it("is sent to those that share an execution, and to those that are catching up", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const [one, other] = await followers(2, TRADES);
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    const { cursor: after } = await one!.next();
    await other!.next();
    await database.writer.query("select ingest.take_back($1)", [blockAt(1)]);
    const returned = follow(client, TRADES, { after });
    const events = [await one!.next(), await other!.next(), await returned.next()];
    expect(events).toMatchObject(
      events.map(() => ({ retractedTo: { block: blockAt(1) }, nodes: [] })),
    );
    await write(database.writer, { trades: [aTrade({ hour: 3 })] });
    const next = [await one!.next(), await other!.next(), await returned.next()];
    expect(next[0]).toMatchObject({ retractedTo: null, nodes: [{ id: "3" }] });
    expect(next).toEqual(next.map(() => next[0]));
  });
});

describe("an error of one execution", () => {
  it("ends the subscriptions that share it, and no others", async () => {
    await write(database.writer, { offers: [anOffer({ id: 1 })] });
    const errorsOf = (count: number) =>
      Array.from({ length: count }, () => ({ extensions: { code: "LIST_TOO_LONG" } }));
    const failing = "subscription { dexTrades { nodes { offer { trades { nodes { id } } } } } }";
    const [other] = await followers(1, TRADES);
    const sharing = [client.iterate({ query: failing }), client.iterate({ query: failing })];
    for (const each of sharing) await each.next();
    await write(database.writer, {
      trades: [1, 2, 3].map((idx) => aTrade({ hour: 1, idx, base: "0.1", quote: "10" })),
    });
    for (const each of sharing) {
      const { value } = (await each.next()) as IteratorResult<unknown>;
      expect(value).toMatchObject({ errors: errorsOf(3) });
      expect(await each.next()).toMatchObject({ done: true });
    }
    expect(ids(await other!.next())).toHaveLength(3);
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    expect(ids(await other!.next())).toHaveLength(1);
  });
});
