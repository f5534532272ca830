// What requests without a whole answer may hold: how many of a client there are, on one connection and in all, the
// bytes of their bodies, and those of answers that are not read.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { createConnection, type AddressInfo, type Socket } from "node:net";
import { GRAPHQL_LIMITS } from "../../graphql/limits/limits.ts";
import { BODIES, HeldRequests, UNREAD } from "../../http/held-requests.ts";
import {
  HTTP_BOUNDS,
  makeServer,
  MAX_PIPELINED,
  MAX_SMALL_PIECES,
} from "../../http/http-server.ts";
import { begin, type RequestState } from "../../http/request.ts";
import { graphql } from "../exchange-http.ts";
import { registerMarkets } from "../factories.ts";
import { followStream } from "../stream-client.ts";
import { serveDatabase } from "../served.ts";

const BODY_BYTES = 1000;
const PER_CLIENT = BODIES.perClient + 10;

const sockets: Socket[] = [];
const { app } = serveDatabase(registerMarkets, {
  // Waits for a block as long as a test lasts.
  minBlockWaitMs: 3_600_000,
  limits: { ...GRAPHQL_LIMITS, bodyBytes: BODY_BYTES },
  requestsPerClient: PER_CLIENT,
  trustedProxies: 1,
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  // What has gone is counted no longer.
  while ((await connections()) > 0) await new Promise(setImmediate);
});

const connections = (): Promise<number> =>
  new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });

async function connect(): Promise<Socket> {
  const socket = createConnection(Number(new URL(app.url).port), "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

const get = (path: string, headers = ""): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const WAITING = get("/v2/prices", "X-Min-Block: 2147483647\r\n");
const HALF = `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n\r\n{`;

/** So many requests have come, on connections each of which has sent these bytes. */
async function hold(count: number, bytes: string): Promise<void> {
  let come = 0;
  const countOne = (): void => void (come += 1);
  app.server.on("request", countOne);
  for (let n = 0; n < count; n += 1) (await connect()).write(bytes);
  while (come < count) await new Promise(setImmediate);
  app.server.off("request", countOne);
}

/** All that a connection brings until it is closed. */
async function textOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (bytes: Buffer) => (text += String(bytes)));
  await once(socket, "close");
  return text;
}

/** Resolves when so many requests of this id are over, to those. */
async function overOf(id: string, count: number): Promise<RequestState[]> {
  for (;;) {
    const found = app.over.filter((each) => each.id === id);
    if (found.length >= count) return found;
    await new Promise(setImmediate);
  }
}

const AT_ONCE = `At most ${PER_CLIENT} requests of a client are answered at once: wait for an answer, then ask again`;

describe("requests of one client", () => {
  it("are refused beyond the bound, but not those of others, nor of supervisors", async () => {
    await hold(PER_CLIENT, WAITING);
    const refused = await app.request.get("/v2/prices").expect(429);
    expect(refused.body).toMatchObject({ message: AT_ONCE });
    expect(refused.headers["retry-after"]).toBe("1");
    await app.request.get("/v2/prices").set("x-forwarded-for", "10.0.0.1").expect(200);
    await app.request.get("/health").expect(200);
    sockets.pop()?.destroy();
    while ((await app.request.get("/v2/prices")).status === 429) await new Promise(setImmediate);
  });

  it("are not its streams, which other limits bound", async () => {
    await hold(PER_CLIENT - 1, WAITING);
    const stream = await followStream(`${app.url}/v2/stream?topics=head`);
    await stream.next();
    await app.request.get("/v2/prices").expect(200);
    stream.close();
  });
});

