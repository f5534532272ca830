// Followers of one text that give different places, some of them wrong, or have keys: what one of them gives or may have never reaches the others.
import { setImmediate } from "node:timers/promises";
import type { Client } from "graphql-ws";
import { WebSocket } from "ws";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";
import { Subscription } from "../../../graphql/subscriptions/subscription.ts";
import { ApiKeys } from "../../../http/keys/api-keys.ts";
import { parseKeys } from "../../../http/keys/key-file.ts";
import { ownErrors } from "../../app.ts";
import { anOffer, aTrade, blockAt, registerMarkets, write } from "../../factories.ts";
import { useApp, useDatabase } from "../../served.ts";
import { connectTo, follow, refusalOf, type Followed } from "../../subscription-client.ts";

const KEY = "acme-has-this-very-key-1";
/** The address of the one that gives what is wrong. */
const OTHER = "127.0.0.2";

const TRADES = `
  subscription ($after: String, $fromBlock: Int) {
    dexTrades(after: $after, fromBlock: $fromBlock) { cursor reset nodes { id } }
  }
`;
const CURSOR = "5c0f7a1e.0.0.20511.20000";

const database = useDatabase();
const clients: Client[] = [];

const app = useApp(database, {
  limits: { ...GRAPHQL_LIMITS, planningMs: 60_000, page: 10, cost: 400 },
  keys: new ApiKeys(parseKeys(`acme ${KEY} cost=100000`)),
});

/** TRADES for one test alone. */
let text = "";
let tests = 0;

beforeEach(async () => {
  text = `${TRADES} # ${(tests += 1)}`;
  await database.empty();
  await registerMarkets(database.writer);
});

afterEach(async () => {
  jest.restoreAllMocks();
  for (const client of clients.splice(0)) await client.dispose();
  // A snapshot that is still read would deadlock with the next test's truncation.
  while (database.reader.idleCount < database.reader.totalCount) await setImmediate();
  expect(ownErrors(app.logged.splice(0))).toEqual([]);
});

/** From another address, or with a key. */
function connect(options: { localAddress?: string; headers?: Record<string, string> } = {}) {
  class Connecting extends WebSocket {
    constructor(url: string, protocol: string) {
      super(url, protocol, options);
    }
  }
  const client = connectTo(app.url, { webSocketImpl: Connecting });
  clients.push(client);
  return client;
}

const withKey = () => connect({ headers: { authorization: `Bearer ${KEY}` } });

const followers = (count: number, query: string, variables?: Record<string, unknown>) =>
  Array.from({ length: count }, () => follow(connect(), query, variables));

/** Writes a trade, which each follower gets by itself. */
async function expectNext(all: Followed[], hour: number): Promise<void> {
  await write(database.writer, { trades: [aTrade({ hour })] });
  for (const event of await Promise.all(all.map((each) => each.next()))) {
    expect(event).toMatchObject({ reset: null, nodes: [{ id: String(hour) }] });
  }
}

const begun = (all: Followed[]) => Promise.all(all.map((each) => each.next()));

/** Has the operations of the other address wait for their turn until the release. */
function holdOther(): { come: string[]; release: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  // eslint-disable-next-line @typescript-eslint/unbound-method
  const { inTurn } = OperationsInFlight.prototype;
  const come: string[] = [];
  jest.spyOn(OperationsInFlight.prototype, "inTurn").mockImplementation(async function (
    this: OperationsInFlight,
    client: string,
    operation,
  ) {
    come.push(client);
    if (client === OTHER) await promise;
    return inTurn.call(this, client, operation);
  });
  return { come, release: () => resolve(undefined) };
}

