// What is said where the system refuses the address; and a stop that leaves no connection.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { finishAnswersOf, listen } from "../../http/listen.ts";

/** A server whose system refuses with this code. */
function refusing(code: string) {
  const server = createServer();
  server.listen = () => {
    process.nextTick(() =>
      server.emit("error", Object.assign(new Error(`listen ${code}`), { code })),
    );
    return server;
  };
  return server;
}

const AT = { host: "127.0.0.1", port: 3000 };

it.each([
  [
    "ENOTSUP",
    "REUSE_PORT=1 is not supported by this system: Linux, FreeBSD, Solaris and AIX have it. Give each process a separate PORT.",
  ],
  [
    "EADDRINUSE",
    "PORT 3000 of 127.0.0.1 is in use by a process without REUSE_PORT=1, or of another user. Give another PORT, or 0 for any that is free.",
  ],
])("names REUSE_PORT for %s", async (code, message) => {
  await expect(listen(refusing(code), { ...AT, reusePort: true })).rejects.toThrow(message);
});

it("names no REUSE_PORT without it", async () => {
  await expect(listen(refusing("ENOTSUP"), AT)).rejects.toThrow(
    "HOST 127.0.0.1, PORT 3000 cannot be listened on: listen ENOTSUP",
  );
});

it("a stop that hurries closes a connection that was upgraded and is not read", async () => {
  const server = createServer();
  server.on("upgrade", () => undefined);
  const finishAnswers = finishAnswersOf(server);
  const url = new URL(await listen(server, { host: "127.0.0.1", port: 0 }));
  const socket = connect(Number(url.port), url.hostname);
  socket.on("error", () => undefined);
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
  await once(server, "upgrade");
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  const hurry = new AbortController();
  const finished = finishAnswers({ leave: () => Promise.resolve(), close }, hurry.signal);
  hurry.abort();
  await finished;
  socket.destroy();
});

it("a stop announces with each answer, in flight or after it, that the connection is closed", async () => {
  const waiting: ServerResponse[] = [];
  const server = createServer((_req, res) => void waiting.push(res));
  const finishAnswers = finishAnswersOf(server);
  const url = await listen(server, { host: "127.0.0.1", port: 0 });
  const before = fetch(url);
  while (waiting.length < 1) await setImmediate();
  const left = Promise.withResolvers<undefined>();
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  const stop = { leave: () => left.promise.then(() => undefined), close };
  const finished = finishAnswers(stop, new AbortController().signal);
  const after = fetch(url);
  while (waiting.length < 2) await setImmediate();
  for (const answer of waiting) answer.end();
  for (const { headers } of [await before, await after]) {
    expect(headers.get("connection")).toBe("close");
    expect(headers.has("keep-alive")).toBe(false);
  }
  left.resolve(undefined);
  await finished;
});
