// The bound of what waits for a client that does not read.
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { EventStream } from "../../../rest/stream/event-stream.ts";
import { Frame } from "../../../rest/stream/frame.ts";
import { WaitingMessages } from "../../../http/streams/waiting-messages.ts";

it("ends the stream of a client that takes nothing, with at most one event beyond the bound", () => {
  const bufferBytes = 10_000;
  const req = new IncomingMessage(new Socket());
  // Without a socket, all that is written waits.
  const res = new ServerResponse(req);
  const ended: string[] = [];
  const stream = new EventStream(req, res, {
    bounds: { bufferBytes, heartbeatMs: 60_000 },
    hold: () => () => undefined,
    onEnd: (reason) => ended.push(reason),
  });
  const event = new Frame(`data: ${"x".repeat(1000)}\n\n`);
  for (let n = 0; n < 100; n += 1) stream.send([event]);
  expect(ended).toEqual(["slow"]);
  expect(stream.isClosed()).toBe(true);
  expect(res.writableLength).toBeGreaterThan(bufferBytes);
  expect(res.writableLength).toBeLessThan(bufferBytes + 2 * event.bytes.length);
  res.destroy();
});

/** Streams of one client that takes nothing, for which so much may wait. */
function streamsOf(waiting: WaitingMessages) {
  const ended: string[] = [];
  const open = () => {
    const req = new IncomingMessage(new Socket());
    const res = new ServerResponse(req);
    const stream = new EventStream(req, res, {
      bounds: { bufferBytes: 2000, heartbeatMs: 60_000 },
      hold: (message) => waiting.take("client", message),
      onEnd: (reason) => ended.push(reason),
    });
    return { res, stream };
  };
  return { ended, open };
}

const eventOf = (length = 3000) => new Frame(`data: ${"x".repeat(length)}\n\n`);

it("ends the stream whose large event would be too much beside those of the client's others", () => {
  const waiting = new WaitingMessages({ perClient: 7500, all: 100_000 });
  const { ended, open } = streamsOf(waiting);
  const streams = Array.from({ length: 10 }, open);
  const [second, third, small] = [open(), open(), open()];
  const same = eventOf();
  for (const { stream } of streams) stream.send([same]);
  second.stream.send([eventOf()]);
  expect(ended).toEqual([]);
  third.stream.send([eventOf()]);
  expect(ended).toEqual(["slow"]);
  expect(third.res.writableLength).toBeLessThan(2000);
  // What fits into the buffer of a stream does not count.
  small.stream.send([new Frame("data: x\n\n")]);
  expect(ended).toEqual(["slow"]);

  // What its clients have not taken waits no more when they are gone.
  const all = [...streams, second, third, small];
  for (const { res } of all) res.emit("close");
  expect(waiting.take("client", Buffer.alloc(7500))).toBeDefined();
  for (const { res } of all) res.destroy();
});

it("sends one event whatever its size where nothing else waits for the client, and no second one", () => {
  const { ended, open } = streamsOf(new WaitingMessages({ perClient: 7500, all: 100_000 }));
  const [first, second] = [open(), open()];
  first.stream.send([eventOf(20_000)]);
  expect(ended).toEqual([]);
  expect(first.res.writableLength).toBeGreaterThan(20_000);
  second.stream.send([eventOf()]);
  expect(ended).toEqual(["slow"]);
  expect(second.res.writableLength).toBeLessThan(2000);
  for (const { res } of [first, second]) {
    res.emit("close");
    res.destroy();
  }
});
