// The bound of what waits for a client that does not read.
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { EventStream } from "../../../rest/stream/event-stream.ts";
import { Frame } from "../../../rest/stream/frame.ts";

it("ends the stream of a client that takes nothing, with at most one event beyond the bound", () => {
  const bufferBytes = 10_000;
  const req = new IncomingMessage(new Socket());
  // Without a socket, all that is written waits.
  const res = new ServerResponse(req);
  const ended: string[] = [];
  const stream = new EventStream(req, res, { bufferBytes, heartbeatMs: 60_000 }, (reason) =>
    ended.push(reason),
  );
  const event = new Frame(`data: ${"x".repeat(1000)}\n\n`);
  for (let n = 0; n < 100; n += 1) stream.send([event]);
  expect(ended).toEqual(["slow"]);
  expect(stream.isClosed()).toBe(true);
  expect(res.writableLength).toBeGreaterThan(bufferBytes);
  expect(res.writableLength).toBeLessThan(bufferBytes + 2 * event.bytes.length);
  res.destroy();
});
