// How a client of subscriptions understands what the service answers.
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { WebSocketServer } from "ws";
import { UNAVAILABLE_CODES } from "../../faults/told.ts";
import { NO_CONNECTION } from "./live-client.ts";
import { subscriptions } from "./subscription-transport.ts";

let server: WebSocketServer;
let url: string;
let code: string;

beforeAll(async () => {
  server = new WebSocketServer({ port: 0, handleProtocols: ([protocol]) => protocol ?? false });
  server.on("connection", (socket) => {
    socket.on("message", (text: Buffer) => {
      const { id, type } = JSON.parse(text.toString()) as { id?: string; type: string };
      const payload = [{ message: "not now", extensions: { code } }];
      const answer =
        type === "connection_init" ? { type: "connection_ack" } : { id, type: "error", payload };
      socket.send(JSON.stringify(answer));
    });
  });
  await once(server, "listening");
  url = `http://localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  for (const socket of server.clients) socket.terminate();
  server.close();
});

test.each(UNAVAILABLE_CODES)("a client that is refused by %s comes back", async (refusedBy) => {
  code = refusedBy;
  const connection = subscriptions.connect(url);
  const client = connection.follow([{ kind: "head" }]);
  await expect(client.next()).rejects.toMatchObject({ why: "unavailable", message: "not now" });
  connection.close();
});

test("a client whose connection breaks off before its upgrade comes back", async () => {
  await using origin = await listening((socket) => socket.once("data", () => socket.destroy()));
  const client = subscriptions.connect(origin.url).follow([{ kind: "head" }]);
  await expect(client.next()).resolves.toEqual({ event: "closed", reason: NO_CONNECTION });
});

test("a client says by which status or code it was refused", async () => {
  await using origin = await listening((socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"));
  });
  const refused = subscriptions.connect(origin.url).follow([{ kind: "head" }]);
  await expect(refused.next()).rejects.toThrow("Unexpected server response: 502");

  server.once("connection", (socket) => socket.close(4408, "too late"));
  const closed = subscriptions.connect(url).follow([{ kind: "head" }]);
  await expect(closed.next()).rejects.toThrow('"code":4408,"reason":"too late"');
});

async function listening(onConnection: (socket: Socket) => unknown) {
  const origin = createServer(onConnection).listen(0);
  await once(origin, "listening");
  return {
    url: `http://localhost:${(origin.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      origin.close();
      await once(origin, "close");
    },
  };
}
