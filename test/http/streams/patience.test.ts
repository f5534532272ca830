// A client that takes bytes is waited for, but not for ever.
import type { Duplex } from "node:stream";
import { Patience } from "../../../http/streams/patience.ts";

/** A socket of which the system takes bytes when the test says so. */
function socketOf() {
  const handle = { bytesWritten: 1000, writeQueueSize: 1000 };
  const take = (bytes: number): void => void (handle.writeQueueSize -= bytes);
  return { socket: { _handle: handle } as unknown as Duplex, take };
}

it("lasts while bytes of one write are taken, and a few looks without any", () => {
  const { socket, take } = socketOf();
  const patience = new Patience(socket, { still: 2, all: 100 });
  for (let n = 0; n < 10; n += 1) {
    take(1);
    expect([patience.look(), patience.look()]).toEqual([true, true]);
  }
  expect(patience.look()).toBe(false);
});

it("ends for a client that takes a byte now and then, unless a message is taken whole", () => {
  const { socket, take } = socketOf();
  const patience = new Patience(socket, { still: 2, all: 5 });
  const lookAtByte = (): boolean => {
    take(1);
    return patience.look();
  };
  const four = () => Array.from({ length: 4 }, lookAtByte);
  expect(four()).toEqual([true, true, true, true]);
  patience.renew();
  expect([...four(), lookAtByte()]).toEqual([true, true, true, true, false]);
});

it("ends soon for a socket that is gone", () => {
  const patience = new Patience(null, { still: 2, all: 5 });
  expect([patience.look(), patience.look()]).toEqual([true, false]);
});
