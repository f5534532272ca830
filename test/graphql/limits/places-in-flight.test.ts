// The places of operations in flight, by random histories: no client has too many, none is lost, and nothing waits for ever.
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";

interface Executing {
  client: string;
  isWhole: boolean;
  end: () => void;
}

const CLIENTS = ["a", "b", "c", "d", "e"];
const CONNECTIONS = 4;
const WAIT_MS = 60_000;
const LONGEST_PAUSE_MS = 250;

/** The same numbers for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

async function turns(count = 12): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

beforeEach(() => jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] }));
afterEach(() => jest.useRealTimers());

it.each(Array.from({ length: 20 }, (_, seed) => seed))("are kept in history %i", async (seed) => {
  const below = randomOf(seed);
  const operations = new OperationsInFlight({
    ...{ perClient: 8, waiting: 100, waitMs: WAIT_MS, connections: CONNECTIONS },
  });
  const executing = new Set<Executing>();
  let open = 0;
  let refused = 0;

  const execute = async (client: string, isWhole: boolean, fails: boolean): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const one = { client, isWhole, end: () => resolve(undefined) };
    executing.add(one);
    await promise;
    executing.delete(one);
    if (fails) throw new Error("failed");
  };
  const begin = (): void => {
    const client = CLIENTS[below(below(2) === 0 ? 1 : CLIENTS.length)]!;
    const [plans, isWhole, fails] = [below(2) === 0, below(3) === 0, below(5) === 0];
    const run = () => execute(client, isWhole, fails);
    const planned = () => (plans ? operations.plan(client, run) : run());
    open += 1;
    operations
      .run(client, () => (isWhole ? operations.readWhole(client, planned) : planned()))
      .catch((error: unknown) => (refused += Number((error as Error).message !== "failed")))
      .finally(() => (open -= 1));
  };
  const countOf = (client: string, isWhole?: boolean): number =>
    [...executing].filter(
      (one) => one.client === client && one.isWhole === (isWhole ?? one.isWhole),
    ).length;

  const check = (): void => {
    expect(executing.size).toBeLessThanOrEqual(2 * CONNECTIONS);
    for (const client of CLIENTS) expect(countOf(client)).toBeLessThan(CONNECTIONS);
    const whole = CLIENTS.map((client) => countOf(client, true));
    expect(Math.max(...whole)).toBeLessThanOrEqual(1);
    expect(whole.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(CONNECTIONS / 2);
  };

  for (let step = 0; step < 200; step += 1) {
    const [some] = [...executing].slice(below(Math.max(1, executing.size)));
    const act = below(10);
    if (act < 5) begin();
    else if (act < 8) some?.end();
    else jest.advanceTimersByTime(below(20) === 0 ? WAIT_MS : LONGEST_PAUSE_MS);
    await turns(below(3));
    check();
  }
  // Nothing is refused any more: each that waits has its turn.
  await turns();
  const before = refused;
  for (let round = 0; open > 0 && round < 200; round += 1) {
    for (const one of executing) one.end();
    jest.advanceTimersByTime(LONGEST_PAUSE_MS);
    await turns();
    check();
  }
  expect([open, refused]).toEqual([0, before]);

  // All places are free.
  for (const client of CLIENTS) {
    for (let n = 0; n < CONNECTIONS; n += 1) {
      void operations.run(client, () => execute(client, false, false));
    }
    await turns();
  }
  expect(CLIENTS.map((client) => countOf(client))).toEqual([3, 3, 2, 0, 0]);
});
