// Subscriptions: what each field tells while a writer writes, and how a client goes on after it was away.
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { Client } from "graphql-ws";
import { WebSocket } from "ws";
import { makeTestApp, ownErrors } from "../../app.ts";
import { openPool } from "../../database.ts";
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
} from "../../factories.ts";
import { ask, dataOf } from "../../graphql.ts";
import { recordStatements } from "../../statements.ts";
import { connectTo, follow, refusalOf } from "../../subscription-client.ts";
import { serveDatabase } from "../../served.ts";

let client: Client;

const { app, database } = serveDatabase();

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

const CURSOR = /^[0-9a-f]{8}\.\d+\.\d+\.-?\d+\.\d+$/;

const momentOf = (hour: number) => ({
  block: blockAt(hour),
  time: hours(hour).replace("Z", "000+00:00"),
});

/** The event of a head without a reorganisation. */
const at = (hour: number, others: object = {}) => ({
  cursor: expect.stringMatching(CURSOR) as unknown,
  head: momentOf(hour),
  retractedTo: null,
  reset: null,
  ...others,
});

const nodesOf = async (field: string, fields: string) => {
  const data = await dataOf<Record<string, { nodes: object[] }>>(
    app,
    `{ ${field} { nodes { ${fields} } } }`,
  );
  return Object.values(data)[0]!.nodes;
};

it.each([
  ["String", '"1h"', "dexCandles", "interval"],
  ["Int", "5", "dexBook", "depth"],
])("refuses null for a variable with a default: %s = %s, %s", async (type, value, field, name) => {
  const query = `subscription ($a: ${type} = ${value}) { ${field}(base: "WETH", quote: "DAI", ${name}: $a) { cursor } }`;
  expect(await refusalOf(client, query, { a: null })).toMatchObject([
    {
      message: expect.stringMatching(/^Variable "\$a" must not be null/),
      extensions: { code: "BAD_USER_INPUT" },
    },
  ]);
  expect(await follow(client, query).next()).toHaveProperty("cursor");
});

it.each([
  ["skip", "dexHead @skip(if: $x) { cursor }"],
  ["include", "dexHead @include(if: $x) { cursor }"],
  ["skip", "... @skip(if: $x) { dexHead { cursor } }"],
  ["skip", "... { ...f }"],
])("refuses @%s with a variable on the field: %s", async (name, selections) => {
  const fragment = selections.includes("...f")
    ? "fragment f on Subscription { dexHead @include(if: true) @skip(if: $x) { cursor } }"
    : "";
  const query = `subscription ($x: Boolean!) { ${selections} } ${fragment}`;
  expect(await refusalOf(client, query, { x: name === "include" })).toMatchObject([
    {
      message: expect.stringContaining(`@${name} with a variable is not accepted on the field`),
      extensions: { code: "BAD_REQUEST" },
    },
  ]);
});

it.each([
  ["a list with too many values", Array<number>(1001).fill(0)],
  [
    "objects with too many members",
    [Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`k${n}`, 0]))],
  ],
  ["lists within lists", JSON.parse(`${"[".repeat(400)}${"]".repeat(400)}`) as unknown],
])("%s is refused in variables as by POST", async (_what, x) => {
  const posted = await ask(
    app,
    "query ($x: [DexMarketsOrderBy!]) { allDexMarkets(orderBy: $x) { totalCount } }",
    { x },
  );
  const query = "subscription ($x: [String!]) { dexMarkets(pairs: $x) { cursor } }";
  expect(posted.errors).toHaveLength(1);
  expect(await refusalOf(client, query, { x })).toEqual(posted.errors);
});

