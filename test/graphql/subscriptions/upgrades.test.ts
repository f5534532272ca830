// Requests for a WebSocket that are refused: status, headers and body as of any other request at /graphql.
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { serveDatabase } from "../../served.ts";

const HANDSHAKE = {
  Host: "x",
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Protocol": "graphql-transport-ws",
};

const { app } = serveDatabase();

/** An undefined header is left out. */
async function upgrade(line: string, others: Record<string, string | undefined> = {}) {
  const socket = connect(Number(new URL(app.url).port), "127.0.0.1");
  const all: Record<string, string | undefined> = { ...HANDSHAKE, ...others };
  const headers = Object.entries(all).filter(([, value]) => value !== undefined);
  socket.write(`${[line, ...headers.map((pair) => pair.join(": "))].join("\r\n")}\r\n\r\n`);
  const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n");
  return { head, body };
}

it.each([
  ["without a Host", { Host: undefined }, "The request has no Host header"],
  [
    "that expects something",
    { Expect: "100-continue" },
    "A request for a WebSocket must have no Expect header",
  ],
  [
    "of another version",
    { "Sec-WebSocket-Version": "7" },
    "Missing or invalid Sec-WebSocket-Version header",
  ],
  [
    "without a key",
    { "Sec-WebSocket-Key": undefined },
    "Missing or invalid Sec-WebSocket-Key header",
  ],
])("one %s is 400, with the reason as JSON", async (_, headers, message) => {
  const { head, body } = await upgrade("GET /graphql HTTP/1.1", headers);
  expect(head).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
  expect(head).toMatch(/\r\nContent-Type: application\/json; charset=utf-8\r\n/i);
  expect(head).toMatch(/\r\nConnection: close(\r\n|$)/i);
  expect(JSON.parse(body)).toEqual({ errors: [{ message, extensions: { code: "BAD_REQUEST" } }] });
});

it("one of another version names the version that is accepted", async () => {
  const { head } = await upgrade("GET /graphql HTTP/1.1", { "Sec-WebSocket-Version": "7" });
  expect(head).toMatch(/\r\nSec-WebSocket-Version: 13(\r\n|$)/i);
});

it("one by HTTP/1.0 is 400", async () => {
  const { head, body } = await upgrade("GET /graphql HTTP/1.0");
  expect(head).toMatch(/^HTTP\/1.1 400 /);
  expect(body).toContain("A WebSocket must be asked for by HTTP/1.1");
});

it("one by POST is 405, and names GET", async () => {
  const { head, body } = await upgrade("POST /graphql HTTP/1.1", { "Content-Length": "0" });
  expect(head).toMatch(/^HTTP\/1.1 405 Method Not Allowed\r\n/);
  expect(head).toMatch(/\r\nAllow: GET\r\n/i);
  expect(JSON.parse(body)).toMatchObject({
    errors: [{ message: "POST is not allowed here, only GET" }],
  });
});
