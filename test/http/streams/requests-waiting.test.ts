// Which requests wait for their answers.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { RequestsWaiting } from "../../../http/http-server.ts";
import { begin } from "../../../http/request.ts";

const soon = new RequestsWaiting(0);
const forLong = new RequestsWaiting(60_000);
let server: Server;
let url: string;

/** Serves requests that this one counts. */
async function serve(requests: RequestsWaiting): Promise<void> {
  server = createServer(begin(() => "", [requests.over])(requests.count(() => undefined)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A request to a server that counts it, and its answer there, which is not begun. */
async function asked(requests: RequestsWaiting) {
  await serve(requests);
  const leaving = new AbortController();
  const arrived = once(server, "request") as Promise<[unknown, ServerResponse]>;
  const answer = fetch(url, { signal: leaving.signal });
  const [, res] = await arrived;
  return { answer, res, leaving };
}

it("waits from its arrival until its answer begins", async () => {
  const { answer, res } = await asked(soon);
  expect(soon.any).toBe(true);
  res.end("{}");
  expect(soon.any).toBe(false);
  expect(await (await answer).text()).toBe("{}");
});

it("does not wait once its event stream is open", async () => {
  const { answer, res, leaving } = await asked(soon);
  res.flushHeaders();
  await answer;
  expect(soon.any).toBe(false);
  leaving.abort();
});

it("is not waited for when it is itself a stream, and when that ends", async () => {
  const { answer, res } = await asked(forLong);
  expect(forLong.any).toBe(true);
  forLong.leaveOut(res);
  expect(forLong.any).toBe(false);
  res.end("data:\n\n");
  await Promise.all([once(res, "close"), answer.then((each) => each.text())]);
  expect(forLong.any).toBe(false);
});

it("does not wait any more when its client has left", async () => {
  const { answer, res, leaving } = await asked(soon);
  leaving.abort();
  await expect(answer).rejects.toThrow("aborted");
  await once(res, "close");
  expect(soon.any).toBe(false);
});

it("waits on for the next request of a client that asks one after the other", async () => {
  const { answer, res } = await asked(forLong);
  const over = once(res, "close");
  res.end("{}");
  await Promise.all([answer, over]);
  expect(forLong.any).toBe(true);
});
