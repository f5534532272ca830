// What waits for one client is bounded over all of its connections.
import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import type { WebSocket } from "ws";
import { Connection } from "../../../graphql/subscriptions/connection.ts";
import { Quota } from "../../../http/quota.ts";

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

const waiting = new Quota({ perClient: 10, all: 100 });

function connect(): { socket: SilentSocket; connection: Connection } {
  const socket = new SilentSocket();
  const connection = new Connection({
    ...{ socket: socket as unknown as WebSocket, raw: new PassThrough() },
    bounds: { bufferBytes: 1000, heartbeatMs: 60_000 },
    hold: (bytes) => waiting.take("client", bytes),
    onClose: () => undefined,
  });
  return { socket, connection };
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
