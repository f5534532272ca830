// Clients of the event stream that do not read: what they hold is bounded, and the others are told on time.
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { makeTestApp, type TestApp } from "../../app.ts";
import { aTrade, hours, registerMarkets, write } from "../../factories.ts";
import { EventStream } from "../../../rest/stream/event-stream.ts";
import { Frame } from "../../../rest/stream/frame.ts";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import { useDatabase } from "../../served.ts";
import { followStream } from "../../stream-client.ts";

const database = useDatabase();
let app: TestApp;

beforeAll(async () => {
  await registerMarkets(database.writer);
  const db = database.reader;
  const streams = { ...STREAM_LIMITS, bufferBytes: 100_000, heartbeatMs: 100 };
  app = await makeTestApp(db, { streams, metrics: { isPublic: true, db } });
  database.beforeDrop(app.close);
});

const PATH = "/v2/stream?topics=trades:WETH/DAI";

const metric = async (name: string): Promise<number> => {
  const text = (await app.metrics?.text()) ?? "";
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return Number(line?.split(" ").at(-1));
};

/** Asks, and reads nothing. */
async function openWithoutReading(): Promise<Socket> {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.write(`GET ${PATH} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  while ((await metric("dex_streams")) === 0) await sleep(10);
  return socket;
}

let block = 0;
/** About 150 kB of events. */
async function writeManyTrades(): Promise<void> {
  block += 1;
  await write(database.writer, {
    trades: Array.from({ length: 1500 }, (_, idx) =>
      aTrade({ block, time: hours(block / 3600), idx }),
    ),
  });
}

it("closes the stream of a client that does not read, which then resumes where it was", async () => {
  const slow = await openWithoutReading();
  const reading = await followStream(app.url + PATH);
  await reading.next();
  let written = 0;
  while ((await metric('dex_streams_ended_total{reason="slow"}')) === 0) {
    await writeManyTrades();
    written += 1500;
    expect((await reading.next())?.data.topics["trades:WETH/DAI"]).toHaveLength(1500);
  }
  reading.close();

  // What waits for the client comes whole, and then the reason.
  const text = await new Promise<string>((resolve) => {
    let received = "";
    slow.setEncoding("utf8").on("data", (part: string) => (received += part));
    slow.on("close", () => resolve(received));
    slow.resume();
  });
  expect(text).toContain('event: closed\ndata: {"reason":"slow"}');
  const id = [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1];
  const seen = [...text.matchAll(/"volume":/g)].length;
  const again = await followStream(app.url + PATH, { "Last-Event-ID": id ?? "" });
  let resumed = 0;
  while (seen + resumed < written) {
    resumed += (await again.next())?.data.topics["trades:WETH/DAI"]?.length ?? 0;
  }
  expect(seen + resumed).toBe(written);
  again.close();
});

it("keeps no more than a page for a client that catches up and does not read", async () => {
  const { hostname, port } = new URL(app.url);
  const first = await followStream(app.url + PATH);
  const place = (await first.next())?.id ?? "";
  first.close();
  const [origin, epoch] = place.split(".");
  const before = await metric('dex_streams_ended_total{reason="slow"}');
  const slow = connect(Number(port), hostname);
  slow.pause();
  slow.write(`GET ${PATH}&from=${origin}.${epoch}.0.-1.0 HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  await sleep(500);
  expect(await metric('dex_streams_ended_total{reason="slow"}')).toBe(before);
  slow.resume();
  const last = `"id":${block * 1500},`;
  const text = await new Promise<string>((resolve) => {
    let received = "";
    slow.setEncoding("utf8").on("data", (part: string) => {
      received += part;
      if (received.includes(last, received.length - part.length - 200)) resolve(received);
    });
  });
  slow.destroy();
  expect([...text.matchAll(/"volume":/g)]).toHaveLength(block * 1500);
});

it("leaves nothing behind when its clients are gone", async () => {
  while ((await metric("dex_streams")) > 0) await sleep(10);
  const clients = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const client = await followStream(app.url + PATH);
      await client.next();
      return client;
    }),
  );
  expect(await metric("dex_streams")).toBe(40);
  for (const client of clients) client.close();
  while ((await metric("dex_streams")) > 0) await sleep(10);
});

it("sends a client that reads slowly the rest of a large event before it is disconnected", async () => {
  const event = new Frame(`data: ${"x".repeat(12_000_000)}\n\n`);
  const server = createServer((req, res) => {
    const bounds = { bufferBytes: 10_000, heartbeatMs: 100 };
    const hold = () => () => undefined;
    new EventStream(req, res, { bounds, hold, onEnd: () => undefined }).send([event]);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("GET / HTTP/1.0\r\n\r\n");
  let length = 0;
  let end = "";
  // 64 kB at most each time: some 15 seconds, of which the buffers of the system take a third.
  socket.on("data", (part: Buffer) => {
    length += part.length;
    end = (end + part.toString()).slice(-100);
    socket.pause();
    setTimeout(() => socket.resume(), 80);
  });
  await new Promise((resolve) => socket.once("close", resolve));
  await new Promise((resolve) => server.close(resolve));
  expect(length).toBeGreaterThan(12_000_000);
  expect(end).toContain('event: closed\ndata: {"reason":"slow"}');
});
