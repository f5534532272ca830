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
async function serve(requests: RequestsWaiting): Promise<RequestsWaiting> {
  server = createServer(begin(() => "", [requests.over])(requests.count(() => undefined)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return requests;
}
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** The next request's answer, which is not begun. */
const nextAnswer = async (): Promise<ServerResponse> =>
  ((await once(server, "request")) as [unknown, ServerResponse])[1];

it("waits from its arrival until its answer begins", async () => {
  const requests = await serve(soon);
  const arrived = nextAnswer();
  const answer = fetch(url);
  const res = await arrived;
  expect(requests.any).toBe(true);
  res.end("{}");
  expect(requests.any).toBe(false);
  expect(await (await answer).text()).toBe("{}");
});

it("does not wait once its event stream is open", async () => {
  const requests = await serve(soon);
  const arrived = nextAnswer();
  const leaving = new AbortController();
  const answer = fetch(url, { signal: leaving.signal });
  const res = await arrived;
  res.flushHeaders();
  await answer;
  expect(requests.any).toBe(false);
  leaving.abort();
});

it("is not waited for when it is itself a stream, and when that ends", async () => {
  const long = await serve(forLong);
  const arrived = nextAnswer();
  const answer = fetch(url);
  const res = await arrived;
  expect(long.any).toBe(true);
  long.leaveOut(res);
  expect(long.any).toBe(false);
  res.end("data:\n\n");
  await Promise.all([once(res, "close"), answer.then((each) => each.text())]);
  expect(long.any).toBe(false);
});

it("does not wait any more when its client has left", async () => {
  const requests = await serve(soon);
  const arrived = nextAnswer();
  const leaving = new AbortController();
  const answer = fetch(url, { signal: leaving.signal });
  const res = await arrived;
  leaving.abort();
  await expect(answer).rejects.toThrow("aborted");
  await once(res, "close");
  expect(requests.any).toBe(false);
});

it("waits on for the next request of a client that asks one after the other", async () => {
  const requests = await serve(forLong);
  const arrived = nextAnswer();
  const answer = fetch(url);
  const res = await arrived;
  const over = once(res, "close");
  res.end("{}");
  await Promise.all([answer, over]);
  expect(requests.any).toBe(true);
});
