// Floods of one client, or of many addresses: what the service is sent faster than it can handle it, or never whole.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { UPGRADE } from "./raw-connection.ts";

export interface Flood {
  /** Where the bytes wait, for the page. */
  place: string;
  connections: number;
  /** What a connection sends first. */
  first: (n: number) => string | Buffer;
  /** What it sends then, as fast as the service reads it, or so many times. */
  then?: (n: number) => Buffer;
  times?: number;
  /** Whether it reads what comes. */
  reads?: true;
  /** Milliseconds between two connections. */
  everyMs?: number;
}

const KB_99 = 99_000;

/** A frame of a client, masked with zeros. */
function frame(opcode: number, payload: string | Buffer, isLast = true): Buffer {
  const bytes = Buffer.from(payload);
  const { length } = bytes;
  const size =
    length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 0xff] : undefined;
  const long = Buffer.alloc(9);
  long.writeUInt8(127, 0);
  long.writeUInt32BE(length, 5);
  const sizes = Buffer.from(size ?? long);
  sizes.writeUInt8(sizes.readUInt8(0) | 0x80, 0);
  const head = Buffer.from([(isLast ? 0x80 : 0) | opcode]);
  return Buffer.concat([head, sizes, Buffer.alloc(4), bytes]);
}

const TEXT = 1;
const CONTINUED = 0;
const PING = 9;
const PONG = 10;

const textOf = (message: object): Buffer => frame(TEXT, JSON.stringify(message));
const INIT = textOf({ type: "connection_init" });
const ACKNOWLEDGED = Buffer.concat([Buffer.from(UPGRADE), INIT]);

let ids = 0;
const subscribe = (query: string, variables?: object): Buffer =>
  textOf({ id: String((ids += 1)), type: "subscribe", payload: { query, variables } });

const HEAD = "subscription { dexHead { cursor } }";
const LONG = "x".repeat(KB_99 - 200);

const repeated = (bytes: Buffer, times: number): Buffer =>
  Buffer.concat(Array.from({ length: times }, () => bytes));

const get = (path: string, headers = ""): string =>
  `GET ${path} HTTP/1.1\r\nHost: flood\r\n${headers}\r\n`;
const NEVER = "X-Min-Block: 2147483647\r\n";
const post = (bytes: number): string =>
  `POST /graphql HTTP/1.1\r\nHost: flood\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;

export const FLOODS = {
  "subscribe messages of 99 kB": {
    ...{ place: "WebSocket messages", connections: 20, first: () => ACKNOWLEDGED },
    then: () => subscribe(`${HEAD} #${LONG}`),
    times: 155,
  },
  "subscribe messages with 99 kB of variables": {
    ...{ place: "WebSocket messages", connections: 50, first: () => ACKNOWLEDGED },
    then: () => subscribe(HEAD, { x: LONG }),
    times: 60,
  },
  "small subscribe messages": {
    ...{ place: "WebSocket messages", connections: 50, first: () => ACKNOWLEDGED },
    then: () => repeated(subscribe("x"), 100),
    times: 50,
  },
  "messages before connection_init": {
    ...{ place: "WebSocket messages", connections: 50, first: () => UPGRADE },
    then: () => subscribe(`${HEAD} #${LONG}`),
    times: 60,
  },
  "messages that are no JSON": {
    ...{ place: "WebSocket messages", connections: 50, first: () => ACKNOWLEDGED },
    then: () => frame(TEXT, LONG),
    times: 60,
  },
  "messages in fragments of one byte": {
    ...{ place: "WebSocket messages", connections: 50 },
    first: () => Buffer.concat([ACKNOWLEDGED, frame(TEXT, "[", false)]),
    then: () => repeated(frame(CONTINUED, "0", false), 10_000),
    times: 9,
  },
  "messages but for their last byte": {
    ...{ place: "WebSocket messages", connections: 50 },
    first: () => Buffer.concat([ACKNOWLEDGED, frame(TEXT, LONG).subarray(0, -1)]),
  },
  "pings and pongs": {
    ...{ place: "WebSocket pongs", connections: 50, first: () => ACKNOWLEDGED },
    then: () => Buffer.concat([repeated(frame(PING, "x".repeat(125)), 20), frame(PONG, "")]),
    times: 100_000,
  },
  "pings with 99 kB": {
    ...{ place: "WebSocket pongs", connections: 50, first: () => ACKNOWLEDGED },
    then: () => textOf({ type: "ping", payload: { text: LONG } }),
    times: 60,
  },
  "connections that are upgraded, and say nothing": {
    ...{ place: "connections", connections: 3000, first: () => UPGRADE },
  },
  "headers but for their last byte": {
    ...{ place: "headers that are not whole", connections: 5500 },
    first: () => get("/v2/prices", `X-Long: ${"x".repeat(15_000)}\r\n`).slice(0, -1),
  },
  "bodies but for their last byte": {
    ...{ place: "bodies of GraphQL", connections: 5500, first: () => post(KB_99) },
    then: () => Buffer.alloc(KB_99 - 1, 0x20),
    times: 1,
  },
  "bodies in chunks without an end": {
    ...{ place: "bodies of GraphQL", connections: 5500 },
    first: () => post(0).replace("Content-Length: 0", "Transfer-Encoding: chunked"),
    then: () => Buffer.from(`10000\r\n${" ".repeat(65_536)}\r\n`),
    times: 1,
  },
  "bodies in chunks of one byte": {
    ...{ place: "bodies of GraphQL", connections: 64 },
    first: () => post(0).replace("Content-Length: 0", "Transfer-Encoding: chunked"),
    then: () => repeated(Buffer.from("1\r\n \r\n"), 10_000),
    times: 10,
  },
  "requests that wait for a block": {
    ...{ place: "requests that wait for X-Min-Block", connections: 5500 },
    first: () => get("/v2/prices", NEVER),
  },
  "requests behind one that waits": {
    ...{
      place: "requests of one connection",
      connections: 1000,
      first: () => get("/v2/prices", NEVER),
    },
    then: () => repeated(Buffer.from(get("/")), 1000),
    times: 20,
  },
  "answers that nobody reads": {
    ...{ place: "answers", connections: 2000 },
    first: (n) =>
      repeated(Buffer.from(get(`/v2/candles/weth/dai?interval=1m&limit=${1000 - (n % 400)}`)), 5),
  },
  "answers of GraphQL that nobody reads": {
    // One after the other, since a client has few operations in flight.
    ...{ place: "answers", connections: 1000, everyMs: 40 },
    first: (n) => {
      const columns = "id market act pair maker taker lotAmt bidAmt price time tx";
      const lists = [1, 2, 3, 4].map((k) => `a${k}: allDexTrades { nodes { ${columns} } }`);
      // Another body each time, of one document.
      const body = JSON.stringify({ query: `{ ${lists.join(" ")} }`, variables: { n } });
      return post(body.length) + body;
    },
  },
  "streams that begin": {
    ...{ place: "streams that begin", connections: 3000, reads: true },
    first: (n) => get(`/v2/stream?topics=book:WETH/DAI:${(n % 1000) + 1}`),
  },
} as const satisfies Record<string, Flood>;

