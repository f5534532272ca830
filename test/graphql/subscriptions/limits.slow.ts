// What bounds subscriptions: documents, arguments, connections, slow clients; and what is left when they are gone.
import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { promisify } from "node:util";
import { setImmediate } from "node:timers/promises";
import type { Client } from "graphql-ws";
import { WebSocket } from "ws";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import { makeTestApp, ownErrors, type TestApp, type TestOptions } from "../../app.ts";
import { openClient } from "../../database.ts";
import { anOffer, aTrade, blockAt, registerMarkets, write } from "../../factories.ts";
import { ask } from "../../graphql.ts";
import { useApp, useDatabase } from "../../served.ts";
import { connectTo, follow, refusalOf } from "../../subscription-client.ts";

const UPGRADE = [
  ...["GET /graphql HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket"],
  ...["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"],
  ...["Sec-WebSocket-Protocol: graphql-transport-ws", "", ""],
].join("\r\n");

const database = useDatabase();
const clients: Client[] = [];
const sockets: WebSocket[] = [];
const apps: TestApp[] = [];

const shared = useApp(database, { metrics: { isPublic: true } });

beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.dispose();
  for (const socket of sockets.splice(0)) socket.terminate();
  for (const app of apps.splice(0)) await app.close();
});

async function serve(options: TestOptions = {}): Promise<TestApp> {
  const app = await makeTestApp(database.reader, {
    metrics: { isPublic: true },
    ...options,
  });
  apps.push(app);
  return app;
}

function connect(app: TestApp, options: Parameters<typeof connectTo>[1] = {}): Client {
  const client = connectTo(app.url, options);
  clients.push(client);
  return client;
}

