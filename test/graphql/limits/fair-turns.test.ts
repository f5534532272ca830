// The turns of operations go from client to client: also where one asks again after each, and another one has many that wait.
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";

const LONGEST_PAUSE_MS = 250;

async function settled(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

beforeEach(() => jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] }));
afterEach(() => jest.useRealTimers());

const operationsOf = (connections: number): OperationsInFlight =>
  new OperationsInFlight({ perClient: 8, waiting: 100, waitMs: 60_000, connections });

/** Clients of operations that have turns to be planned. */
function planning() {
  const operations = operationsOf(50);
  const planned: string[] = [];
  /** One operation, with one plan after the other. */
  const ask = (client: string, ...names: string[]): Promise<void> =>
    operations.run(client, async () => {
      for (const name of names) await operations.plan(client, () => void planned.push(name));
    });
  const askAgain = async (client: string): Promise<never> => {
    for (;;) await ask(client, client);
  };
  const pass = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      jest.advanceTimersByTime(LONGEST_PAUSE_MS);
      await settled();
    }
  };
  return { operations, planned, ask, askAgain, pass };
}

it("of a client that asks again after each do not come before those of one that has had a turn", async () => {
  const { planned, ask, askAgain, pass } = planning();
  void askAgain("a");
  await settled();
  void ask("b", "document of b", "plan of b");
  await settled();
  await pass(5);
  expect(planned).toEqual(["a", "document of b", "a", "plan of b", "a", "a"]);
});

it("are one in as many as there are clients, whether they ask again or have many that wait", async () => {
  const { operations, planned, ask, askAgain, pass } = planning();
  for (const client of ["a", "b"]) void askAgain(client);
  await settled();
  for (let n = 0; n < 8; n += 1) void ask("many", "many");
  for (let n = 0; n < 20; n += 1)
    void operations.inTurn("subscribes", () =>
      operations.plan("subscribes", () => void planned.push("subscribes")),
    );
  await settled();
  void askAgain("late");
  await settled();
  planned.length = 0;
  await pass(40);
  const clients = ["a", "b", "late", "many", "subscribes"];
  for (let n = 0; n < 40; n += 5) expect(planned.slice(n, n + 5).toSorted()).toEqual(clients);
});

it("of new clients, however many come, do not come before those of one that waits already", async () => {
  const { planned, ask, pass } = planning();
  void ask("a", "document of a", "plan of a");
  await settled();
  void ask("b", "document of b", "plan of b");
  await settled();
  for (let n = 0; n < 30; n += 1) {
    void ask(`new ${n}`, "new");
    void ask(`newer ${n}`, "new");
    await settled();
    await pass(1);
  }
  const first = planned.slice(0, 9);
  expect(first).toContain("plan of a");
  expect(first).toContain("plan of b");
});

it("to read whole tables go from client to client too", async () => {
  const operations = operationsOf(5);
  const reading: { client: string; end: () => void }[] = [];
  const read = (client: string): Promise<unknown> =>
    operations.run(client, () =>
      operations.readWhole(client, () => {
        const { promise, resolve } = Promise.withResolvers<undefined>();
        reading.push({ client, end: () => resolve(undefined) });
        return promise;
      }),
    );
  for (const client of ["a", "c"]) for (let n = 0; n < 8; n += 1) void read(client);
  await settled();
  void read("b");
  await settled();
  for (let n = 0; n < 3; n += 1) {
    reading[n]!.end();
    await settled();
  }
  expect(reading.map(({ client }) => client).slice(0, 2)).toEqual(["a", "c"]);
  expect(reading.slice(2, 4).map(({ client }) => client)).toContain("b");
});