describe("dexTrades", () => {
  it("sends each new trade once, with its offer as of the same head", async () => {
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
    [
      "a taker whose writer leaves its checksum out",
      { taker: anAddress("small").toLowerCase() },
      ["4"],
    ],
    ["the same taker by its checksum", { taker: anAddress("small") }, ["4"]],
  ])("sends only those of %s", async (_name, variables, ids) => {
    const chosen = follow(client, TRADES, variables);
    await chosen.next();
    const [taker, maker] = [anAddress("one"), anAddress("two")];
    await write(database.writer, {
      trades: [
        aTrade({ hour: 1, taker }),
        aTrade({ hour: 2, taker, baseGem: MKR, quoteGem: WETH }),
        aTrade({ hour: 3, maker }),
        aTrade({ hour: 4, taker: anAddress("small").toLowerCase() }),
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
});

describe("fromBlock", () => {
  const BEHIND = TRADES.replace("$after: String", "$after: String, $fromBlock: Int").replace(
    "after: $after",
    "after: $after, fromBlock: $fromBlock",
  );

  /** Trades in the hours 1, 2 and 3, and the head after them. */
  const writeHours = () =>
    write(database.writer, { trades: [1, 2, 3].map((hour) => aTrade({ hour })), head: 4 });

  it("sends the trades after the block, then those that are written, with cursors as any", async () => {
    await writeHours();
    const trades = follow(client, BEHIND, { fromBlock: blockAt(1.5) });
    expect(await trades.next()).toMatchObject({
      ...at(4, { more: false }),
      nodes: [{ block: blockAt(2) }, { block: blockAt(3) }],
    });
    await write(database.writer, { trades: [aTrade({ hour: 5 })] });
    const { cursor: after, nodes } = await trades.next();
    expect(nodes).toMatchObject([{ block: blockAt(5) }]);
    await write(database.writer, { trades: [aTrade({ hour: 6 })] });
    const returned = await follow(client, BEHIND, { after, fromBlock: null }).next();
    expect(returned.nodes).toMatchObject([{ block: blockAt(6) }]);
  });

  it("sends nothing at first behind the head, and no trade that was taken back before", async () => {
    await writeHours();
    const ofHead = await follow(client, BEHIND, { fromBlock: blockAt(4) }).next();
    expect(ofHead).toMatchObject(at(4, { nodes: [], more: false }));
    await database.writer.query("select ingest.take_back($1)", [blockAt(2)]);
    await write(database.writer, { trades: [aTrade({ hour: 3, quote: "333" })] });
    const { nodes, retractedTo } = await follow(client, BEHIND, { fromBlock: blockAt(2) }).next();
    expect([retractedTo, nodes.map(({ id }) => id)]).toEqual([null, ["4"]]);
  });

  it("sends the candles after the block", async () => {
    await writeHours();
    const candles = await follow(
      client,
      `subscription { dexCandles(base: "WETH", quote: "DAI", fromBlock: ${blockAt(2)}) { nodes { time } } }`,
    ).next();
    expect(candles.nodes.map(({ time }) => time)).toEqual([momentOf(2).time, momentOf(3).time]);
  });

  it.each([
    ["before the first block", { fromBlock: blockAt(1) - 1 }, "NO_SUCH_BLOCK"],
    ["after the head", { fromBlock: blockAt(4) + 1 }, "NO_SUCH_BLOCK"],
    ["that is none", { fromBlock: -1 }, "BAD_USER_INPUT"],
    ["beside a cursor", { fromBlock: blockAt(2), after: "00000000.0.0.1.1" }, "BAD_USER_INPUT"],
  ])("is refused %s", async (_what, variables, code) => {
    await writeHours();
    const [error] = await refusalOf(client, BEHIND, variables);
    expect([error!.message, error!.extensions]).toEqual([
      expect.stringMatching(
        /^(No such block: there are the blocks from 3600, of .* to 14400, of|"fromBlock" must be an integer from 0|"after" and "fromBlock" must be given one at a time)/,
      ),
      { code },
    ]);
  });

  it("is refused where the client would lack too many candles", async () => {
    await writeHours();
    await setHead(database.writer, 1 + 1000 / 60);
    const candles = (interval: string) =>
      `subscription { dexCandles(base: "WETH", quote: "DAI", interval: "${interval}", fromBlock: ${blockAt(1)}) { nodes { time } } }`;
    const [error] = await refusalOf(client, candles("1m"));
    expect(error!.message).toBe(
      '"fromBlock" must be a block less than 1000 intervals of 1m behind the head, not "3600"',
    );
    expect((await follow(client, candles("5m")).next()).nodes).toHaveLength(3);
  });
});

describe("an id", () => {
  it("may be used again directly after its complete", async () => {
    const socket = new WebSocket(
      `${app.url.replace("http", "ws")}/graphql`,
      "graphql-transport-ws",
    );
    const send = (message: object) => socket.send(JSON.stringify(message));
    const received: { type: string; payload?: unknown }[] = [];
    socket.on("message", (data: Buffer) => received.push(JSON.parse(String(data)) as never));
    const count = (type: string) => received.filter((each) => each.type === type).length;
    const until = async (type: string, times: number): Promise<void> => {
      while (count(type) < times) await setImmediate();
    };
    await once(socket, "open");
    send({ type: "connection_init" });
    await until("connection_ack", 1);
    const subscribe = { id: "1", type: "subscribe", payload: { query: HEAD } };
    send(subscribe);
    await until("next", 1);
    for (let n = 0; n < 5; n += 1) {
      send({ id: "1", type: "complete" });
      send(subscribe);
    }
    // Of all but the last the first event may come or not.
    send({ type: "ping" });
    await until("pong", 1);
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    while (!JSON.stringify(received.at(-1)).includes(`"block":${blockAt(1)}`)) await setImmediate();
    expect(received.filter(({ type }) => type === "complete" || type === "error")).toEqual([]);
    socket.terminate();
  });
});

describe("subscriptions of one change", () => {
  it("share its statements", async () => {
    await using pool = openPool(database.url, { role: "dex_reader", poolSize: 5 });
    const statements = recordStatements(pool);
    await using other = await makeTestApp(pool);
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

describe("dexMarkets", () => {
  it("sends all markets, then those that change", async () => {
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
});

describe("dexSummaries", () => {
  it("sends all markets, then those whose last 24 hours change", async () => {
    const fields = "pair last change trades bid dexPair { base }";
    const summaries = follow(
      client,
      `subscription { dexSummaries { ${EACH} nodes { ${fields} } removed } }`,
    );
    const first = await summaries.next();
    expect(first.nodes.map(({ pair }) => pair)).toEqual(["MKR/WETH", "WETH/DAI"]);
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    const event = await summaries.next();
    expect(event).toMatchObject(at(1, { removed: [], nodes: [{ pair: "WETH/DAI", trades: 1 }] }));
    const right = await nodesOf('allDexSummaries(condition: { pair: "WETH/DAI" })', fields);
    expect(event.nodes).toEqual(right);
    await setHead(database.writer, 30);
    expect((await summaries.next()).nodes).toMatchObject([{ pair: "WETH/DAI", trades: 0 }]);
  });
});
