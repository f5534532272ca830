// What waits for clients of streams beside their buffers is bounded.
import { OpenStreams } from "../../../http/streams/open-streams.ts";

const MB = 1024 * 1024;
const LIMITS = { perClient: 50, all: 5000 };

it("holds 32 MB of a client, so that several large messages may be sent", () => {
  const open = new OpenStreams(LIMITS);
  const held = Array.from({ length: 4 }, () => open.hold("client", Buffer.alloc(10 * MB)));
  expect(held.map((release) => release !== undefined)).toEqual([true, true, true, false]);
  held[0]?.();
  expect(open.hold("client", Buffer.alloc(10 * MB))).toBeDefined();
});

it("lets one message through whatever its size, where nothing else waits", () => {
  const open = new OpenStreams(LIMITS);
  const small = open.hold("client", Buffer.alloc(1));
  expect(open.hold("client", Buffer.alloc(40 * MB))).toBeUndefined();
  small?.();
  const large = open.hold("client", Buffer.alloc(40 * MB));
  expect(large).toBeDefined();
  expect(open.hold("client", Buffer.alloc(1))).toBeUndefined();
  // For all it counts as large as it is, up to their bound.
  expect(open.hold("other", Buffer.alloc(281 * MB))).toBeUndefined();
  large?.();
  const ofAll = open.hold("client", Buffer.alloc(330 * MB));
  expect(ofAll).toBeDefined();
  expect(open.hold("other", Buffer.alloc(1))).toBeUndefined();
  ofAll?.();
  expect(open.hold("other", Buffer.alloc(1))).toBeDefined();
});

it("counts a message once for all clients, until the last one has taken it", () => {
  const open = new OpenStreams(LIMITS);
  const message = Buffer.alloc(30 * MB);
  const held = Array.from({ length: 40 }, (_, n) => open.hold(`client ${n}`, message));
  expect(held).not.toContain(undefined);
  // With it, ten of 30 MB are 300 of 320 MB.
  const others = Array.from({ length: 9 }, (_, n) =>
    open.hold(`other ${n}`, Buffer.alloc(30 * MB)),
  );
  expect(others).not.toContain(undefined);
  const late = Buffer.alloc(30 * MB);
  expect(open.hold("late", late)).toBeUndefined();
  const last = open.hold("late", message);
  for (const release of held) release?.();
  expect(open.hold("later", late)).toBeUndefined();
  last?.();
  expect(open.hold("later", late)).toBeDefined();
});
