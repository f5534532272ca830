// Which answers the fuzz takes that Node's client does not.
import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { answerTo } from "./answer-to.ts";

const running: Server[] = [];
afterEach(() => {
  for (const server of running.splice(0)) server.close();
});

/** Where a server gives this to whoever connects, whatever he asks, and closes the connection. */
async function answering(...lines: string[]): Promise<string> {
  const server = createServer((socket) => {
    socket.once("data", () => socket.end(lines.join("\r\n")));
  });
  running.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const HEAD = { method: "HEAD", path: "/nowhere" };

it("takes a refusal with a body where the service has not read that it is a HEAD", async () => {
  const url = await answering(
    ...["HTTP/1.1 408 Request Timeout", "Content-Type: application/json", "Connection: close"],
    ...["Content-Length: 18", "", '{"message":"late"}'],
  );
  expect(await answerTo(url, HEAD, {})).toEqual({ status: 408, text: '{"message":"late"}' });
});

it.each([
  ["of a request that was read", "200 OK", "close"],
  ["on a connection that goes on", "408 Request Timeout", "keep-alive"],
])("takes no body of a HEAD %s", async (_name, status, connection) => {
  const url = await answering(
    ...[`HTTP/1.1 ${status}`, `Connection: ${connection}`, "Content-Length: 2", "", "{}"],
  );
  await expect(answerTo(url, HEAD, {})).rejects.toThrow("Parse Error");
});
