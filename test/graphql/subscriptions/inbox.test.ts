// What waits of a connection's messages: one is handled after the other, and no more are read meanwhile.
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { WebSocket, WebSocketServer } from "ws";
import { Inbox, MAX_WAITING } from "../../../graphql/subscriptions/inbox.ts";
import { boundUnfinished } from "../../../graphql/subscriptions/unfinished-messages.ts";
import { Quota } from "../../../http/quota.ts";

let sockets: WebSocketServer;
let served: WebSocket;
let client: WebSocket;
let inbox: Inbox;
/** The messages in turn, and what ends each. */
let handled: { text: string; end: () => void }[];
let isFull: boolean;
let messages: Quota;

const BYTES = 100_000_000;

beforeEach(async () => {
  sockets = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(sockets, "listening");
  const connected = once(sockets, "connection") as Promise<[WebSocket]>;
  client = new WebSocket(`ws://127.0.0.1:${(sockets.address() as AddressInfo).port}`);
  [served] = await connected;
  await once(client, "open");
  handled = [];
  isFull = false;
  messages = new Quota({ perClient: BYTES, all: 2 * BYTES });
  inbox = new Inbox({
    socket: served,
    mayReceive: () => true,
    hold: (bytes) => messages.take("client", bytes),
    receive: (message) =>
      new Promise((resolve) => {
        const text = typeof message === "string" ? message : JSON.stringify(message);
        handled.push({ text, end: () => resolve(undefined) });
      }),
    onFull: () => (isFull = true),
  });
});

afterEach(async () => {
  client.terminate();
  await new Promise((resolve) => sockets.close(resolve));
});

const subscribe = (id: string, comment = ""): string =>
  JSON.stringify({ id, type: "subscribe", payload: { query: `subscription { x } #${comment}` } });
const complete = (id: string): string => JSON.stringify({ id, type: "complete" });

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate);
}

/** All that is sent has arrived at the service's side, except what it does not read. */
const settled = async (): Promise<void> => {
  for (let n = 0; n < 50; n += 1) await new Promise(setImmediate);
};

const rawOf = (socket: WebSocket): Socket => (socket as unknown as { _socket: Socket })._socket;
const bytesRead = (): number => rawOf(served).bytesRead;

it("reads no further while a subscription begins, however much is sent", async () => {
  for (let n = 0; n < 200; n += 1) client.send(subscribe(String(n), "x".repeat(99_000)));
  await until(() => handled.length === 1);
  await settled();
  expect(served.isPaused).toBe(true);
  expect(handled).toHaveLength(1);
  expect(bytesRead()).toBeLessThan(400_000);
  // Then they are handled in their order, each when the one before has begun.
  for (let n = 1; n < 200; n += 1) {
    inbox.hasBegun();
    await until(() => handled.length === n + 1);
    expect(handled[n]!.text.slice(0, 12)).toBe(subscribe(String(n)).slice(0, 12));
  }
  inbox.hasBegun();
  await until(() => !inbox.isBusy);
  expect(served.isPaused).toBe(false);
});

it("parses a message once and without a reviver, however many numbers it has", async () => {
  const parse = jest.spyOn(JSON, "parse");
  try {
    const message = JSON.stringify({ type: "ping", payload: { a: Array<number>(48_000).fill(0) } });
    client.send(message);
    await until(() => handled.length === 1);
    expect(handled[0]!.text).toBe(message);
    expect(parse.mock.calls).toEqual([[message]]);
  } finally {
    parse.mockRestore();
  }
});

it("hands on long numbers with all their digits, and texts that are no message", async () => {
  const number = "0.123456789012345678901";
  client.send(subscribe("1").replace('{"query"', `{"variables":{"n":${number}},"query"`));
  client.send('{"type":"unknown"}');
  await until(() => handled.length === 1);
  inbox.hasBegun();
  await until(() => handled.length === 2);
  const { payload } = JSON.parse(handled[0]!.text) as { payload: object };
  expect(payload).toMatchObject({ variables: { n: number } });
  expect(handled[1]!.text).toBe('{"type":"unknown"}');
});

it.each(["connection_init", "pong"])("hands on no payload of a %s", async (type) => {
  client.send(JSON.stringify({ type, payload: { token: "abc", of: [[], []] } }));
  await until(() => handled.length === 1);
  expect(handled[0]!.text).toBe(JSON.stringify({ type }));
});

it("goes on where a subscription is over before it has begun, as one that is refused", async () => {
  client.send(subscribe("1"));
  client.send(subscribe("2"));
  await until(() => handled.length === 1);
  handled[0]!.end();
  await until(() => handled.length === 2);
});

