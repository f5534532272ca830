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
function executions(connections: number) {
  const operations = new OperationsInFlight({
    ...{ perClient: 8, waiting: 100, waitMs: 5000, connections },
  });
  const { execute } = makePlansPlugin(operations).grafast!.middleware as unknown as {
    execute: (next: () => unknown, event: object) => Promise<unknown>;
  };
  const executed: { name: string; end: () => void }[] = [];
  const [operation] = parse("{ a }").definitions as [OperationDefinitionNode];
  const start = (client: string, name: string, readsWhole = false): Promise<unknown> => {
    const req = new IncomingMessage(new Socket());
    stateOf(req).client = client;
    const assessment = { operation, choice: name, complexity: 1, listBound: 1, readsWhole };
    const args = {
      requestContext: client === "" ? {} : { node: { req } },
      contextValue: { assessment },
    };
    const next = (): Promise<undefined> => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      executed.push({ name, end: () => resolve(undefined) });
      return promise;
    };
    return execute(next, { args });
  };
  const run = (client: string, name: string, readsWhole = false): Promise<unknown> =>
    operations.run(client, () => start(client, name, readsWhole));
  const end = (name: string): void => executed.find((one) => one.name === name)!.end();
  return { operations, start, run, end, names: () => executed.map(({ name }) => name) };
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
