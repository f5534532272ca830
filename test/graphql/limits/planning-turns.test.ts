// How operations that have no plan wait for their turn: with the turn to read whole tables, and without a request.
import { parse, type OperationDefinitionNode } from "graphql";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";
import { makePlansPlugin } from "../../../graphql/limits/planning-turns.ts";
import { stateOf } from "../../../http/request.ts";

const LONGEST_PAUSE_MS = 250;

async function turns(count = 10): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function nextPlan(): Promise<void> {
  jest.advanceTimersByTime(LONGEST_PAUSE_MS);
  await turns();
}

beforeEach(() => jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] }));
afterEach(() => jest.useRealTimers());

/** Operations of clients without a plan, each of which goes on until it is ended, in the order in which they are executed. */
function executions(connections: number, text = "{ a }") {
  const operations = new OperationsInFlight({
    ...{ perClient: 8, waiting: 100, waitMs: 5000, connections },
  });
  const { execute, establishOperationPlan } = makePlansPlugin(operations).grafast!
    .middleware as unknown as {
    execute: (next: () => unknown, event: object) => Promise<unknown>;
    establishOperationPlan: (next: () => object, event: object) => void;
  };
  const executed: { name: string; args: object; end: () => void }[] = [];
  const [operation] = parse(text).definitions as [OperationDefinitionNode];
  const start = (client: string, name: string, readsWhole = false): Promise<unknown> => {
    const req = new IncomingMessage(new Socket());
    stateOf(req).client = client;
    const assessment = { operation, choice: name, complexity: 1, listBound: 1, readsWhole };
    const args = {
      requestContext: client === "" ? {} : { node: { req } },
      ...{ contextValue: { assessment }, document: { loc: undefined }, schema: {} },
    };
    const next = (): Promise<undefined> => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      executed.push({ name, args, end: () => resolve(undefined) });
      return promise;
    };
    return execute(next, { args });
  };
  const run = (client: string, name: string, readsWhole = false): Promise<unknown> =>
    operations.run(client, () => start(client, name, readsWhole));
  const find = (name: string) => executed.find((one) => one.name === name)!;
  const end = (name: string): void => find(name).end();
  /** Plans what has begun, in so many milliseconds. */
  const plan = (name: string, ms: number): void => {
    const next = (): object => {
      jest.advanceTimersByTime(ms);
      return {};
    };
    establishOperationPlan(next, { args: find(name).args, variableValues: {} });
  };
  return { operations, start, run, end, plan, names: () => executed.map(({ name }) => name) };
}

it("keeps the place of what has its turn to read whole tables, which is for others afterwards", async () => {
  const { operations, run, end, names } = executions(3);
  void run("a", "planned");
  await turns();
  void run("a", "whole", true);
  await turns();
  // Of the two places that a client may have, none is free.
  void operations.run("a", () => new Promise(() => undefined));
  void run("b", "whole of another", true);
  await turns();
  expect(names()).toEqual(["planned"]);

  await nextPlan();
  expect(names()).toEqual(["planned", "whole"]);
  end("whole");
  await turns();
  await nextPlan();
  expect(names()).toEqual(["planned", "whole", "whole of another"]);
});

describe("what no request asks for", () => {
  it("gives no place away while it waits for its plan", async () => {
    const { operations, run, start, names } = executions(1);
    void run("p", "first");
    await turns();
    void start("", "shared");
    void start("", "shared too");
    const begun: string[] = [];
    for (const client of ["a", "b", "c"]) {
      void operations.run(client, () => (begun.push(client), new Promise(() => undefined)));
      await turns();
    }
    // There are two places, and the first has one.
    expect(begun).toEqual(["a"]);

    await nextPlan();
    await nextPlan();
    expect([names(), begun]).toEqual([["first", "shared", "shared too"], ["a"]]);
  });

  it("is planned in its turn where all places are taken", async () => {
    const { run, start, names, operations } = executions(0.5);
    void run("p", "first");
    await turns();
    void start("", "shared");
    void operations.run("a", () => undefined);
    await turns();
    expect(names()).toEqual(["first"]);
    await nextPlan();
    expect(names()).toEqual(["first", "shared"]);
  });
});

describe("an operation as of a past block, which is planned when its block is known", () => {
  async function begun(...names: string[]) {
    const made = executions(10, "query @asOf(block: 1) { a }");
    for (const name of names) {
      void made.run(name, name);
      await turns();
    }
    const namesAfter = async (ms: number): Promise<string[]> => {
      await turns();
      jest.advanceTimersByTime(ms);
      await turns();
      // A turn without a plan has a pause of no length.
      jest.advanceTimersByTime(0);
      await turns();
      return made.names();
    };
    return { ...made, namesAfter };
  }

  it("keeps its turn until then", async () => {
    const { plan, namesAfter } = await begun("first", "second");
    expect(await namesAfter(49)).toEqual(["first"]);
    plan("first", 0);
    expect(await namesAfter(0)).toEqual(["first", "second"]);
  });

  it("has three times as long a pause behind it as its plan took", async () => {
    const { plan, namesAfter } = await begun("first", "second");
    plan("first", 10);
    expect(await namesAfter(29)).toEqual(["first"]);
    expect(await namesAfter(1)).toEqual(["first", "second"]);
  });

  it("keeps its turn for 50 ms at most: what it waits for may take longer", async () => {
    const { namesAfter } = await begun("first", "second");
    expect(await namesAfter(49)).toEqual(["first"]);
    // A timer takes a millisecond at least.
    expect(await namesAfter(2)).toEqual(["first", "second"]);
  });

  it("has a pause behind it also when its turn is over, behind those of others", async () => {
    const { plan, namesAfter } = await begun("first", "second", "third");
    expect(await namesAfter(51)).toEqual(["first", "second"]);
    plan("first", 10);
    plan("second", 10);
    // Of the first pause 10 ms are over when the second plan ends: 20 ms are left, and 30 ms of its own.
    expect(await namesAfter(49)).toEqual(["first", "second"]);
    expect(await namesAfter(1)).toEqual(["first", "second", "third"]);
  });

  it("has no pause behind it for longer than a second, however many are planned after their turns", async () => {
    const late = Array.from({ length: 9 }, (_, n) => String(n));
    const { plan, namesAfter } = await begun(...late, "last");
    for (const name of late.slice(1)) expect((await namesAfter(51)).at(-1)).toBe(name);
    // The pauses are of 120 ms and eight times 250 ms, of which 800 ms are over when the last plan ends.
    for (const [n, name] of late.entries()) plan(name, n === 0 ? 40 : 100);
    expect((await namesAfter(999)).at(-1)).toBe("8");
    expect((await namesAfter(1)).at(-1)).toBe("last");
  });

  it("gives its turn back at once where another one with its document was planned", async () => {
    const { plan, run, namesAfter } = await begun("first");
    void run("a", "first");
    void run("b", "other");
    await turns();
    plan("first", 0);
    expect(await namesAfter(0)).toEqual(["first", "first", "other"]);
  });

  it("gives its turn back where it ends without a plan", async () => {
    const { end, namesAfter } = await begun("first", "second");
    end("first");
    expect(await namesAfter(0)).toEqual(["first", "second"]);
  });
});