it("has the next subscription of an id wait for the end of the one that was completed", async () => {
  for (const text of [subscribe("1"), complete("1"), subscribe("1", "again")]) client.send(text);
  await until(() => handled.length === 1);
  inbox.hasBegun();
  await until(() => handled.length === 2);
  await settled();
  expect(handled.map(({ text }) => text)).toEqual([subscribe("1"), complete("1")]);
  handled[0]!.end();
  await until(() => handled.length === 3);
  expect(handled[2]!.text).toBe(subscribe("1", "again"));
});

it("hands on a second subscription of an id in use, for which graphql-ws closes the connection", async () => {
  client.send(subscribe("1"));
  client.send(subscribe("1", "again"));
  await until(() => handled.length === 1);
  inbox.hasBegun();
  await until(() => handled.length === 2);
});

it("says where more messages of one read wait than it keeps", async () => {
  client.send(subscribe("1"));
  await until(() => handled.length === 1);
  inbox.hasBegun();
  await until(() => !inbox.isBusy);
  const socket = rawOf(client);
  // As one write, so that they come in one read.
  socket.cork();
  client.send(subscribe("2"));
  for (let n = 0; n <= MAX_WAITING; n += 1) client.send("1");
  socket.uncork();
  await until(() => isFull);
});

it("counts the bytes of open subscriptions, of each client and of all, until they end", async () => {
  const others = messages.take("client", BYTES - 150_000)!;
  client.send(subscribe("1", "x".repeat(99_000)));
  await until(() => handled.length === 1);
  inbox.hasBegun();
  await until(() => !inbox.isBusy);
  expect(messages.take("client", 99_000)).toBeUndefined();
  expect(messages.take("other", BYTES)).toBeDefined();
  expect(messages.take("third", 99_000)).toBeUndefined();
  client.send(subscribe("2", "x".repeat(99_000)));
  await until(() => isFull);
  expect(handled).toHaveLength(1);
  others();
  handled[0]!.end();
  await settled();
  expect(messages.take("client", BYTES)).toBeDefined();
});

it("drops what is left of a connection that is closed", async () => {
  for (const id of ["1", "2", "3"]) client.send(subscribe(id));
  await until(() => handled.length === 1);
  served.close();
  inbox.hasBegun();
  await until(() => !inbox.isBusy);
  expect(handled).toHaveLength(1);
});

describe("a message without an end", () => {
  const ROOM = 10_000;
  /** A fragment of a text that others follow, masked with zeros. */
  const BEGIN = Buffer.concat([
    Buffer.from([0x01, 0xfe, 4000 >> 8, 4000 & 0xff, 0, 0, 0, 0]),
    Buffer.alloc(4000, "0"),
  ]);
  const END = Buffer.from([0x80, 0x80, 0, 0, 0, 0]);

  /** How many bytes more the client may hold. */
  function roomOf(name: string): number {
    for (let bytes = ROOM; bytes > 0; bytes -= 100) {
      const release = messages.take(name, bytes);
      release?.();
      if (release !== undefined) return bytes;
    }
    return 0;
  }

  beforeEach(() => {
    messages = new Quota({ perClient: ROOM, all: 2 * ROOM });
    boundUnfinished({
      ...{ socket: served, raw: rawOf(served) },
      hold: (bytes) => messages.take("client", bytes),
      onFull: () => (isFull = true),
    });
  });

  it("is counted, also the part of a frame, until it has one or its connection is closed", async () => {
    rawOf(client).write(BEGIN.subarray(0, 2000));
    await until(() => roomOf("client") < ROOM - 1900);
    rawOf(client).write(BEGIN.subarray(2000));
    await until(() => roomOf("client") < ROOM - 4000);
    client.terminate();
    await until(() => roomOf("client") === ROOM);
  });

  it("is counted no longer when it is whole", async () => {
    rawOf(client).write(BEGIN);
    await until(() => roomOf("client") < ROOM - 4000);
    rawOf(client).write(END);
    await until(() => handled.length === 1);
    handled[0]!.end();
    await until(() => roomOf("client") === ROOM);
    expect(isFull).toBe(false);
  });

  it("ends its connection where its client has no room, which is free again then", async () => {
    const others = messages.take("client", ROOM - 3000)!;
    rawOf(client).write(BEGIN);
    await once(client, "close");
    expect(isFull).toBe(true);
    others();
    expect(roomOf("client")).toBe(ROOM);
  });
});
