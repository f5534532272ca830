// What waits for clients of streams is bounded by what their streams may have waiting.
import { OpenStreams } from "../../../http/streams/open-streams.ts";

const MB = 1024 * 1024;

it("holds as many bytes of a client as may wait for each of its streams, and more with a key", () => {
  const open = new OpenStreams({ perClient: 50, all: 5000, bufferBytes: MB }, (client) =>
    client === "key" ? 100 : undefined,
  );
  const held = (client: string): number => {
    let count = 0;
    while (open.hold(client, Buffer.alloc(10 * MB)) !== undefined) count += 1;
    return count;
  };
  expect(["one", "another", "key"].map(held)).toEqual([5, 5, 10]);
});

it("holds 32 MB where buffers are small, so that a large message may be sent", () => {
  const open = new OpenStreams({ perClient: 50, all: 100, bufferBytes: 10_000 });
  const held = Array.from({ length: 4 }, () => open.hold("client", Buffer.alloc(10 * MB)));
  expect(held.map((release) => release !== undefined)).toEqual([true, true, true, false]);
});

it("counts a message once for all clients, until the last one has taken it", () => {
  const open = new OpenStreams({ perClient: 1, all: 40, bufferBytes: 10 * MB });
  const message = Buffer.alloc(30 * MB);
  const clients = Array.from({ length: 40 }, (_, n) => `client ${n}`);
  const held = clients.map((client) => open.hold(client, message));
  expect(held).not.toContain(undefined);
  const others = Array.from({ length: 12 }, (_, n) =>
    open.hold(`other ${n}`, Buffer.alloc(30 * MB)),
  );
  expect(others).not.toContain(undefined);
  const late = Buffer.alloc(30 * MB);
  expect(open.hold("late", late)).toBeUndefined();
  expect(open.hold("late", message)).toBeDefined();
  for (const release of held) release?.();
  expect(open.hold("late", late)).toBeUndefined();
});
