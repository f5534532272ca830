// The turns of clients whose streams begin or catch up: each waits behind its own, and behind one of each other client.
import { setImmediate } from "node:timers/promises";
import { PoolTurns } from "../../../market/live/pool-turns.ts";
import { clientByClient } from "../../../market/live/client-turns.ts";

interface Read {
  name: string;
  end: PromiseWithResolvers<string>;
}

/** Reads by their names, "a1" of the client "a", which last until they are ended. */
function reads() {
  const turns = new PoolTurns();
  const begun: Read[] = [];
  const run = (name: string): Promise<string> =>
    turns.run(name.slice(0, 1), () => {
      const end = Promise.withResolvers<string>();
      begun.push({ name, end });
      return end.promise;
    });
  return { begun, run, names: () => begun.map(({ name }) => name) };
}

it("are given to two at once, and to one client after the other", async () => {
  const { begun, run, names } = reads();
  const all = ["a1", "a2", "a3", "a4", "b1", "c1", "b2"].map(run);
  expect(names()).toEqual(["a1", "a2"]);
  for (let n = 0; n < all.length; n += 1) {
    const read = begun[n]!;
    read.end.resolve(read.name);
    await setImmediate();
    expect(begun.length).toBe(Math.min(n + 3, all.length));
  }
  // The first of each client that waits, then the second ones.
  expect(names()).toEqual(["a1", "a2", "a3", "b1", "c1", "a4", "b2"]);
  await expect(Promise.all(all)).resolves.toEqual(["a1", "a2", "a3", "a4", "b1", "c1", "b2"]);
});

it("go on after one has failed", async () => {
  const { begun, run, names } = reads();
  const [first, ...others] = ["a1", "a2", "a3"].map(run);
  begun[0]?.end.reject(new Error("No such block"));
  await expect(first).rejects.toThrow("No such block");
  expect(names()).toEqual(["a1", "a2", "a3"]);
  for (const { end, name } of begun) end.resolve(name);
  await expect(Promise.all(others)).resolves.toEqual(["a2", "a3"]);
});

it("are each one's own without a client", () => {
  const items = ["a1", "a2", "?", "?", "b1"];
  const clientOf = (name: string) => (name === "?" ? undefined : name.slice(0, 1));
  expect(clientByClient(items, clientOf)).toEqual(["a1", "?", "?", "b1", "a2"]);
});
