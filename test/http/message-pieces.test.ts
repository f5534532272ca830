// What is left of a body in too many small pieces: the test of held-requests.ts has the answers.
import { once } from "node:events";
import { createServer } from "node:http";
import { createConnection, type AddressInfo } from "node:net";
import { CountedMessage, MAX_SMALL_PIECES } from "../../http/http-server.ts";

let pieces = 0;

class WatchedMessage extends CountedMessage {
  constructor(...args: ConstructorParameters<typeof CountedMessage>) {
    super(...args);
    const push = this.push.bind(this);
    this.push = (piece, encoding) => {
      if (piece !== null) pieces += 1;
      return push(piece, encoding);
    };
  }
}

const server = createServer({ IncomingMessage: WatchedMessage }, (req, res) => {
  req.on("end", () => res.end()).resume();
});
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => server.close());

async function statusOf(chunks: number): Promise<string> {
  const socket = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(
    "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" +
      `${"1\r\n \r\n".repeat(chunks)}0\r\n\r\n`,
  );
  const [bytes] = (await once(socket, "data")) as [Buffer];
  await once(socket, "close");
  return String(bytes.subarray("HTTP/1.1 ".length, "HTTP/1.1 200".length));
}

it("the rest of what was read with them is not parsed, and the next connection is read as before", async () => {
  expect(await statusOf(10_000)).toBe("413");
  expect(pieces).toBe(MAX_SMALL_PIECES + 1);
  for (let n = 0; n < 3; n += 1) expect(await statusOf(MAX_SMALL_PIECES)).toBe("200");
  expect(await statusOf(MAX_SMALL_PIECES + 1)).toBe("413");
});
