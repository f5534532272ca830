// What a request is told that Node's own parser refuses, or that does not arrive.
import { createConnection } from "node:net";
import { text } from "node:stream/consumers";
import { HTTP_BOUNDS } from "../../../server/http/http-server.ts";
import type { Observation } from "../../../server/http/observe/observation.ts";
import { CHECKED_EACH_TIME, makeTestApp, type TestApp } from "../../app.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await makeDatabase();
  app = await makeTestApp(database.reader, {
    http: { ...HTTP_BOUNDS, headersTimeoutMs: 200, requestTimeoutMs: 400, idleMs: 800 },
    metrics: { isPublic: true },
  });
});
beforeEach(() => {
  app.over.length = 0;
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

interface Parsed {
  status: number;
  /** By their names in lower case; each occurs once. */
  headers: Record<string, string>;
  body: unknown;
}

/** An answer that must be whole, and JSON. */
function parsed(answer: string): Parsed {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = "", value = ""] = line.split(/: (.*)/s);
      return [name.toLowerCase(), value];
    }),
  );
  expect(Object.keys(headers)).toHaveLength(lines.length);
  expect(Buffer.byteLength(body)).toBe(Number(headers["content-length"]));
  expect(headers["content-type"]).toMatch(/^application\/json/);
  return { status: Number(statusLine.split(" ")[1]), headers, body: JSON.parse(body) };
}

/** The one request that is over, which it is a moment after the answer. */
async function theOneOver({ over } = app): Promise<Observation> {
  while (over.length === 0) await new Promise(setImmediate);
  expect(over).toHaveLength(1);
  return over[0]!;
}

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

const REFUSED: [name: string, bytes: string, status: number, message: string][] = [
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
    "a HEAD of which it has not read that it is one",
    "HEAD /v2/prices HTTP/1.1\r\nHost: x\r\n",
    408,
    "The request did not arrive in time: 200 ms for its headers, 400 ms for all of it",
  ],
  [
    "nothing",
    "",
    408,
    "The request did not arrive in time: 200 ms for its headers, 400 ms for all of it",
  ],
];

it.each(REFUSED)("answers %s in the envelope of v2", async (_name, bytes, status, message) => {
  const { status: told, body } = parsed(await afterSending(bytes));
  expect({ status: told, body }).toEqual({ status, body: { time: ISO, message } });
});

it.each(REFUSED)(
  "tells of %s under the id that the client is told",
  async (_name, bytes, status) => {
    const { headers } = parsed(await afterSending(bytes));
    const { id, status: observed, isAborted } = await theOneOver();
    expect({ id, observed, isAborted }).toEqual({
      id: headers["x-request-id"],
      observed: status,
      isAborted: false,
    });
  },
);

it.each(REFUSED)("gives %s the headers that every answer has, and ends", async (_name, bytes) => {
  const { headers } = parsed(await afterSending(bytes));
  const other = await app.request.get("/nowhere");
  const common = [
    "content-security-policy",
    "x-content-type-options",
    "referrer-policy",
    "cross-origin-resource-policy",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "cache-control",
  ];
  for (const name of common) expect([name, headers[name]]).toEqual([name, other.headers[name]]);
  expect(headers["connection"]).toBe("close");
});

