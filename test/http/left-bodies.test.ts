// A client may go on sending a body when its request is answered already.
import { once } from "node:events";
import { createServer } from "node:http";
import { createConnection, type AddressInfo } from "node:net";
import { countedMessages } from "../../http/http-server.ts";

const BODY_BYTES = 100_000;

// It reads no body.
const server = createServer({ IncomingMessage: countedMessages(BODY_BYTES) }, (_req, res) => {
  res.end("answer");
});
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => server.close());

/** Sends the body when the answer has come, and another request. */
async function readOf(head: string, body: string): Promise<{ read: number; next: string }> {
  const accepted = once(server, "connection") as Promise<[NodeJS.Socket & { bytesRead: number }]>;
  const socket = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  const [served] = await accepted;
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${head}\r\n`);
  await once(socket, "data");
  const { promise: next, resolve } = Promise.withResolvers<string>();
  socket.once("data", (bytes) => resolve(String(bytes).slice(0, "HTTP/1.1 200".length)));
  socket.once("close", () => resolve("closed"));
  socket.write(`${body}GET / HTTP/1.1\r\nHost: x\r\n\r\n`);
  const how = await next;
  socket.destroy();
  return { read: served.bytesRead, next: how };
}

const length = (bytes: number): string => `Content-Length: ${bytes}\r\n`;
const CHUNKED = "Transfer-Encoding: chunked\r\n";
const inChunks = (times: number, bytes: number): string =>
  `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`.repeat(times) + "0\r\n\r\n";

it("as much of it as a body may have is read, and then the next request is answered", async () => {
  const whole = await readOf(length(BODY_BYTES), "x".repeat(BODY_BYTES));
  expect(whole.next).toBe("HTTP/1.1 200");
  expect((await readOf(CHUNKED, inChunks(10, 1000))).next).toBe("HTTP/1.1 200");
});

it("the connection is closed where more of it comes, or many small chunks", async () => {
  const many = 50_000_000;
  const long = await readOf(length(many), "x".repeat(many));
  expect(long.next).toBe("closed");
  // What Node had read until then is some reads of 64 kB.
  expect(long.read).toBeLessThan(BODY_BYTES + 40 * 65_536);
  const small = await readOf(CHUNKED, inChunks(1_000_000, 1));
  expect(small.next).toBe("closed");
  expect(small.read).toBeLessThan(40 * 65_536);
});