describe.each([
  ["no cursor", { after: "zz" }, '"after" must be the cursor of an event, not "zz"'],
  ["an empty cursor", { after: "" }, '"after" must be the cursor of an event, not ""'],
  ["no text for a cursor", { after: 5 }, 'Variable "$after" got invalid value 5'],
  [
    "a cursor and a block",
    { after: CURSOR, fromBlock: 1 },
    '"after" and "fromBlock" must be given one at a time',
  ],
  ["a block below 0", { fromBlock: -1 }, '"fromBlock" must be an integer from 0 to 2147483647'],
  ["a block that is none", { fromBlock: "1" }, 'Variable "$fromBlock" got invalid value "1"'],
])(
  "a follower that gives %s is refused, and others of its text get their events",
  (_, given, message) => {
    const refused = async (client: Client): Promise<void> => {
      const [error] = await refusalOf(client, text, given);
      expect(error!.message).toContain(message);
    };

    it("that came while it waited for its turn", async () => {
      const { come, release } = holdOther();
      const bad = refused(connect({ localAddress: OTHER }));
      while (come.length === 0) await setImmediate();
      const all = followers(5, text, {});
      await begun(all);
      await expectNext(all, 1);
      all.push(...followers(5, text));
      await begun(all.slice(5));
      await expectNext(all, 2);
      release();
      await bad;
      all.push(...followers(5, text));
      await begun(all.slice(10));
      await expectNext(all, 3);
    });

    it("that came at the same time", async () => {
      const { come, release } = holdOther();
      const bad = refused(connect({ localAddress: OTHER }));
      while (come.length === 0) await setImmediate();
      const all = followers(6, text, {});
      while (come.length === 1) await setImmediate();
      release();
      await bad;
      await begun(all);
      await expectNext(all, 1);
      await expectNext(all, 2);
    });

    it("that were there, and that came or came back later", async () => {
      const all = followers(3, text);
      const [{ cursor: after } = { cursor: "" }] = await begun(all);
      await expectNext(all, 1);
      await refused(connect());
      const later = followers(3, text);
      const returned = followers(3, text, { after });
      for (const { nodes } of await begun(later)) expect(nodes).toEqual([]);
      for (const { nodes } of await begun(returned)) expect(nodes).toEqual([{ id: "1" }]);
      await expectNext([...all, ...later, ...returned], 2);
    });
  },
);

describe("followers share an execution, each from its place,", () => {
  it.each([
    ["a cursor", "($place: String!)", "after"],
    ["a block", "($place: Int!)", "fromBlock"],
  ])("where each must give %s", async (_name, declared, argument) => {
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const [before] = followers(1, text);
    const { cursor } = await before!.next();
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    const query = `subscription ${declared} { dexTrades(${argument}: $place) { cursor reset nodes { id } } }`;
    const all = followers(3, query, { place: argument === "after" ? cursor : blockAt(1) });
    for (const { nodes } of await begun(all)) expect(nodes).toEqual([{ id: "2" }]);
    await expectNext(all, 3);
    const executions = jest.spyOn(Subscription.prototype, "ask");
    await expectNext(all, 4);
    // And one that waits for the next change.
    expect(executions.mock.calls.length).toBeLessThanOrEqual(2);
    const [error] = await refusalOf(connect(), query, {});
    expect(error!.message).toMatch(/^Variable "\$place" of required type "\w+!" was not provided/);
  });

  it("where the document has a default that is no cursor", async () => {
    const query = text.replace("$after: String", '$after: String = "zz"');
    const [error] = await refusalOf(connect(), query, {});
    expect(error!.message).toBe('"after" must be the cursor of an event, not "zz"');
    const all = followers(3, query, { after: null });
    await begun(all);
    await expectNext(all, 1);
    await expectNext(all, 2);
  });
});

describe("the cost that a key allows", () => {
  const ofTrades = (rows: string) =>
    `subscription { dexTrades { cursor reset nodes { id ${rows} } } }`;

  it("is that of its holder's later events, too", async () => {
    const query = ofTrades("offer { trades { nodes { id offer { trades { nodes { id } } } } } }");
    const [error] = await refusalOf(connect(), query);
    expect(error!.extensions).toMatchObject({ code: "TOO_EXPENSIVE" });
    const all = [follow(withKey(), query), follow(withKey(), query)];
    await begun(all);
    await expectNext(all, 1);
    await expectNext(all, 2);
  });

  it.each([
    ["came first", true],
    ["came last", false],
  ])("is not that of others, if its holder %s", async (_name, isFirst) => {
    const query = ofTrades("offer { trades { nodes { id } } }");
    const trades = Array.from({ length: 9 }, (_, n) =>
      aTrade({ hour: 1, idx: n + 1, base: "0.1", quote: "10" }),
    );
    await write(database.writer, { offers: [anOffer({ id: 1 })] });
    const connections = isFirst ? [withKey(), connect()] : [connect(), withKey()];
    const all: AsyncIterator<unknown>[] = [];
    for (const client of connections) {
      const events = client.iterate({ query });
      all.push(events);
      await events.next();
    }
    await write(database.writer, { trades });
    const [ofFirst, ofLast] = await Promise.all(all.map((each) => each.next()));
    const [ofKey, ofNone] = isFirst ? [ofFirst, ofLast] : [ofLast, ofFirst];
    expect(ofKey!.value).not.toHaveProperty("errors");
    expect(ofNone!.value).toHaveProperty(
      "errors",
      expect.arrayContaining([expect.objectContaining({ extensions: { code: "LIST_TOO_LONG" } })]),
    );
  });
});
