// The clients of the soak end when they are told to, whatever they are doing.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SoakFollowers } from "./soak-followers.ts";

const UPDATE = { block: 1, time: "2026-01-31T12:00:00.000Z", topics: {} };

let server: Server;
let url: string;
/** Lets the answers begin that clients wait for. */
let begin: () => void;

beforeAll(async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  begin = () => resolve(undefined);
  server = createServer((_, res) => {
    void promise.then(() => {
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      res.write(`event: update\nid: 1.1\ndata: ${JSON.stringify(UPDATE)}\n\n`);
    });
  }).listen(0);
  await once(server, "listening");
  url = `http://localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

it("ends streams that open while all are closed", async () => {
  const errors: string[] = [];
  const followers = new SoakFollowers(url, (line) => errors.push(line));
  followers.start();
  await once(server, "request");
  const stopped = followers.stop();
  begin();
  await stopped;
  expect(errors).toEqual([]);
});
