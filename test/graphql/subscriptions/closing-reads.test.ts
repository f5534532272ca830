// A client may go on sending while its connection is being closed.
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { WebSocket, WebSocketServer, type ServerOptions } from "ws";
import { boundClosing } from "../../../graphql/subscriptions/web-socket.ts";

const rawOf = (socket: WebSocket): Socket => (socket as unknown as { _socket: Socket })._socket;

const MESSAGES = 500_000;
/** A text frame of two bytes, masked with zeros. */
const FRAME = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x7b, 0x7d]);

it("no more than some reads are handled of a client that floods a connection while it is closed", async () => {
  // Its types lack the time until the client is disconnected.
  const options = { port: 0, host: "127.0.0.1", ...{ closeTimeout: 500 } } as ServerOptions;
  const sockets = new WebSocketServer(options);
  await once(sockets, "listening");
  const connected = once(sockets, "connection") as Promise<[WebSocket]>;
  const client = new WebSocket(`ws://127.0.0.1:${(sockets.address() as AddressInfo).port}`);
  client.on("error", () => undefined);
  const [served] = await connected;
  await once(client, "open");
  boundClosing(served, rawOf(served));
  let handled = 0;
  served.on("message", () => (handled += 1));
  const closed = once(served, "close");

  served.close(1013);
  rawOf(client).write(Buffer.alloc(MESSAGES * FRAME.length, FRAME));
  await closed;
  // A read has up to 64 kB, which are 8,192 messages: the one that is too much, and what Node had read until then.
  expect(handled).toBeLessThan(5 * 8192);

  client.terminate();
  await new Promise((resolve) => sockets.close(resolve));
});