export type FloodName = keyof typeof FLOODS;
export const FLOOD_NAMES = Object.keys(FLOODS) as FloodName[];

export interface FloodTally {
  opened: number;
  /** Connections that were closed before the end. */
  closed: number;
  /** Bytes that the service's side has taken. */
  sent: number;
}

export interface Running {
  tally: FloodTally;
  /** Resolves when each connection has sent all, or is closed, or the time is over. */
  played: Promise<void>;
  stop: () => void;
}

const COME_AT_ONCE = 200;
const MAX_CONNECTIONS = 5500;

/** Each of these addresses plays the flood: each of 127.0.0.0/8 is another client. */
export function startFlood(
  name: FloodName,
  url: string,
  { addresses, forMs }: { addresses: readonly string[]; forMs: number },
): Running {
  const flood: Flood = FLOODS[name];
  const { hostname, port } = new URL(url);
  const tally: FloodTally = { opened: 0, closed: 0, sent: 0 };
  const sockets = new Set<Socket>();
  const until = performance.now() + forMs;
  let isOver = false;

  const play = async (n: number): Promise<void> => {
    const socket = connect({
      ...{ host: hostname, port: Number(port) },
      localAddress: addresses[n % addresses.length],
    });
    sockets.add(socket);
    const isClosed = (): boolean => socket.destroyed;
    const closed = new Promise((resolve) => socket.once("close", resolve)).then(() => {
      if (!isOver) tally.closed += 1;
      tally.sent += socket.bytesWritten;
      sockets.delete(socket);
    });
    socket.on("error", () => undefined);
    await Promise.race([once(socket, "connect").catch(() => undefined), closed]);
    if (isClosed()) return;
    tally.opened += 1;
    if (flood.reads === true) socket.resume();
    else socket.pause();
    socket.write(flood.first(n));
    for (let k = 0; k < (flood.times ?? 0); k += 1) {
      if (isClosed() || isOver || performance.now() > until) return;
      if (socket.write(flood.then!(n))) continue;
      const timer = new AbortController();
      await Promise.race([
        once(socket, "drain", { signal: timer.signal }).catch(() => undefined),
        closed,
        sleep(Math.max(0, until - performance.now()), undefined, { signal: timer.signal }).catch(
          () => undefined,
        ),
      ]);
      timer.abort();
    }
  };

  const connections = Math.min(flood.connections * addresses.length, MAX_CONNECTIONS);
  const playAll = async (): Promise<void> => {
    const playing: Promise<void>[] = [];
    for (let n = 0; n < connections && performance.now() < until; n += 1) {
      playing.push(play(n));
      if (flood.everyMs !== undefined) await sleep(flood.everyMs);
      if (n % COME_AT_ONCE === COME_AT_ONCE - 1) await sleep(20);
    }
    await Promise.all(playing);
    await sleep(Math.max(0, until - performance.now()));
  };
  return {
    tally,
    played: playAll(),
    stop() {
      isOver = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}
