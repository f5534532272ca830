// The places of operations in flight, by random histories: no client has too many, none is lost, and nothing waits for ever.
// Nothing waits either for what is free, nor for a place while it keeps others from reading whole tables.
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";

/** What an operation waits for, or that it is executed. */
type Stage = "place" | "whole" | "plan" | "execution";

interface Open {
  client: string;
  isWhole: boolean;
  stage: Stage;
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
  const open = new Set<Open>();
  let refused = 0;
  let mayPlan = true;

  const execute = async (one: Open, fails: boolean): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    Object.assign(one, { stage: "execution", end: () => resolve(undefined) });
    await promise;
    if (fails) throw new Error("failed");
  };
  const opened = (client: string, isWhole: boolean): Open => {
    const one: Open = { client, isWhole, stage: "place", end: () => undefined };
    open.add(one);
    return one;
  };
  const planned = (one: Open, leavesPlace: boolean, act: () => Promise<void>): Promise<void> => {
    one.stage = "plan";
    const planning = (): Promise<void> => {
      mayPlan = false;
      return act();
    };
    return operations.plan(one.client, planning, { leavesPlace });
  };
  const over = (one: Open, outcome: Promise<void>): void => {
    void outcome
      .catch((error: unknown) => (refused += Number((error as Error).message !== "failed")))
      .finally(() => open.delete(one));
  };
  const begin = (): void => {
    const client = CLIENTS[below(below(2) === 0 ? 1 : CLIENTS.length)]!;
    const [plans, isWhole, fails] = [below(2) === 0, below(3) === 0, below(5) === 0];
    const one = opened(client, isWhole);
    const run = () => execute(one, fails);
    const act = () => (plans ? planned(one, !isWhole, run) : run());
    const whole = () => {
      one.stage = "whole";
      return operations.readWhole(client, act);
    };
    over(one, operations.run(client, isWhole ? whole : act));
  };
  const planForNone = (): void => {
    const one = opened("", false);
    over(
      one,
      planned(one, false, () => Promise.resolve()),
    );
  };
  const pass = (ms: number): void => {
    mayPlan = true;
    jest.advanceTimersByTime(ms);
  };

  const readsWhole = ({ isWhole, stage }: Open): boolean =>
    isWhole && (stage === "plan" || stage === "execution");
  const hasPlace = (one: Open): boolean =>
    one.client !== "" && (one.stage === "execution" || readsWhole(one));
  const countOf = (has: (one: Open) => boolean, client?: string): number =>
    [...open].filter((one) => one.client === (client ?? one.client) && has(one)).length;

  const check = (): void => {
    expect(countOf(hasPlace)).toBeLessThanOrEqual(2 * CONNECTIONS);
    for (const client of CLIENTS) {
      expect(countOf(hasPlace, client)).toBeLessThan(CONNECTIONS);
      expect(countOf(readsWhole, client)).toBeLessThanOrEqual(1);
    }
    expect(countOf(readsWhole)).toBeLessThanOrEqual(CONNECTIONS / 2);
  };
  const isFree = (one: Open): boolean => {
    const hasOne = one.client === "" || hasPlace(one);
    const mayHave =
      countOf(hasPlace) < 2 * CONNECTIONS && countOf(hasPlace, one.client) < CONNECTIONS - 1;
    const mayRead = countOf(readsWhole) < CONNECTIONS / 2 && countOf(readsWhole, one.client) < 1;
    const mayHaveTurn = { place: true, whole: mayRead, plan: mayPlan, execution: false };
    return (hasOne || mayHave) && mayHaveTurn[one.stage];
  };
  const checkSettled = async (): Promise<void> => {
    await turns(60);
    check();
    expect([...open].filter(isFree)).toEqual([]);
  };

  for (let step = 0; step < 200; step += 1) {
    const executing = [...open].filter(({ stage }) => stage === "execution");
    const act = below(20);
    if (act === 0) planForNone();
    else if (act < 10) begin();
    else if (act < 16) executing[below(Math.max(1, executing.length))]?.end();
    else pass(below(20) === 0 ? WAIT_MS : LONGEST_PAUSE_MS);
    await turns(below(3));
    check();
    if (below(4) === 0) await checkSettled();
  }
  // What keeps others from reading whole tables has its plan without a place that becomes free.
  for (let round = 0; round < 60; round += 1) {
    pass(LONGEST_PAUSE_MS);
    await checkSettled();
  }
  expect([...open].filter((one) => readsWhole(one) && one.stage === "plan")).toEqual([]);
  // Nothing is refused any more: each that waits has its turn.
  const before = refused;
  for (let round = 0; open.size > 0 && round < 200; round += 1) {
    for (const one of open) one.end();
    pass(LONGEST_PAUSE_MS);
    await turns();
    check();
  }
  expect([open.size, refused]).toEqual([0, before]);

  // All places are free.
  for (const client of CLIENTS) {
    for (let n = 0; n < CONNECTIONS; n += 1) {
      const one = opened(client, false);
      over(
        one,
        operations.run(client, () => execute(one, false)),
      );
    }
    await turns();
  }
  expect(CLIENTS.map((client) => countOf(hasPlace, client))).toEqual([3, 3, 2, 0, 0]);
});
