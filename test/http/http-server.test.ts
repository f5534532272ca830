// What a request is answered that HTTP/1.1 rules out, that Node's parser refuses, or that does not arrive.
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createConnection, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { GRAPHQL_LIMITS } from "../../graphql/limits/limits.ts";
import { dropAbandoned, HTTP_BOUNDS, makeServer } from "../../http/http-server.ts";
import { STREAM_LIMITS } from "../../rest/stream/stream-endpoint.ts";
import type { RequestState } from "../../http/request.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { serveDatabase } from "../served.ts";

const { app, database } = serveDatabase(undefined, { metrics: { isPublic: true } });

/** Sends these bytes, and no end; gives what came until the server closed the connection. */
async function afterSending(bytes: string, { url } = app): Promise<string> {
  const socket = createConnection(Number(new URL(url).port), "127.0.0.1");
  socket.write(bytes);
  return text(socket);
}

/**
 * As `afterSending`, with timeouts that pass when the server has read the bytes. A server that is slow to
 * read would time out before, and its answer would be lost with the bytes that it has not read.
 */
async function afterTimeout(bytes: string): Promise<string> {
  const { server } = app;
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const answer = afterSending(bytes);
  const [socket] = await accepted;
  while (socket.bytesRead < bytes.length) await new Promise(setImmediate);
  const { headersTimeout, requestTimeout } = server;
  Object.assign(server, { headersTimeout: 1, requestTimeout: 1 });
  try {
    return await answer;
  } finally {
    Object.assign(server, { headersTimeout, requestTimeout });
  }
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

/** The request of this id, which is over a moment after its answer. */
async function overOf(id: string | undefined, of = app): Promise<RequestState> {
  for (;;) {
    const found = of.over.filter((state) => state.id === id);
    if (found.length > 0) {
      expect(found).toHaveLength(1);
      return found[0]!;
    }
    await new Promise(setImmediate);
  }
}

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

const NOT_HTTP: [name: string, bytes: string, status: string][] = [
  ["no HTTP", "hello\r\n\r\n", "400 Bad Request"],
  ["a line of another protocol", "\x16\x03\x01\x02", "400 Bad Request"],
  [
    "a length that is no number",
    "GET /v2/prices HTTP/1.1\r\nHost: x\r\nContent-Length: one\r\n\r\n",
    "400 Bad Request",
  ],
  [
    "headers that are too long",
    `GET /v2/prices HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(20_000)}\r\n\r\n`,
    "431 Request Header Fields Too Large",
  ],
];

it.each(NOT_HTTP)("answers %s by its status alone, and ends", async (_name, bytes, status) => {
  expect(await afterSending(bytes)).toBe(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
});

it.each([
  ["headers that do not end", "GET /v2/prices HTTP/1.1\r\nHost: x\r\n"],
  ["nothing", ""],
])("answers %s by 408 when the time for the headers has passed", async (_name, bytes) => {
  expect(await afterTimeout(bytes)).toBe(
    "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n",
  );
});

it("has the bounds that it is given", async () => {
  const http = { ...HTTP_BOUNDS, headersTimeoutMs: 20_001, requestTimeoutMs: 20_002 };
  await using bounded = await makeTestApp(database.reader, { http });
  const { headersTimeout, requestTimeout } = bounded.server;
  expect([headersTimeout, requestTimeout]).toEqual([20_001, 20_002]);
});

describe.each(["0.9", "2.0"])("a request of HTTP/%s", (version) => {
  const message = "The request must be HTTP/1.1 or HTTP/1.0";
  it.each([
    ["GET /v1/prices", { data: {}, time: expect.any(Number) as number, message }],
    ["GET /v2/prices", { time: expect.any(String) as string, message }],
    ["POST /graphql", { errors: [{ message, extensions: { code: "BAD_REQUEST" } }] }],
  ])("for %s is refused, and ends", async (line, body) => {
    const refused = parsed(await afterSending(`${line} HTTP/${version}\r\nHost: x\r\n\r\n`));
    expect(refused).toMatchObject({ status: 400, body, headers: { connection: "close" } });
  });
});

it("answers HTTP/1.0, which needs no Host", async () => {
  const answer = await afterSending("GET /v2/prices HTTP/1.0\r\n\r\n");
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
});

describe("Expect: 100-continue", () => {
  const head = (length: number): string =>
    "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json\r\n" +
    `Expect: 100-continue\r\nContent-Length: ${length}\r\n`;

  it("with a body that is too long is refused before the body is asked for", async () => {
    const refused = parsed(await afterSending(`${head(GRAPHQL_LIMITS.bodyBytes + 1)}\r\n`));
    expect(refused).toMatchObject({
      status: 413,
      headers: { connection: "close" },
      body: { errors: [expect.objectContaining({ extensions: { code: "BODY_TOO_LARGE" } })] },
    });
  });

  it("with another body is answered after the body has come", async () => {
    const body = JSON.stringify({ query: "{ __typename }" });
    const answer = await afterSending(`${head(body.length)}Connection: close\r\n\r\n${body}`);
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
    expect(answer).toContain('{"data":{"__typename":"Query"}}');
  });
});

// Node drops what comes with it in one piece, unread.
it.each(["h2c", "wonders"])(
  "ends the connection behind the answer to a request whose upgrade to %s is ignored",
  async (protocol) => {
    const upgrade = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`;
    const last = "GET /v2/volumes HTTP/1.1\r\nHost: x\r\n\r\n";
    const answer = await afterSending(
      `GET /v2/prices HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n${last}`,
    );
    expect(parsed(answer)).toMatchObject({ status: 200, headers: { connection: "close" } });
  },
);

const MALFORMED: [name: string, headers: string, status: number, message: string][] = [
  ["no Host", "", 400, "The request has no Host header"],
  ["two Hosts", "Host: x\r\nhost: y\r\n", 400, "The request has two Host headers"],
  [
    "an expectation",
    "Host: x\r\nExpect: wonders\r\n",
    417,
    "Nothing but 100-continue is accepted in Expect",
  ],
  [
    "another transfer coding",
    "Host: x\r\nTransfer-Encoding: gzip, chunked\r\n",
    501,
    "Nothing but chunked is accepted in Transfer-Encoding",
  ],
];

describe.each(MALFORMED)("a request with %s", (_name, headers, status, message) => {
  it.each([
    ["/v1/prices", { data: {}, time: expect.any(Number) as number, message }],
    ["/v2/prices", { time: ISO, message }],
  ])("is refused in the envelope of %s, and ends", async (path, body) => {
    const refused = parsed(await afterSending(`GET ${path} HTTP/1.1\r\n${headers}\r\n`));
    expect({ status: refused.status, body: refused.body }).toEqual({ status, body });
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
    for (const name of common) {
      expect([name, refused.headers[name]]).toEqual([name, other.headers[name]]);
    }
    expect(refused.headers["connection"]).toBe("close");
    expect(refused.headers).not.toHaveProperty("keep-alive");
  });

  it("is reported under the id that the client gets", async () => {
    const answer = await afterSending(`GET /v2/prices HTTP/1.1\r\n${headers}\r\n`);
    const over = await overOf(parsed(answer).headers["x-request-id"]);
    expect(over).toMatchObject({ status, isAborted: false });
  });
});

it.each(["http://[::1/health", "http://[/health", "http://", "http:///x"])(
  "refuses the absolute URL %s",
  async (url) => {
    const request = `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    const { status } = parsed(await afterSending(request));
    expect([400, 404]).toContain(status);
  },
);

it("refuses GraphQL's in GraphQL's form, with a code", async () => {
  const head = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json";
  const { status, headers, body } = parsed(
    await afterSending(`${head}\r\nExpect: wonders\r\n\r\n`),
  );
  expect(status).toBe(417);
  expect(body).toEqual({
    errors: [{ message: expect.any(String), extensions: { code: "EXPECTATION_FAILED" } }],
  });
  expect(await overOf(headers["x-request-id"])).toMatchObject({
    method: "POST",
    route: "/graphql",
    errors: ["EXPECTATION_FAILED"],
    status: 417,
  });
});

it.each([
  ["half a body", "Content-Length: 100\r\n\r\n{", "408 Request Timeout"],
  ["a chunk that is none", "Transfer-Encoding: chunked\r\n\r\n?\r\n", "400 Bad Request"],
])(
  "gives up on a request with %s, and reports it by the status that it sends",
  async (_name, rest, status) => {
    const head = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json";
    const answer = await afterTimeout(`${head}\r\nX-Request-Id: ${status[2]}\r\n${rest}`);
    expect(answer).toBe(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
    const over = await overOf(status[2]);
    expect(over).toMatchObject({
      status: Number(status.slice(0, 3)),
      route: "/graphql",
      isAborted: false,
    });
  },
);

it("counts a client's malformed requests by the rate limit", async () => {
  await using limited = await makeTestApp(database.reader, {
    rateLimit: 4,
  });
  const send = (bytes: string): Promise<string> => afterSending(bytes, limited);
  await send("hello\r\n\r\n");
  await send("GET /v2/prices HTTP/1.1\r\n\r\n");
  await send("GET /v2/prices HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n");
  const answers = [
    await limited.request.get("/v2/prices"),
    await limited.request.get("/v2/prices"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 429]);
});

describe("A connection whose request was answered", () => {
  const ask = (more: string): string => `GET /v2/volumes HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

  it("is closed when nothing has come on it for IDLE_TIMEOUT_MS", async () => {
    await using impatient = await makeTestApp(database.reader, {
      http: { ...HTTP_BOUNDS, idleMs: 800 },
    });
    // A server that is slow to read the request closes the connection before, without an answer.
    let answer = "";
    while (answer === "") answer = await afterSending(ask(""), impatient).catch(() => "");
    const { status, headers } = parsed(answer);
    expect([status, headers["connection"]]).toEqual([200, "keep-alive"]);
    // The header counts whole seconds, and this is less.
    expect(headers).not.toHaveProperty("keep-alive");
  });

  it("is promised for a second less than it is kept", async () => {
    await using lasting = await makeTestApp(database.reader, {
      http: { ...HTTP_BOUNDS, idleMs: 65_999 },
    });
    const { headers } = await lasting.request.get("/v2/volumes").set("Connection", "keep-alive");
    expect(headers).toMatchObject({ connection: "keep-alive", "keep-alive": "timeout=64" });
    const last = await lasting.request.get("/v2/volumes").set("Connection", "close");
    expect(last.headers["connection"]).toBe("close");
    expect(last.headers).not.toHaveProperty("keep-alive");
  });
});

it("reports a request whose client goes away before its answer as 499", async () => {
  const locking = await database.owner.connect();
  await locking.query("begin");
  await locking.query("lock table dex_pair in access exclusive mode");
  const socket = createConnection(Number(new URL(app.url).port), "127.0.0.1");
  socket.write("GET /v1/pairs HTTP/1.1\r\nHost: x\r\nX-Request-Id: gone\r\n\r\n");
  const waiting = "select from pg_locks where relation = 'dex_pair'::regclass and not granted";
  while ((await database.owner.query(waiting)).rowCount === 0) await new Promise(setImmediate);
  socket.destroy();
  expect(await overOf("gone")).toMatchObject({ status: 499, isAborted: true });
  await locking.query("rollback");
  locking.release();
});

it.each([
  // A connection that is reset has no address.
  ["", { trustedProxies: 0 }],
  [", behind a proxy", { trustedProxies: 1 }],
  [", behind proxies that are named", { trustedProxies: ["127.0.0.0/8"] }],
])("does nothing for a request whose client has gone before it is read%s", async (_, behind) => {
  await using plain = await makeTestApp(database.reader, { cache: "off", ...behind });
  const gone = async (head: string, n: number): Promise<RequestState> => {
    const id = `abandoned-${n}`;
    const socket = createConnection(Number(new URL(plain.url).port), "127.0.0.1", () => {
      socket.write(`${head} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n\r\n`);
      socket.resetAndDestroy();
    });
    return overOf(id, plain);
  };
  const over = [];
  for (const n of [1, 2, 3]) over.push(await gone("GET /v2/volumes", n));
  for (const n of [4, 5, 6]) over.push(await gone("GET /graphql?query={__typename}", n));
  // A request gets its route where it is passed on to a part of the service.
  expect(over.map(({ status, route }) => [status, route])).toEqual(Array(6).fill([499, undefined]));
});

it("ends the connection of a request in which the service has a fault, and no other", async () => {
  const logged: unknown[] = [];
  const log = (error: unknown) => void logged.push(error);
  const fault: RequestListener = ({ url }, res) => {
    if (url === "/fault") throw new Error("a fault");
    res.end("answered");
  };
  const listener = dropAbandoned(log)(fault);
  for (const [n, guarded] of [fault, listener].entries()) {
    const server = makeServer(
      guarded,
      HTTP_BOUNDS,
      0,
      () => undefined,
      () => false,
      log,
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answers = await Promise.allSettled(["", "/fault", ""].map((path) => fetch(url + path)));
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(logged).toEqual(Array(n + 1).fill(new Error("a fault")));
    server.close();
  }
});

it("serves on after all of this", async () => {
  expect((await app.request.get("/health")).status).toBe(200);
});

describe("connections of one address", () => {
  const MOST = 2 * (1 + 2 * 1);
  const HEALTH = "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const open: Socket[] = [];
  let bounded: TestApp;
  beforeAll(async () => {
    bounded = await makeTestApp(database.reader, {
      requestsPerClient: 1,
      streams: { ...STREAM_LIMITS, perClient: 1 },
      trustedProxies: ["127.0.0.3"],
    });
  });
  afterAll(async () => {
    for (const socket of open) socket.destroy();
    await bounded.close();
  });

  async function holdOpen(localAddress: string): Promise<Socket> {
    const accepted = once(bounded.server, "connection");
    const port = Number(new URL(bounded.url).port);
    const socket = createConnection({ port, host: "127.0.0.1", localAddress });
    open.push(socket);
    await accepted;
    return socket;
  }

  it("are refused where they are more than it can use, and no other's", async () => {
    for (let n = 0; n < MOST; n += 1) await holdOpen("127.0.0.1");
    expect(await text(await holdOpen("127.0.0.1"))).toMatch(
      /^HTTP\/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n/,
    );
    const other = await holdOpen("127.0.0.2");
    other.write(HEALTH);
    expect(await text(other)).toMatch(/^HTTP\/1.1 200 /);
  });

  it("are as many again when some are closed", async () => {
    const [first] = open;
    first!.destroy();
    await once(first!, "close");
    for (;;) {
      const socket = await holdOpen("127.0.0.1");
      socket.write(HEALTH);
      if (/^HTTP\/1.1 200 /.test(await text(socket).catch(() => ""))) break;
    }
  });

  it("are any number of a trusted proxy", async () => {
    for (let n = 0; n <= MOST; n += 1) await holdOpen("127.0.0.3");
    const last = await holdOpen("127.0.0.3");
    last.write(HEALTH);
    expect(await text(last)).toMatch(/^HTTP\/1.1 200 /);
  });
});
