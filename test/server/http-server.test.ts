// What a request is told that Node's own parser refuses, or that does not arrive.
import { createConnection } from "node:net";
import { text } from "node:stream/consumers";
import { HTTP_BOUNDS } from "../../server/http-server.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await makeDatabase();
  app = await makeTestApp(database.reader, {
    http: { ...HTTP_BOUNDS, headersTimeoutMs: 200, requestTimeoutMs: 400, idleMs: 800 },
  });
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

/** Sends these bytes, and no end; gives what came until the server closed the connection. */
async function afterSending(bytes: string): Promise<string> {
  const socket = createConnection(Number(new URL(app.url).port), "127.0.0.1");
  socket.write(bytes);
  return text(socket);
}

/** The status, and the body as JSON, of an answer that must be whole. */
function parsed(answer: string): { status: number; body: unknown } {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? body.length);
  expect(Buffer.byteLength(body)).toBe(length);
  expect(head).toMatch(/^content-type: application\/json/im);
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), body: JSON.parse(body) };
}

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

it.each([
  ["no HTTP", "hello\r\n\r\n", 400, "The request is not HTTP/1.1"],
  ["a line of another protocol", "\x16\x03\x01\x02", 400, "The request is not HTTP/1.1"],
  [
    "a length that is no number",
    "GET /v2/prices HTTP/1.1\r\nHost: x\r\nContent-Length: one\r\n\r\n",
    400,
    "The request is not HTTP/1.1",
  ],
  ["no Host", "GET /v2/prices HTTP/1.1\r\n\r\n", 400, "The request has no Host header"],
  [
    "an expectation",
    "GET /v2/prices HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n",
    417,
    "Nothing but 100-continue is accepted in Expect",
  ],
  [
    "headers that are too long",
    `GET /v2/prices HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(20_000)}\r\n\r\n`,
    431,
    "The request's headers exceed 16384 bytes",
  ],
  [
    "headers that do not end",
    "GET /v2/prices HTTP/1.1\r\nHost: x\r\n",
    408,
    "The request did not arrive in time: 200 ms for its headers, 400 ms for all of it",
  ],
  [
    "nothing",
    "",
    408,
    "The request did not arrive in time: 200 ms for its headers, 400 ms for all of it",
  ],
])("answers %s in the envelope of v2", async (_name, bytes, status, message) => {
  expect(parsed(await afterSending(bytes))).toEqual({ status, body: { time: ISO, message } });
});

it("answers below /v1 in the envelope of v1", async () => {
  const { status, body } = parsed(await afterSending("GET /v1/prices HTTP/1.1\r\n\r\n"));
  expect(status).toBe(400);
  expect(body).toEqual({
    data: {},
    time: expect.any(Number),
    message: "The request has no Host header",
  });
});

it("answers half a GraphQL request in GraphQL's form", async () => {
  const { status, body } = parsed(
    await afterSending(
      "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    ),
  );
  expect(status).toBe(408);
  expect(body).toEqual({
    errors: [{ message: expect.stringContaining("did not arrive in time") }],
  });
});

it("serves on after all of this", async () => {
  expect((await app.request.get("/health")).status).toBe(200);
});