/** A connection without a client's library; its frames may be read or not. */
async function connectRaw(app: TestApp): Promise<WebSocket> {
  const socket = new WebSocket(`${app.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  sockets.push(socket);
  await once(socket, "open");
  return socket;
}

async function connectAcknowledged(app: TestApp): Promise<WebSocket> {
  const socket = await connectRaw(app);
  send(socket, { type: "connection_init" });
  expect(await nextMessage(socket)).toEqual({ type: "connection_ack" });
  return socket;
}

async function nextMessage(socket: WebSocket): Promise<unknown> {
  const [data] = (await once(socket, "message")) as [Buffer];
  return JSON.parse(data.toString());
}

const closingOf = async (socket: WebSocket): Promise<[code: number, reason: string]> => {
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  return [code, reason.toString()];
};

const send = (socket: WebSocket, message: object): void => socket.send(JSON.stringify(message));

async function metric(app: TestApp, name: string): Promise<number> {
  const { text } = await app.request.get("/metrics").expect(200);
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`no metric ${name}`);
  return Number(line.split(" ").at(-1));
}

const isGone = async (app: TestApp): Promise<boolean> =>
  (await metric(app, "dex_graphql_subscriptions")) === 0 &&
  (await metric(app, "dex_websockets")) === 0;

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await setImmediate();
}

const HEAD = "subscription { dexHead { cursor head { block } } }";
const TRADES =
  "subscription ($after: String) { dexTrades(after: $after) { cursor nodes { id tx } } }";

const withStreams = (limits: Partial<typeof STREAM_LIMITS>): TestOptions => ({
  streams: { ...STREAM_LIMITS, ...limits },
});

describe("an operation", () => {
  it.each([
    ["{ dexHead { block } }", "Only subscriptions are served by WebSocket: send queries by POST"],
    ["{ __typename }", "Only subscriptions are served by WebSocket: send queries by POST"],
    [
      "mutation { write }",
      'There is no mutation here: the service only reads, and accepts operations of the kinds "query" and "subscription".',
    ],
    [
      "subscription { dexHead @skip(if: true) { cursor } }",
      "The subscription selects no field: @skip and @include leave none",
    ],
    [
      "subscription { ...none @include(if: false) } fragment none on Subscription { dexHead { cursor } }",
      "The subscription selects no field: @skip and @include leave none",
    ],
  ])("%s is refused by WebSocket", async (query, message) => {
    expect(await refusalOf(connect(shared), query)).toMatchObject([
      { message, extensions: { code: "BAD_REQUEST" } },
    ]);
    expect(ownErrors(shared.logged)).toEqual([]);
  });

  it("that the document does not have is refused by WebSocket", async () => {
    const socket = await connectAcknowledged(shared);
    send(socket, { id: "1", type: "subscribe", payload: { query: HEAD, operationName: "other" } });
    expect(await nextMessage(socket)).toMatchObject({
      type: "error",
      payload: [
        {
          message: 'The document has no operation "other"',
          extensions: { code: "BAD_REQUEST" },
        },
      ],
    });
    const query = `${HEAD.replace("subscription", "subscription a")} ${HEAD.replace("subscription", "subscription b")}`;
    send(socket, { id: "2", type: "subscribe", payload: { query } });
    expect(await nextMessage(socket)).toMatchObject({
      type: "error",
      payload: [
        {
          message: "operationName must name one of the document's operations",
          extensions: { code: "BAD_REQUEST" },
        },
      ],
    });
  });

  it("that is a subscription is refused by POST", async () => {
    const { data, errors } = await ask(shared, HEAD);
    expect(data).toBeUndefined();
    expect(errors).toMatchObject([
      { message: expect.stringMatching(/by WebSocket/), extensions: { code: "BAD_REQUEST" } },
    ]);
  });

  it.each([
    ["TOO_EXPENSIVE", "nodes { offer { trades(first: 100) { nodes { id } } } }"],
    ["PAGE_TOO_LARGE", "nodes { offer { trades(first: 2000) { nodes { id } } } }"],
    ["TOO_MANY_FIELDS", Array.from({ length: 600 }, (_, n) => `a${n}: cursor`).join(" ")],
  ])("is refused by %s as a query is", async (code, fields) => {
    const refusal = await refusalOf(connect(shared), `subscription { dexTrades { ${fields} } }`);
    expect(refusal).toMatchObject([{ extensions: { code } }]);
    expect(await metric(shared, "dex_graphql_subscriptions")).toBe(0);
  });

  it("is refused where a variable has a NUL as a query is", async () => {
    const query = "subscription ($t: String) { dexTrades(taker: $t) { cursor } }";
    const asked = { query, variables: { t: "a\0" } };
    const { body } = await shared.request.post("/graphql").send(asked);
    expect(await refusalOf(connect(shared), query, asked.variables)).toEqual(body.errors);
  });

  it("costs as many rows as an event may have, up to a tenth of the limit", async () => {
    const app = await serve({ limits: { ...GRAPHQL_LIMITS, cost: 20_000 } });
    const [refused] = await refusalOf(
      connect(app),
      "subscription { dexTrades { nodes { id offer { id } } } }",
    );
    expect(refused!.message).toMatch(/costs 2001, .* at most 2000 is accepted/);
    await follow(connect(app), "subscription { dexTrades { nodes { id } } }").next();
  });

  it.each([
    [
      'dexTrades(market: "A/B") { cursor }',
      /"market" must be BASE\/QUOTE of a registered pair, not "A\/B"/,
    ],
    ['dexTrades(taker: "me") { cursor }', /"taker" must be an address/],
    ['dexTrades(maker: "0x1") { cursor }', /"maker" must be an address/],
    ['dexTrades(after: "1") { cursor }', /"after" must be the cursor of an event, not "1"/],
    ['dexMarkets(pairs: ["WETH/DAI", "X"]) { cursor }', /"pairs" must be BASE\/QUOTE/],
    ['dexCandles(base: "A", quote: "B") { cursor }', /"base\/quote" must be .*, not "A\/B"/],
    [
      'dexCandles(base: "WETH", quote: "DAI", interval: "2m") { cursor }',
      /"interval" must be 1m, /,
    ],
    ['dexBook(base: "WETH", quote: "DAI", depth: 0) { cursor }', /depth must be an integer from 1/],
    ["nothing { cursor }", /Cannot query field "nothing"/],
    ["dexHead { cursor } other: dexHead { cursor }", /one top level field/],
  ])("of wrong arguments is refused: %s", async (field, message) => {
    const [error] = await refusalOf(connect(shared), `subscription { ${field} }`);
    expect(error!.message).toMatch(message);
    if (!/nothing|other/.test(field)) expect(error!.extensions).toEqual({ code: "BAD_USER_INPUT" });
    await until(async () => (await metric(shared, "dex_graphql_subscriptions")) === 0);
    expect(ownErrors(shared.logged)).toEqual([]);
  });

  it("ends with an event that has errors, because it may lack something", async () => {
    const app = await serve({ limits: { ...GRAPHQL_LIMITS, rows: 1 } });
    await write(database.writer, { offers: [anOffer({ id: 1 })] });
    const payloads = connect(app).iterate({
      query: "subscription { dexTrades { cursor nodes { offer { trades { nodes { id } } } } } }",
    });
    await payloads.next();
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    await payloads.next();
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    const { value } = (await payloads.next()) as IteratorResult<unknown>;
    expect(value).toMatchObject({ errors: [{ extensions: { code: "LIST_TOO_LONG" } }] });
    expect(await payloads.next()).toMatchObject({ done: true });
    expect(await metric(app, 'dex_graphql_subscriptions_total{outcome="error"}')).toBe(1);
  });
});

describe("subscriptions", () => {
  it("are bounded for each client and in all, together with the streams of REST", async () => {
    const app = await serve({ ...withStreams({ all: 3, perClient: 2 }), trustedProxies: 1 });
    const of = (address: string): Client =>
      connect(app, {
        webSocketImpl: class extends WebSocket {
          constructor(url: string, protocol: string) {
            super(url, protocol, { headers: { "x-forwarded-for": address } });
          }
        },
      });
    const first = of("10.0.0.1");
    const open = [follow(first, HEAD), follow(first, HEAD)];
    for (const each of open) await each.next();
    expect(await refusalOf(first, HEAD)).toMatchObject([
      { extensions: { code: "TOO_MANY_AT_ONCE", retryAfter: 5 } },
    ]);
    await app.request.get("/v2/stream?topics=head").set("x-forwarded-for", "10.0.0.1").expect(429);
    await follow(of("10.0.0.2"), HEAD).next();
    expect(await refusalOf(of("10.0.0.3"), HEAD)).toMatchObject([
      { extensions: { code: "UNAVAILABLE" } },
    ]);
    await open[0]!.end();
    await until(async () => (await metric(app, "dex_graphql_subscriptions")) === 2);
    await follow(of("10.0.0.3"), HEAD).next();
  });

  it("are bounded for each connection", async () => {
    const app = await serve();
    const client = connect(app);
    const open = Array.from({ length: 32 }, () => follow(client, HEAD));
    for (const each of open) await each.next();
    expect(await refusalOf(client, HEAD)).toMatchObject([
      {
        message:
          "At most 32 subscriptions of a connection are open at once: open another connection",
        extensions: { code: "TOO_MANY_AT_ONCE" },
      },
    ]);
  });

  it("are counted as refused by any limit, and where they do not fit the schema", async () => {
    const app = await serve();
    const client = connect(app);
    const open = Array.from({ length: 32 }, () => follow(client, HEAD));
    for (const each of open) await each.next();
    await refusalOf(client, HEAD);
    await open[0]!.end();
    for (const query of ["subscription { unknown }", "{ dexHead { block } }"]) {
      await refusalOf(client, query);
    }
    expect([
      await metric(app, 'dex_graphql_subscriptions_total{outcome="refused"}'),
      await metric(app, 'dex_graphql_subscriptions_total{outcome="ok"}'),
      await metric(app, "dex_graphql_subscriptions"),
    ]).toEqual([3, 1, 31]);
  });

  it("that are sent at once are served up to that bound", async () => {
    const app = await serve();
    const client = connect(app);
    const sent = Array.from({ length: 33 }, () => follow(client, HEAD).next());
    const settled = await Promise.allSettled(sent);
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(32);
  });

  it("outlive the time limit of queries, and a lost connection to the database", async () => {
    const app = await serve({ limits: { ...GRAPHQL_LIMITS, executionMs: 1 } });
    const trades = follow(connect(app), TRADES);
    await trades.next();
    await write(database.writer, { trades: [aTrade({ hour: 1 })] });
    expect(await trades.next()).toMatchObject({ nodes: [{ id: "1" }] });
    await using admin = await openClient(database.url);
    const { rowCount } = await admin.query(
      "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    expect(rowCount).toBeGreaterThan(0);
    await write(database.writer, { trades: [aTrade({ hour: 2 })] });
    expect(await trades.next()).toMatchObject({ nodes: [{ id: "2" }] });
  });
});

describe("a connection", () => {
  const ofOneBeat = withStreams({ heartbeatMs: 200 });

  it("is refused beyond those of a client, and beyond the rate limit", async () => {
    const app = await serve({ ...withStreams({ perClient: 1 }), rateLimit: 1000 });
    await connectRaw(app);
    const second = connectRaw(app);
    await expect(second).rejects.toThrow("429");
    await until(() => Promise.resolve(app.over.length > 0));
    expect(app.over).toMatchObject([{ status: 429, errors: ["TOO_MANY_AT_ONCE"] }]);
    const limited = await serve({ rateLimit: 1 });
    const socket = await connectRaw(limited);
    send(socket, { type: "ping" });
    expect(await closingOf(socket)).toEqual([1013, expect.stringMatching(/At most 1 requests/)]);
  });

  it("that is refused leaves no socket behind, also where its client goes on sending, or never ends it", async () => {
    const app = await serve(withStreams({ perClient: 1 }));
    await connectRaw(app);
    const refused = await Promise.all(
      [true, false].map(async (ends) => {
        const socket = connectTcp({ port: Number(new URL(app.url).port), allowHalfOpen: true });
        socket.on("error", () => undefined).write(UPGRADE);
        await once(socket, "data");
        socket.write("x".repeat(1000));
        if (ends) socket.end();
        return socket;
      }),
    );
    const getConnections = promisify(app.server.getConnections.bind(app.server));
    await until(async () => (await getConnections()) === 1);
    for (const socket of refused) socket.destroy();
  });

  it("is not opened behind a request that waits for its answer, which would come among the frames", async () => {
    const { port } = new URL(shared.url);
    const socket = connectTcp({ port: Number(port) });
    socket.on("error", () => undefined);
    socket.write("GET /v1/markets/ HTTP/1.1\r\nHost: x\r\nX-Min-Block: 99999999\r\n\r\n" + UPGRADE);
    const read: string[] = [];
    socket.on("data", (bytes: Buffer) => read.push(String(bytes)));
    await once(socket, "close");
    expect(read.join("")).not.toContain("101 Switching Protocols");
  });

  it("is closed without connection_init, and without a subscription", async () => {
    const app = await serve(ofOneBeat);
    expect(await closingOf(await connectRaw(app))).toEqual([
      4408,
      "Connection initialisation timeout",
    ]);
    let closing: [code: number, reason: string];
    // A slow machine may be late with the initialisation once more.
    do {
      const socket = await connectRaw(app);
      send(socket, { type: "connection_init" });
      closing = await closingOf(socket);
    } while (closing[0] === 4408);
    expect(closing).toEqual([1000, "no subscription"]);
  });

  it("is closed by a message that is too long or is none", async () => {
    const app = await serve({ limits: { ...GRAPHQL_LIMITS, bodyBytes: 1000 } });
    const socket = await connectRaw(app);
    socket.send("x".repeat(1001));
    expect(await closingOf(socket)).toEqual([1009, ""]);
    // The last is a message within a string.
    for (const text of ["no JSON", JSON.stringify(JSON.stringify({ type: "ping" }))]) {
      const other = await connectRaw(app);
      other.send(text);
      expect(await closingOf(other)).toEqual([4400, "Invalid message received"]);
    }
    expect(ownErrors(app.logged)).toEqual([]);
  });

  it.each([
    { type: "connection_ack" },
    { type: "next", id: "1", payload: {} },
    { type: "error", id: "1", payload: [{ message: "no" }] },
  ])("is closed by the message $type, which only the service sends", async (message) => {
    const socket = await connectAcknowledged(shared);
    send(socket, message);
    expect(await closingOf(socket)).toEqual([4400, "Invalid message received"]);
    expect(ownErrors(shared.logged)).toEqual([]);
  });

  it("is closed by a ping whose payload nests too deep to be sent back", async () => {
    const socket = await connectAcknowledged(shared);
    socket.send(`{"type":"ping","payload":{"a":${"[".repeat(40_000)}${"]".repeat(40_000)}}}`);
    expect(await closingOf(socket)).toEqual([4400, "Invalid message received"]);
    expect(ownErrors(shared.logged)).toEqual([]);
  });

  it("is closed where its client reads nothing, which then goes on at its cursor", async () => {
    // Within a heartbeat a client has to have initialised its connection, subscribed, and answered a ping.
    const app = await serve(withStreams({ heartbeatMs: 3000, bufferBytes: 10_000 }));
    const { cursor: after } = await follow(connect(shared), TRADES).next();
    const socket = await connectRaw(app);
    send(socket, { type: "connection_init" });
    await once(socket, "message");
    const payload = { query: TRADES, variables: { after } };
    for (let id = 0; id < 20; id += 1) send(socket, { id: String(id), type: "subscribe", payload });
    await until(async () => (await metric(app, "dex_graphql_subscriptions")) >= 20);
    socket.pause();
    for (let n = 1; n <= 3; n += 1) {
      const trades = Array.from({ length: 900 }, (_, idx) => aTrade({ hour: n, idx }));
      await write(database.writer, { trades });
    }
    const closed = async (reason: string) =>
      metric(app, `dex_websockets_closed_total{reason="${reason}"}`);
    await until(async () => (await closed("slow")) + (await closed("silent")) > 0);
    // Elsewhere: its bounds would close a client here that reads, but slowly.
    const missed = follow(connect(shared), TRADES, { after });
    const events = await missed.until(({ nodes }) => nodes.at(-1)?.["id"] === "2700");
    expect(events.flatMap(({ nodes }) => nodes)).toHaveLength(2700);
  });

  it("is closed at once where more than the bound waits for its client", async () => {
    // Without the bound nothing would end the connection: no heartbeat comes.
    const app = await serve(withStreams({ heartbeatMs: 600_000, bufferBytes: 10_000 }));
    const socket = await connectAcknowledged(app);
    const query = "subscription { dexTrades { nodes { id tx price maker taker time block } } }";
    for (let id = 0; id < 5; id += 1) {
      send(socket, { id: String(id), type: "subscribe", payload: { query } });
      await nextMessage(socket);
    }
    socket.pause();
    const slow = async () => metric(app, 'dex_websockets_closed_total{reason="slow"}');
    for (let hour = 1; (await slow()) === 0; hour += 1) {
      const trades = Array.from({ length: 1000 }, (_, idx) => aTrade({ hour, idx }));
      await write(database.writer, { trades });
      // The last event that the kernel takes only a part of may be the last of all; beside it the bound may wait.
      send(socket, { type: "ping", payload: { text: "x".repeat(10_000) } });
    }
    await until(() => isGone(app));
  });

  it("is closed where its client floods it with pings and reads no pong", async () => {
    const app = await serve({
      ...withStreams({ heartbeatMs: 600_000, bufferBytes: 10_000 }),
      rateLimit: 0,
    });
    const socket = await connectAcknowledged(app);
    socket.pause();
    const payload = { text: "x".repeat(10_000) };
    while ((await metric(app, 'dex_websockets_closed_total{reason="slow"}')) === 0) {
      for (let n = 0; n < 100; n += 1) send(socket, { type: "ping", payload });
    }
    await until(() => isGone(app));
  });

  it("is closed where the service stops, and its client goes on elsewhere", async () => {
    const app = await serve();
    const closed = Promise.withResolvers<unknown>();
    const client = connect(app, { on: { closed: closed.resolve } });
    const { cursor: after } = await follow(client, TRADES).next();
    const pending = follow(client, HEAD);
    await pending.next();
    await apps.pop()!.close();
    expect(await closed.promise).toMatchObject({ code: 1012, reason: "stopping" });
    await write(database.writer, { trades: [aTrade()] });
    const next = follow(connect(await serve()), TRADES, { after });
    expect(await next.next()).toMatchObject({ nodes: [{ id: "1" }] });
  });

  it.each([
    ["that reads nothing", "pause"],
    ["that has refused to close already", "protocol"],
  ])("does not hold up the stop of the service: one %s", async (_name, kind) => {
    const app = await serve();
    const socket = await connectAcknowledged(app);
    if (kind === "protocol") socket.send("no JSON");
    // The client answers no closing.
    socket.pause();
    await apps.pop()!.close();
  });

  it("leaves nothing behind", async () => {
    const app = await serve();
    const client = connect(app);
    for (const query of [HEAD, TRADES]) await follow(client, query).next();
    const ended = follow(client, HEAD);
    await ended.next();
    await ended.end();
    await until(async () => (await metric(app, "dex_graphql_subscriptions")) === 2);
    await client.dispose();
    await until(() => isGone(app));
    expect(await metric(app, 'dex_graphql_subscriptions_total{outcome="ok"}')).toBe(3);
    const { over } = app;
    await until(() => Promise.resolve(over.some(({ status }) => status === 101)));
    expect(over.find(({ status }) => status === 101)).toMatchObject({
      method: "GET",
      route: "/graphql",
    });
    // Nobody follows the data any more.
    await until(() => Promise.resolve(database.reader.idleCount === database.reader.totalCount));
    const { rows } = await database.owner.query<{ now: Date }>("select clock_timestamp() as now");
    for (let n = 0; n < 100; n += 1) await setImmediate();
    expect(await statementsSince(rows[0]!.now)).toEqual([]);
  });

  it("may be opened at /graphql only: elsewhere a request is answered as any other", async () => {
    const app = await serve();
    const headers = { Connection: "Upgrade", Upgrade: "websocket" };
    await app.request.get("/v1/markets/").set(headers).expect(200);
    await app.request
      .get("/graphql")
      .set({ ...headers, Upgrade: "h2c" })
      .expect(405);
    expect(blockAt(0)).toBe(0);
  });
});

/** The last statements of other connections than the owner's that have begun since then. */
async function statementsSince(time: Date): Promise<unknown[]> {
  const { rows } = await database.owner.query<{ query: string }>(
    `select query
    from pg_stat_activity
    where datname = current_database()
      and backend_type = 'client backend'
      and pid <> pg_backend_pid()
      and query_start > $1`,
    [time],
  );
  return rows.map(({ query }) => query);
}
