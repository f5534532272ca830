// How a client of subscriptions understands what the service answers.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { UNAVAILABLE_CODES } from "../../faults/told.ts";
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