it("counts what never became a request, by its status", async () => {
  const count = async (): Promise<number> => {
    const text = await app.metrics!.text();
    const found = /^dex_http_request_duration_seconds_count\{route="none",status="431"\} (\d+)$/m;
    return Number(found.exec(text)?.[1] ?? 0);
  };
  const before = await count();
  await afterSending(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(20_000)}\r\n\r\n`);
  await theOneOver();
  expect(await count()).toBe(before + 1);
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

describe.each([
  ["half a body", "Content-Length: 100\r\n\r\n{", 408, "REQUEST_TOO_SLOW"],
  ["a chunk that is none", "Transfer-Encoding: chunked\r\n\r\n?\r\n", 400, "BAD_REQUEST"],
  ["headers that are too long", `X: ${"x".repeat(20_000)}\r\n\r\n`, 431, "HEADERS_TOO_LONG"],
  ["an expectation", "Expect: wonders\r\n\r\n", 417, "EXPECTATION_FAILED"],
])("a GraphQL request with %s", (_name, rest, refused, code) => {
  const send = async (id = ""): Promise<Parsed> => {
    const head = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json";
    return parsed(await afterSending(`${head}${id}\r\n${rest}`));
  };

  it("is answered in GraphQL's form, with a code", async () => {
    const { status, body } = await send();
    expect(status).toBe(refused);
    expect(body).toEqual({
      errors: [{ message: expect.any(String), extensions: { code } }],
    });
  });

  it("is told of once, as GraphQL's, with the code", async () => {
    const { headers } = await send();
    expect(await theOneOver()).toMatchObject({
      id: headers["x-request-id"],
      method: "POST",
      route: "/graphql",
      errors: [code],
      status: refused,
      isAborted: false,
    });
  });
});

describe("A connection whose request was answered", () => {
  const ask = (more: string): string => `GET /v2/volumes HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

  it("is closed when nothing has come on it for IDLE_TIMEOUT_MS", async () => {
    // The client sends no end: the server's is what ends it.
    const { status, headers } = parsed(await afterSending(ask("")));
    expect([status, headers["connection"]]).toEqual([200, "keep-alive"]);
    // Less than a second is no time to tell.
    expect(headers).not.toHaveProperty("keep-alive");
  });

  it("is promised for a second less than it is kept", async () => {
    const lasting = await makeTestApp(database.reader, {
      http: { ...HTTP_BOUNDS, idleMs: 65_999 },
    });
    try {
      const { headers } = await lasting.request.get("/v2/volumes").set("Connection", "keep-alive");
      expect(headers).toMatchObject({ connection: "keep-alive", "keep-alive": "timeout=64" });
      const last = await lasting.request.get("/v2/volumes").set("Connection", "close");
      expect(last.headers["connection"]).toBe("close");
      expect(last.headers).not.toHaveProperty("keep-alive");
    } finally {
      await lasting.close();
    }
  });
});

it("gives up on half a request under the client's id", async () => {
  const { headers } = parsed(
    await afterSending(
      "POST /graphql HTTP/1.1\r\nHost: x\r\nX-Request-Id: half\r\n" +
        "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    ),
  );
  expect(headers["x-request-id"]).toBe("half");
  expect(await theOneOver()).toMatchObject({ id: "half", status: 408 });
});

describe.each([
  ["kept in memory", CHECKED_EACH_TIME],
  ["not kept", "off" as const],
])("where answers are %s, what is no HTTP and follows", (_name, cache) => {
  let locked: TestApp;
  beforeAll(async () => {
    locked = await makeTestApp(database.reader, { cache });
  });
  afterAll(() => locked.close());

  async function statementWaits(): Promise<void> {
    const waiting = "select from pg_locks where relation = 'dex_pair'::regclass and not granted";
    while ((await database.owner.query(waiting)).rowCount === 0) await new Promise(setImmediate);
  }

  const V1 = { data: {}, time: expect.any(Number), message: "The request is not HTTP/1.1" };
  const V2 = { time: ISO, message: "The request is not HTTP/1.1" };
  const NO_HTTP = "hello\r\n\r\n";
  it.each([
    ["/v1/prices in its packet", "/v1/prices", NO_HTTP, "", V1],
    ["/v1/prices when its statement waits", "/v1/prices", "", NO_HTTP, V1],
    ["/v2/prices in its packet", "/v2/prices", NO_HTTP, "", V2],
    ["/v2/prices when its statement waits", "/v2/prices", "", NO_HTTP, V2],
  ])("%s is refused in its place", async (_name, path, atOnce, later, body) => {
    locked.over.length = 0;
    const locking = await database.owner.connect();
    await locking.query("begin");
    await locking.query("lock table dex_pair in access exclusive mode");
    const socket = createConnection(Number(new URL(locked.url).port), "127.0.0.1");
    const told = text(socket);
    try {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: first\r\n\r\n${atOnce}`);
      await statementWaits();
      if (later !== "") socket.write(later);
      await told;
    } finally {
      await locking.query("rollback");
      locking.release();
    }
    const { headers, ...refused } = parsed(await told);
    expect(refused).toEqual({ status: 400, body });
    expect(headers).toMatchObject({ "x-request-id": "first", connection: "close" });
    expect(headers).not.toHaveProperty("keep-alive");
    expect(await theOneOver(locked)).toMatchObject({ id: "first", status: 400 });
    expect(locked.logged).toEqual([]);
  });
});

it("serves on after all of this", async () => {
  expect((await app.request.get("/health")).status).toBe(200);
});
