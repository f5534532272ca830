// A process that prints how many bytes of each answered request are kept until a full garbage collection.
import { createServer } from "node:http";
import { createConnection, type AddressInfo } from "node:net";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { HeldRequests } from "../../http/held-requests.ts";
import { RequestsWaiting } from "../../http/http-server.ts";
import { begin } from "../../http/request.ts";

const CONNECTIONS = 8;
const ANSWERS = 500;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options: { type: "minor" | "major" }) => void;

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "old_space")?.space_used_size ??
  NaN;

const requests = new RequestsWaiting();
const held = new HeldRequests({ perClient: 100, all: 100, bodyBytes: 0 });
const answer = held.bound((_req, res) => void res.writeHead(503).end())((_req, res) => {
  // Several are in flight at once.
  setImmediate(() => res.end("{}"));
});
const server = createServer(begin(() => "client", [requests.over])(requests.count(answer)));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

async function ask(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const socket = createConnection(port, "127.0.0.1");
  let asked = 0;
  const next = (): void => {
    if (asked % 50 === 0) collect({ type: "minor" });
    if (asked === ANSWERS) resolve(undefined);
    else socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    asked += 1;
  };
  socket.on("data", next);
  next();
  await promise;
  socket.destroy();
}
const askAll = (): Promise<unknown> => Promise.all(Array.from({ length: CONNECTIONS }, ask));

await askAll();
collect({ type: "major" });
const before = oldBytes();
await askAll();
collect({ type: "minor" });
console.log((oldBytes() - before) / (CONNECTIONS * ANSWERS));
server.close();
