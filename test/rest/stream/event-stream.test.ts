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

it("ends the stream whose event would be too much beside those of the client's others", () => {
  const waiting = new WaitingMessages({ perClient: 2500, all: 100_000 });
  const ended: string[] = [];
  const open = () => {
    const req = new IncomingMessage(new Socket());
    const res = new ServerResponse(req);
    const stream = new EventStream(req, res, {
      bounds: { bufferBytes: 10_000, heartbeatMs: 60_000 },
      hold: (message) => waiting.take("client", message),
      onEnd: (reason) => ended.push(reason),
    });
    return { res, stream };
  };
  const eventOf = () => new Frame(`data: ${"x".repeat(1000)}\n\n`);
  const streams = Array.from({ length: 10 }, open);
  const same = eventOf();
  for (const { stream } of streams) stream.send([same]);
  streams[0]!.stream.send([eventOf()]);
  expect(ended).toEqual([]);
  streams[1]!.stream.send([eventOf()]);
  expect(ended).toEqual(["slow"]);
  expect(streams[1]!.res.writableLength).toBeLessThan(2000);

  // What its clients have not taken waits no more when they are gone.
  for (const { res } of streams) res.emit("close");
  expect(waiting.take("client", Buffer.alloc(2500))).toBeDefined();
  for (const { res } of streams) res.destroy();
});
