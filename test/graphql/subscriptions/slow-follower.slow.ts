// A client that reads slowly beside others with the same subscription: they wait for nothing, and it gets all later.
import { once } from "node:events";
import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { WebSocket } from "ws";
import { UNREAD } from "../../../http/held-requests.ts";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import { makeTestApp, ownErrors } from "../../app.ts";
import { makeDatabase } from "../../database.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";
import { connectTo, follow } from "../../subscription-client.ts";

const BLOCKS = 30;
const TRADES = 1000;
const QUERY = "subscription { dexTrades { nodes { id tx price pair maker taker time block } } }";

interface Message {
  id: string;
  type: string;
  payload: { data: { dexTrades: { nodes: { id: string }[] } } };
}

it("gets all trades in their order when it reads again, while others get each block", async () => {
  await using database = await makeDatabase();
  await registerMarkets(database.writer);
  const streams = { ...STREAM_LIMITS, heartbeatMs: 600_000, bufferBytes: 100_000 };
  await using app = await makeTestApp(database.reader, { streams });
  const client = connectTo(app.url);
  const socket = new WebSocket(`${app.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  const received: Message[] = [];
  socket.on("message", (data: Buffer) => received.push(JSON.parse(String(data)) as Message));
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await setImmediate();
  };
  await once(socket, "open");
  socket.send(JSON.stringify({ type: "connection_init" }));
  await until(() => received.length === 1);
  socket.send(JSON.stringify({ id: "slow", type: "subscribe", payload: { query: QUERY } }));
  await until(() => received.length === 2);
  const other = follow(client, QUERY);
  await other.next();

  socket.pause();
  for (let hour = 1; hour <= BLOCKS; hour += 1) {
    await write(database.writer, {
      trades: Array.from({ length: TRADES }, (_, idx) => aTrade({ hour, idx })),
    });
    const events = await other.until(({ nodes }) => nodes.at(-1)?.["id"] === String(hour * TRADES));
    expect(events.flatMap(({ nodes }) => nodes)).toHaveLength(TRADES);
  }

  socket.resume();
  const ids = () =>
    received.slice(2).flatMap(({ payload }) => payload.data.dexTrades.nodes.map(({ id }) => id));
  await until(() => ids().at(-1) === String(BLOCKS * TRADES));
  expect(ids()).toEqual(Array.from({ length: BLOCKS * TRADES }, (_, n) => String(n + 1)));
  // Together again.
  await write(database.writer, { trades: [aTrade({ hour: BLOCKS + 1 })] });
  const last = String(BLOCKS * TRADES + 1);
  expect((await other.next()).nodes).toMatchObject([{ id: last }]);
  await until(() => ids().at(-1) === last);

  socket.terminate();
  await client.dispose();
  expect(ownErrors(app.logged)).toEqual([]);
});

it("gets a large event for which it takes longer than between two pings, if it reads steadily", async () => {
  await using database = await makeDatabase();
  await registerMarkets(database.writer);
  const heartbeatMs = 4000;
  await using app = await makeTestApp(database.reader, {
    streams: { ...STREAM_LIMITS, heartbeatMs },
  });
  const { hostname, port } = new URL(app.url);
  const raw = connect(Number(port), hostname);
  const socket = new WebSocket(`${app.url.replace("http", "ws")}/graphql`, "graphql-transport-ws", {
    createConnection: () => raw,
  });
  let received = 0;
  socket.on("message", () => (received += 1));
  const until = async (count: number): Promise<void> => {
    while (received < count && socket.readyState <= socket.OPEN) await setImmediate();
    expect(received).toBe(count);
  };
  await once(socket, "open");
  socket.send(JSON.stringify({ type: "connection_init" }));
  await until(1);
  const fields = Array.from({ length: 100 }, (_, n) => `a${n}: tx`).join(" ");
  const query = `subscription { dexTrades { nodes { ${fields} } } }`;
  socket.send(JSON.stringify({ id: "1", type: "subscribe", payload: { query } }));
  await until(2);

  // 64 kB at most each time.
  raw.on("data", () => {
    socket.pause();
    setTimeout(() => socket.resume(), 100);
  });
  const began = performance.now();
  await write(database.writer, {
    trades: Array.from({ length: TRADES }, (_, idx) => aTrade({ idx })),
  });
  await until(3);
  expect(performance.now() - began).toBeGreaterThan(2 * heartbeatMs);
  socket.terminate();
  expect(ownErrors(app.logged)).toEqual([]);
});

it("gets an event of more than may wait for a client, where nothing else waits for it, and again when it resumes", async () => {
  await using database = await makeDatabase();
  await registerMarkets(database.writer);
  await using app = await makeTestApp(database.reader);
  const closed = Promise.withResolvers<unknown>();
  const client = connectTo(app.url, { on: { closed: closed.resolve } });
  const fields = Array.from({ length: 75 }, (_, n) => `a${n}: tx`).join(" ");
  const query = `subscription ($after: String) { dexTrades(after: $after) { cursor nodes { id ${fields} } } }`;
  const events = follow(client, query);
  const { cursor: after } = await events.next();
  await write(database.writer, {
    trades: Array.from({ length: 7000 }, (_, idx) => aTrade({ hour: 1, idx })),
  });
  const event = await Promise.race([events.next(), closed.promise]);
  expect(JSON.stringify(event).length).toBeGreaterThan(UNREAD.perClient);
  expect(event).toMatchObject({ nodes: { length: 7000 } });
  await events.end();
  const resumed = follow(client, query, { after });
  expect((await resumed.next()).nodes).toHaveLength(7000);
  await write(database.writer, { trades: [aTrade({ hour: 2 })] });
  expect((await resumed.next()).nodes).toMatchObject([{ id: "7001" }]);
  await client.dispose();
  expect(ownErrors(app.logged)).toEqual([]);
});