describe("bodies", () => {
  const asked = graphql({ query: "{ __typename }" });
  const post = (client: string) =>
    app.request
      .post(asked.path)
      .set({ ...asked.headers, "x-forwarded-for": client })
      .send(asked.body);

  it("of one client are refused beyond the bound of their bytes, whole or not", async () => {
    await hold(BODIES.perClient, HALF);
    const refused = await post("127.0.0.1").expect(429);
    const bytes = BODIES.perClient * BODY_BYTES;
    expect(refused.body).toEqual({
      errors: [
        {
          message: `The bodies of a client's requests in flight have at most ${bytes} bytes: wait for an answer, then ask again`,
          extensions: { code: "TOO_MANY_AT_ONCE", retryAfter: 1 },
        },
      ],
    });
    await post("10.0.0.1").expect(200);
    await app.request.get("/v2/prices").expect(200);
  });

  it("without a length count as the longest", async () => {
    const chunked = HALF.replace(/Content-Length: \d+/, "Transfer-Encoding: chunked");
    await hold(BODIES.perClient, chunked.replace(/\{$/, "1\r\n{\r\n"));
    await post("127.0.0.1").expect(429);
  });

  const inChunks = (head: string, text: string): string =>
    `${head}\r\n${text.replace(/[^]/g, "1\r\n$&\r\n")}0\r\n\r\n`;
  const CHUNKED = "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n";

  it("may come in small chunks", async () => {
    const socket = await connect();
    const body = (asked.body ?? "").padEnd(MAX_SMALL_PIECES);
    socket.write(inChunks(`POST /graphql HTTP/1.1\r\n${CHUNKED}Connection: close\r\n`, body));
    expect(await textOf(socket)).toContain('{"data":{"__typename":"Query"}}');
  });

  // Each chunk is an object of some 400 bytes: 64 bodies of 100 kB in chunks of a byte took more than 512 MB.
  it.each([
    ["that is read", "POST /graphql", ""],
    ["of a request that waits", "GET /v2/prices", "X-Min-Block: 2147483647\r\n"],
    ["of a supervisor's request", "GET /ready", ""],
  ])("do not come in more of them: one %s", async (_, line, headers) => {
    const socket = await connect();
    const head = `${line} HTTP/1.1\r\n${headers}X-Request-Id: pieces\r\n${CHUNKED}`;
    const last = get("/health", "X-Request-Id: behind\r\n");
    socket.write(inChunks(head, " ".repeat(MAX_SMALL_PIECES + 1)) + last);
    const answer = await textOf(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*Connection: close\r\n/);
    expect(answer).toContain("in more than 128 chunks of less than 256 bytes");
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(app.over.filter(({ id }) => id === "behind")).toEqual([]);
    expect((await overOf("pieces", 1)).at(-1)).toMatchObject({ status: 413, isAborted: false });
  });

  it("in more chunks behind another request close the connection", async () => {
    const socket = await connect();
    socket.write(WAITING + inChunks(`POST /graphql HTTP/1.1\r\n${CHUNKED}`, " ".repeat(1000)));
    expect(await textOf(socket)).toBe("");
  });

  it("of all clients are refused beyond their bound", async () => {
    const clients = BODIES.all / BODIES.perClient;
    for (let n = 0; n < clients; n += 1) {
      const of = `X-Forwarded-For: 10.1.0.${n}\r\nContent-Type`;
      await hold(BODIES.perClient, HALF.replace("Content-Type", of));
    }
    const { body } = await post("10.0.0.1").expect(503);
    expect(body).toMatchObject({ errors: [{ extensions: { code: "UNAVAILABLE" } }] });
    await app.request.get("/v2/prices").expect(200);
  });
});

it("answers that a client does not read are bounded by their bytes: then it is refused until it does", async () => {
  const held = new HeldRequests({ perClient: 100, all: 100, bodyBytes: 0 });
  const large = Buffer.alloc(UNREAD.perClient + 16 * 1024 * 1024);
  const clientOf = ({ headers }: IncomingMessage): string => String(headers["x-client"]);
  const server = createServer(
    begin(
      clientOf,
      [],
    )(
      held.bound((_req, res, { status, message }) => void res.writeHead(status).end(message))(
        ({ url }, res) => void res.end(url === "/large" ? large : "small"),
      ),
    ),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask = (path: string, client: string) =>
    fetch(url + path, { headers: { "x-client": client } });

  const unread = await ask("/large", "one");
  const refused = await ask("/small", "one");
  expect([refused.status, await refused.text()]).toEqual([
    429,
    `More than ${UNREAD.perClient} bytes of a client's answers wait to be read: read them, then ask again`,
  ]);
  expect((await ask("/small", "other")).status).toBe(200);
  expect((await unread.arrayBuffer()).byteLength).toBe(large.length);
  let status = 429;
  while (status === 429) {
    const again = await ask("/small", "one");
    await again.text();
    ({ status } = again);
  }
  expect(status).toBe(200);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe("behind another request on its connection", () => {
  const handled: string[] = [];
  const answers: (() => void)[] = [];
  const held = new HeldRequests({ perClient: 1, all: 100, bodyBytes: BODY_BYTES });
  const bounded = held.bound((_req, res, { status, message }) => {
    res.writeHead(status, { "Content-Length": message.length }).end(message);
  });
  const server = makeServer(
    begin(
      ({ headers }) => String(headers["x-client"]),
      [({ id, status, isAborted }) => void handled.push(`${id} ${status} ${isAborted}`)],
    )(
      bounded((_req, res) => {
        answers.push(() => void res.end(Buffer.from("first")));
      }),
    ),
    HTTP_BOUNDS,
    BODY_BYTES,
    () => undefined,
    () => true,
  );
  server.on("upgrade", () => void handled.push("upgraded"));
  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterAll(() => server.close());
  beforeEach(() => {
    handled.splice(0);
    answers.splice(0);
  });

  const ask = (client: string, id: string, more = ""): string =>
    get("/", `X-Client: ${client}\r\nX-Request-Id: ${id}\r\n${more}`);

  /** Another client's request waits on a connection that then brings this. Gives all that comes on it. */
  async function behind(...pieces: string[]): Promise<string> {
    const socket = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket);
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const brought = textOf(socket);
    const [served] = await accepted;
    let sent = 0;
    for (const piece of [ask("b", "one"), ...pieces]) {
      socket.write(piece);
      sent += piece.length;
      while (served.bytesRead < sent && !served.destroyed) await new Promise(setImmediate);
    }
    await new Promise(setImmediate);
    for (const answer of answers.splice(0)) answer();
    return await brought;
  }

  const UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  const LONG = `POST / HTTP/1.1\r\nHost: x\r\nX-Client: b\r\nContent-Length: 1000000\r\n\r\n`;
  it.each([
    ["nothing", [ask("b", "two")]],
    ["more requests at once", [ask("b", "two") + ask("c", "three").repeat(50)]],
    ["more requests later", [ask("b", "two"), ask("c", "three"), ask("c", "four")]],
    ["what is no HTTP", [ask("b", "two"), "hello\r\n\r\n", "hello\r\n\r\n"]],
    ["an upgrade", [ask("b", "two"), ask("c", "three", UPGRADE)]],
    ["a long body", [LONG, "x".repeat(900_000)]],
  ])("a refusal comes in its turn, and then the end; behind it %s", async (_, pieces) => {
    const brought = await behind(...pieces);
    expect(brought.match(/HTTP\/1\.1 \d+|first|At most 1 requests/g)).toEqual([
      ...["HTTP/1.1 200", "first"],
      ...["HTTP/1.1 429", "At most 1 requests"],
    ]);
    expect(brought.match(/Connection: close/g)).toHaveLength(1);
    while (handled.length < 2) await new Promise(setImmediate);
    expect(handled).toEqual(["one 200 false", expect.stringMatching(/ 429 false$/)]);
    expect(held.count).toBe(0);
  });

  const CONNECT = "CONNECT a:1 HTTP/1.1\r\nHost: x\r\nX-Client: c\r\nX-Request-Id: two\r\n\r\n";
  it.each([
    ["an upgrade", ask("c", "two", UPGRADE)],
    ["CONNECT", CONNECT],
  ])("%s is a request as any other: what waits before it is answered, and over", async (_, two) => {
    const socket = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket);
    const brought = textOf(socket);
    const first = once(server, "request");
    socket.write(ask("b", "one") + two);
    await first;
    await new Promise(setImmediate);
    for (const answer of answers.splice(0)) answer();
    expect((await brought).match(/HTTP\/1\.1 \d+|first/g)).toEqual([
      ...["HTTP/1.1 200", "first"],
      ...["HTTP/1.1 200", "first"],
    ]);
    while (handled.length < 2) await new Promise(setImmediate);
    expect(handled).toEqual(["one 200 false", "two 200 false"]);
    expect(held.count).toBe(0);
  });

  it.each([
    ["an upgrade", ask("c", "two", UPGRADE)],
    ["CONNECT", CONNECT],
  ])("%s gives back what waits before it, where the client leaves", async (_, two) => {
    const socket = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write(ask("b", "one") + two);
    await once(server, "request");
    await new Promise(setImmediate);
    socket.destroy();
    while (handled.length < 2) await new Promise(setImmediate);
    expect(handled.sort()).toEqual(["one 499 true", "two 499 true"]);
    expect(held.count).toBe(0);
  });

  it.each([
    ["what is no HTTP", "hello\r\n\r\n", 400],
    ["headers that are too long", ask("c", "two", `X-Long: ${"x".repeat(20_000)}\r\n`), 431],
  ])("%s is refused in its turn, and no other request in its place", async (_, two, status) => {
    const brought = await behind(two);
    expect(brought.match(/HTTP\/1\.1 \d+|first/g)).toEqual([
      ...["HTTP/1.1 200", "first"],
      `HTTP/1.1 ${status}`,
    ]);
    expect(handled).toEqual(["one 200 false"]);
    expect(held.count).toBe(0);
  });

  it.each([
    ["gets it in its turn", false],
    ["does not get it behind its headers, where it is answered before its turn", true],
  ])("a request that expects 100-continue %s", async (_, isEarly) => {
    const expects = "Content-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n";
    const socket = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket);
    let brought = "";
    socket.setEncoding("utf8").on("data", (text: string) => (brought += text));
    const end = once(socket, "end");
    const come = Promise.all([once(server, "request"), once(server, "checkContinue")]);
    socket.write(`${ask("b", "one")}${ask("c", "two", expects).replace("GET", "POST")}body`);
    await come;
    const [first, second] = answers.splice(0);
    if (isEarly) second?.();
    first?.();
    if (!isEarly) {
      while (!brought.includes("HTTP/1.1 100")) await new Promise(setImmediate);
      second?.();
    }
    await end;
    expect(brought.match(/HTTP\/1\.1 \d+|first/g)).toEqual([
      ...["HTTP/1.1 200", "first"],
      ...(isEarly ? [] : ["HTTP/1.1 100"]),
      ...["HTTP/1.1 200", "first"],
    ]);
  });

  it("a refusal is dropped with the connection whose client has left", async () => {
    const socket = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write(ask("b", "one") + ask("b", "two"));
    await once(server, "request");
    socket.destroy();
    while (handled.length < 2) await new Promise(setImmediate);
    expect(handled.sort()).toEqual(["one 499 true", "two 429 true"]);
    expect(held.count).toBe(0);
  });
});

describe("requests that wait on one connection", () => {
  it("have it closed beyond their bound, and are over then", async () => {
    const socket = await connect();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const headers = "X-Min-Block: 2147483647\r\nX-Request-Id: too-many\r\n";
    socket.write(get("/v2/prices", headers).repeat(MAX_PIPELINED + 50));
    await closed;
    const over = await overOf("too-many", MAX_PIPELINED + 1);
    expect(over.map(({ status, isAborted }) => [status, isAborted])).toEqual(
      Array.from({ length: MAX_PIPELINED + 1 }, () => [499, true]),
    );
  });

  it("are over when their client has left", async () => {
    const socket = await connect();
    const come = once(app.server, "request");
    const headers = "X-Min-Block: 2147483647\r\nX-Request-Id: gone\r\n";
    socket.write(get("/v2/prices", headers).repeat(4));
    await come;
    socket.destroy();
    const over = await overOf("gone", 4);
    expect(over.map(({ isAborted }) => isAborted)).toEqual([true, true, true, true]);
  });

  it("are answered in their order up to it", async () => {
    const socket = await connect();
    socket.write(get("/v2/prices").repeat(MAX_PIPELINED) + get("/health", "Connection: close\r\n"));
    const text = await textOf(socket);
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(MAX_PIPELINED + 1);
    expect(text).toMatch(/\{"status":"ok","version":"[^"]+"\}$/);
  });
});
