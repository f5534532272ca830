// What waits for one client is bounded over all of its connections.
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { Connection } from "../../../graphql/subscriptions/connection.ts";
import { SharedMessage } from "../../../graphql/subscriptions/shared-message.ts";
import { WaitingMessages } from "../../../http/streams/waiting-messages.ts";

/** A socket whose client takes a message when the test says so. */
class SilentSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  readonly sent: { text: string; taken: () => void }[] = [];
  closedBy: string | undefined;

  send(bytes: Buffer, _options: object, taken: () => void): void {
    this.sent.push({ text: bytes.toString(), taken });
  }

  close(code: number, reason: string): void {
    this.closedBy = `${code} ${reason}`;
    this.readyState = 2;
  }

  resume(): void {
    // Nothing is read.
  }
}

const ofFew = new WaitingMessages({ perClient: 10, all: 100 });

/** What is written to the connection below waits for ever. */
function connect(
  waiting = ofFew,
  bufferBytes = 5,
): { socket: SilentSocket; connection: Connection; raw: Socket } {
  const socket = new SilentSocket();
  const raw = new Duplex({ read: () => undefined, write: () => undefined }) as unknown as Socket;
  const connection = new Connection({
    ...{ socket: socket as unknown as WebSocket, raw },
    bounds: { bufferBytes, heartbeatMs: 60_000 },
    hold: (message) => waiting.take("client", message),
    onClose: () => undefined,
  });
  return { socket, connection, raw };
}

it("closes the connection whose message would be too much beside those of the client's others", () => {
  const [first, second, third, fourth] = [connect(), connect(), connect(), connect()];
  first.connection.send("6bytes");
  second.connection.send("6bytes");
  expect(second.socket).toMatchObject({
    sent: [],
    closedBy: "1013 too much waits for this client",
  });

  first.socket.sent[0]!.taken();
  third.connection.send("6bytes");
  expect(third.socket.sent).toHaveLength(1);
  expect(third.socket.closedBy).toBeUndefined();

  // What it has not taken waits no more when it is gone.
  third.socket.emit("close");
  fourth.connection.send("10 bytes..");
  expect(fourth.socket.sent).toHaveLength(1);
  for (const { socket } of [first, second, fourth]) socket.emit("close");
});

it("closes it for messages that many get, too, where each connection of the client gets another", () => {
  const waiting = new WaitingMessages({ perClient: 50_000, all: 100_000 });
  const [first, second, third] = [connect(waiting), connect(waiting), connect(waiting)];
  const large = () => new SharedMessage(JSON.stringify("x".repeat(20_000)));
  for (const { connection } of [first, second]) connection.sendShared(large(), "id");
  expect(third.connection.sendShared(large(), "id")).toBe(true);
  expect(third.raw.writableLength).toBe(0);
  expect(third.socket.closedBy).toBe("1013 too much waits for this client");
  expect([first, second].map(({ socket }) => socket.closedBy)).toEqual([undefined, undefined]);
  for (const { socket, raw } of [first, second, third]) {
    socket.emit("close");
    raw.destroy();
  }
  expect(waiting.take("client", Buffer.alloc(50_000))).toBeDefined();
});

it("sends one message whatever its size where nothing else waits for the client, and no second one", () => {
  const waiting = new WaitingMessages({ perClient: 10_000, all: 100_000 });
  const [first, second] = [connect(waiting), connect(waiting)];
  const large = () => new SharedMessage(JSON.stringify("x".repeat(20_000)));
  for (const { connection } of [first, second]) connection.sendShared(large(), "id");
  expect(first.raw.writableLength).toBeGreaterThan(20_000);
  expect(second.raw.writableLength).toBe(0);
  expect([first, second].map(({ socket }) => socket.closedBy)).toEqual([
    undefined,
    "1013 too much waits for this client",
  ]);
  for (const { socket, raw } of [first, second]) {
    socket.emit("close");
    raw.destroy();
  }
});

it("leaves what fits into the buffer of a connection to it, whatever others of the client hold", () => {
  const waiting = new WaitingMessages({ perClient: 10, all: 100 });
  waiting.take("client", Buffer.alloc(10));
  const { socket, connection, raw } = connect(waiting, 1000);
  connection.send("6bytes");
  expect(connection.sendShared(new SharedMessage('"small"'), "id")).toBe(true);
  expect(socket.closedBy).toBeUndefined();
  expect(raw.writableLength).toBeGreaterThan(0);
  socket.emit("close");
  raw.destroy();
});

it("counts a message once where all connections of a client get the same", () => {
  const waiting = new WaitingMessages({ perClient: 50_000, all: 100_000 });
  const connected = Array.from({ length: 50 }, () => connect(waiting));
  const message = new SharedMessage(JSON.stringify("x".repeat(20_000)));
  for (const { connection } of connected) connection.sendShared(message, "id");
  for (const { socket, raw } of connected) {
    expect(socket.closedBy).toBeUndefined();
    socket.emit("close");
    raw.destroy();
  }
});

it("keeps the connection of a client that pings while it reads a message above the bound", () => {
  const { socket, connection, raw } = connect(
    new WaitingMessages({ perClient: 1e6, all: 1e6 }),
    1000,
  );
  connection.sendShared(new SharedMessage(JSON.stringify("x".repeat(100_000))), "id");
  socket.bufferedAmount = raw.writableLength;
  connection.send("pong");
  expect(socket.sent).toHaveLength(1);
  // Many answers to pings are too much.
  socket.bufferedAmount += 2000;
  connection.send("pong");
  expect(socket.closedBy).toBe("1013 slow");
  socket.emit("close");
  raw.destroy();
});
