// The share of the event loop that subscriptions take: their work begins one by one, with pauses.
import { LoopShare } from "../../../http/streams/loop-share.ts";

async function iterations(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function useLoop(ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (performance.now() < until);
  return Promise.resolve();
}

it("lets each work begin in a separate iteration, in the order in which they came", async () => {
  const share = new LoopShare(() => true);
  let iteration = 0;
  const begun: [name: string, iteration: number][] = [];
  const works = ["1", "2", "3"].map((name) =>
    share.run(async () => {
      begun.push([name, iteration]);
      return Promise.resolve(name);
    }),
  );
  for (; begun.length < 3; iteration += 1) await iterations(1);
  expect(begun.map(([name]) => name)).toEqual(["1", "2", "3"]);
  expect(new Set(begun.map(([, at]) => at)).size).toBe(3);
  await expect(Promise.all(works)).resolves.toEqual(["1", "2", "3"]);
});

it("pauses three times as long as the loop was used, while a request waits", async () => {
  const share = new LoopShare(() => true);
  await share.run(() => useLoop(30));
  const pausedAt = performance.now();
  // 3 x 30 ms in steps of 1 ms, each of which may end within it.
  expect((await share.run(() => Promise.resolve(performance.now()))) - pausedAt).toBeGreaterThan(
    44,
  );
});

it("lets a work begin after its longest wait, also in a pause", async () => {
  let asked = 0;
  const share = new LoopShare(() => ++asked > 0, 1);
  await share.run(() => useLoop(100));
  // The longest pause follows. By a clock that stands still it has 250 steps of 1 ms, in each of which it asks.
  const clock = jest.spyOn(performance, "now").mockReturnValue(performance.now());
  const before = asked;
  const begun = await share.run(() => Promise.resolve(asked - before));
  clock.mockRestore();
  // None where the machine halts for as long before the first step.
  expect(begun).toBeLessThan(250);
});

it("ends a pause as soon as no request waits", async () => {
  let asked = 0;
  const share = new LoopShare(() => ++asked < 4, 60_000);
  await share.run(() => useLoop(80));
  // A machine that halts for as long as the pause would end it.
  const clock = jest.spyOn(performance, "now").mockReturnValue(performance.now());
  await share.run(() => Promise.resolve());
  clock.mockRestore();
  // Once for the first work; before the pause of the second, in it, and then none waits.
  expect(asked).toBe(4);
});

it("does not pause while no request waits, and is ready to pause for the next", async () => {
  let asked = 0;
  let isWaited = false;
  const share = new LoopShare(() => {
    asked += 1;
    return isWaited;
  });
  for (let n = 0; n < 3; n += 1) await share.run(() => useLoop(20));
  expect(asked).toBe(3);
  isWaited = true;
  const pausedAt = performance.now();
  // 3 x 5 ms in steps of 1 ms, each of which may end within it.
  expect((await share.run(() => Promise.resolve(performance.now()))) - pausedAt).toBeGreaterThan(7);
});

it("gives the failure of a work to its caller, and goes on", async () => {
  const share = new LoopShare(() => true);
  const failing = share.run(() => Promise.reject(new Error("no payload")));
  const next = share.run(() => Promise.resolve("payload"));
  await expect(failing).rejects.toThrow("no payload");
  await expect(next).resolves.toBe("payload");
});
