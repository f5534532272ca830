// Operations in flight: a few of each client, a bounded number of all, and one begun at a time.
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Pool } from "../../../db/connect.ts";
import { countRefusals } from "../../../graphql/limits/counted-refusals.ts";
import { IN_FLIGHT_LIMITS } from "../../../graphql/limits/limits.ts";
import { OperationsInFlight, shedLoad } from "../../../graphql/limits/operations-in-flight.ts";
import { stateOf } from "../../../http/request.ts";
import { makeTestApp, type TestApp, type TestOptions } from "../../app.ts";
import { openClient } from "../../database.ts";
import { ask, dataOf, type Answer } from "../../graphql.ts";
import { useDatabase } from "../../served.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await turn();
}

/** Operations of which each goes on until it is ended, in the order in which they have begun. */
function operationsOf(limits: Partial<ConstructorParameters<typeof OperationsInFlight>[0]>) {
  const operations = new OperationsInFlight({
    perClient: 0,
    waiting: 100,
    waitMs: 60_000,
    connections: 50,
    ...limits,
  });
  const begun: { name: string; end: () => void; fail: () => void }[] = [];
  const run = (name: string, client = "a"): Promise<unknown> => {
    const ran = operations.run(client, () => {
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      begun.push({
        name,
        end: () => resolve(undefined),
        fail: () => reject(new Error(`${name} failed`)),
      });
      return promise;
    });
    // What still waits when its test is over fails later, while another test runs.
    ran.catch(() => undefined);
    return ran;
  };
  return { operations, begun, run, names: () => begun.map(({ name }) => name) };
}

describe("operations", () => {
  it("begin one in each turn of the event loop, in the order in which they came", async () => {
    const { run, names } = operationsOf({});
    for (const name of ["1", "2", "3"]) void run(name);
    await Promise.resolve();
    expect(names()).toEqual(["1"]);
    await turns(1);
    expect(names().length).toBeLessThan(3);
    await turns(5);
    expect(names()).toEqual(["1", "2", "3"]);
  });

  it("wait where as many run as may, until one has ended or failed", async () => {
    const { run, names, begun } = operationsOf({ connections: 1 });
    const failing = run("1").catch(String);
    for (const name of ["2", "3", "4"]) void run(name);
    await turns(10);
    expect(names()).toEqual(["1", "2"]);

    begun[0]!.fail();
    expect(await failing).toBe("Error: 1 failed");
    await turns(10);
    expect(names()).toEqual(["1", "2", "3"]);

    begun[1]!.end();
    await turns(10);
    expect(names()).toEqual(["1", "2", "3", "4"]);
  });

  it("wait in turn with those of other clients, however many one client has", async () => {
    const { run, names, begun } = operationsOf({ connections: 1 });
    for (const name of ["a1", "a2", "a3", "a4", "a5"]) void run(name, "a");
    await turns(10);
    for (const name of ["b1", "b2"]) void run(name, "b");
    await turns(10);
    expect(names()).toEqual(["a1", "a2"]);
    // Now a has one that runs, and b none.
    begun[0]!.end();
    await turns(10);
    expect(names()).toEqual(["a1", "a2", "b1"]);
    // a has one, b none.
    begun[2]!.end();
    await turns(10);
    expect(names()).toEqual(["a1", "a2", "b1", "b2"]);
    // a has none, b one.
    begun[1]!.end();
    await turns(10);
    expect(names()).toEqual(["a1", "a2", "b1", "b2", "a3"]);
  });

  it("of one client use all connections but one, where each may have some", async () => {
    const { run, names, begun } = operationsOf({ connections: 3, perClient: 8 });
    for (const name of ["a1", "a2", "a3"]) void run(name, "a");
    await turns(10);
    expect(names()).toEqual(["a1", "a2"]);
    void run("b1", "b");
    await turns(10);
    expect(names()).toEqual(["a1", "a2", "b1"]);
    begun[0]!.end();
    await turns(10);
    expect(names()).toEqual(["a1", "a2", "b1", "a3"]);
  });

  it("are refused where as many wait as may, and taken again once fewer do", async () => {
    const { run, names, begun, operations } = operationsOf({ connections: 0.5, waiting: 1 });
    void run("1");
    void run("2", "b");
    await expect(run("3", "c")).rejects.toThrow("The service is busy: ask again in a moment");
    expect(operations.refusal("c")?.headers).toEqual({ "Retry-After": "1" });

    begun[0]!.end();
    await turns(5);
    expect(operations.refusal("c")).toBeUndefined();
    expect(names()).toEqual(["1", "2"]);
  });

  it("are refused to a client that has as many as it may, and to no other", async () => {
    const { run, names, begun, operations } = operationsOf({ perClient: 2 });
    void run("1");
    const second = run("2");
    await expect(run("3")).rejects.toThrow("At most 2 operations of a client run at once");
    void run("4", "b");
    await turns(10);
    expect(names()).toEqual(["1", "4", "2"]);

    begun[2]!.end();
    await second;
    expect(operations.refusal("a")).toBeUndefined();
  });

  it("that are subscriptions begin in their turn, however many their client has", async () => {
    const { operations, begun, run } = operationsOf({ connections: 2, perClient: 1 });
    const begin = (name: string): Promise<string> =>
      operations.inTurn("a", () => {
        begun.push({ name, end: () => undefined, fail: () => undefined });
        return name;
      });
    expect(await Promise.all(["1", "2", "3"].map(begin))).toEqual(["1", "2", "3"]);
    void run("4");
    await expect(run("5")).rejects.toThrow("At most 1 operations of a client run at once");
  });

  it("that are subscriptions wait while their client has as many as it may, and leave the places of others", async () => {
    const { operations, begun, run, names } = operationsOf({
      ...{ connections: 2, perClient: 2, waiting: 1 },
    });
    const begin = (name: string, client = "a"): Promise<unknown> =>
      operations.inTurn(client, () => {
        const { promise, resolve } = Promise.withResolvers<undefined>();
        begun.push({ name, end: () => resolve(undefined), fail: () => undefined });
        return promise;
      });
    const all = ["1", "2", "3", "4", "5", "6", "7"].map((name) => begin(name));
    await turns(10);
    expect(names()).toEqual(["1"]);
    // One of the client waits for its place, and the others are not in flight: there may be five.
    expect(operations.refusal("a")?.message).toMatch("At most 2 operations of a client");
    expect(operations.refusal("b")).toBeUndefined();
    const other = run("other", "b");
    await turns(10);
    expect(names()).toEqual(["1", "other"]);
    begun[1]!.end();
    await other;

    for (let n = 0; begun.length < 8; n += 1) {
      begun.at(n === 0 ? 0 : -1)!.end();
      await turns(10);
    }
    expect(names()).toEqual(["1", "other", "2", "3", "4", "5", "6", "7"]);
    begun.at(-1)!.end();
    await Promise.all(all);
    expect(operations.refusal("a")).toBeUndefined();
  });

  it("that are subscriptions are refused where their client has had too many for too long, and lose no place", async () => {
    const { operations, run, begun } = operationsOf({ perClient: 1, waitMs: 1 });
    const running = run("1");
    await turns(1);
    await expect(operations.inTurn("a", () => "begun")).rejects.toThrow("The service is busy");
    begun[0]!.end();
    await running;
    expect(await operations.inTurn("a", () => "begun")).toBe("begun");
    expect(operations.refusal("a")).toBeUndefined();
  });

  it("are refused where they have waited for too long", async () => {
    const { run, names, begun, operations } = operationsOf({
      connections: 0.5,
      waiting: 1,
      waitMs: 1,
    });
    void run("1");
    await expect(run("2", "b")).rejects.toThrow("The service is busy");
    expect(operations.refusal("b")).toBeUndefined();

    begun[0]!.end();
    await turns(10);
    expect(names()).toEqual(["1"]);
  });
});

describe("reading whole tables", () => {
  it("leaves half of the connections to others, and is in turn of each client", async () => {
    const { operations, begun, run, names } = operationsOf({ connections: 4 });
    const read = (name: string, client: string): void => {
      const ran = operations.run(client, () =>
        operations.readWhole(client, () => {
          const { promise, resolve } = Promise.withResolvers<undefined>();
          begun.push({ name, end: () => resolve(undefined), fail: () => undefined });
          return promise;
        }),
      );
      // As above.
      ran.catch(() => undefined);
    };
    // More than may run at once: those that wait leave their places.
    for (const name of ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"]) read(name, "a");
    await turns(20);
    read("b1", "b");
    void run("served", "c");
    await turns(20);
    // One of the two is left to another client.
    expect(names()).toEqual(["a1", "b1", "served"]);
    begun[1]!.end();
    await turns(10);
    expect(names()).toHaveLength(3);
    begun[0]!.end();
    await turns(10);
    expect(names().slice(3)).toEqual(["a2"]);
  });

  it("begins together with a place, and is left to others until there is one", async () => {
    const { operations, begun, run, names } = operationsOf({ connections: 4, perClient: 8 });
    const read = (name: string, client: string): void => {
      void operations.run(client, () => {
        return operations.readWhole(client, () => {
          const { promise, resolve } = Promise.withResolvers<undefined>();
          begun.push({ name, end: () => resolve(undefined), fail: () => undefined });
          return promise;
        });
      });
    };
    read("b1", "b");
    read("c1", "c");
    await turns(20);
    read("a1", "a");
    await turns(20);
    for (const name of ["a2", "a3", "a4"]) void run(name, "a");
    await turns(20);
    read("d1", "d");
    await turns(20);
    expect(names()).toEqual(["b1", "c1", "a2", "a3", "a4"]);
    // Its client has three places, all that it may have.
    begun[0]!.end();
    await turns(20);
    expect(names().slice(5)).toEqual(["d1"]);
    begun[1]!.end();
    await turns(20);
    expect(names().slice(5)).toEqual(["d1"]);
    begun[2]!.end();
    await turns(20);
    expect(names().slice(5)).toEqual(["d1", "a1"]);
  });

  it("is the turn of the next before all else of an operation is done", async () => {
    const { operations } = operationsOf({ connections: 1 });
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const reading: string[] = [];
    const read = (client: string): Promise<unknown> =>
      operations.run(client, async () => {
        await operations.readWhole(client, () => {
          reading.push(client);
          return promise;
        });
        await new Promise(() => undefined);
      });
    void read("a");
    void read("b");
    await turns(10);
    expect(reading).toEqual(["a"]);
    resolve(undefined);
    await turns(10);
    expect(reading).toEqual(["a", "b"]);
  });

  it("that is waited for too long is refused, and its place is free", async () => {
    const { operations } = operationsOf({ connections: 1, waitMs: 1 });
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const first = operations.run("a", () => operations.readWhole("a", () => promise));
    const second = operations.run("b", () => operations.readWhole("b", () => "read"));
    await expect(second).rejects.toThrow("The service is busy");
    resolve(undefined);
    await first;
    expect(await operations.run("b", () => operations.readWhole("b", () => "read"))).toBe("read");
  });
});

/** Of one connection, with plans of operations of one client that go on for ever. */
function planningOf(onPlan: () => void = () => undefined) {
  const { operations, ...others } = operationsOf({ connections: 1 });
  const planned: string[] = [];
  const plan = (name: string): Promise<unknown> =>
    operations.run("a", () =>
      operations.plan("a", () => {
        planned.push(name);
        onPlan();
        return new Promise(() => undefined);
      }),
    );
  return { ...others, plan, planned };
}

describe("planning", () => {
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it("pauses three times as long as a plan took, and leaves the place to what is planned already", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "performance"] });
    let now = 0;
    jest.spyOn(performance, "now").mockImplementation(() => now);
    const { run, names, begun, plan, planned } = planningOf(() => (now += 50));
    void plan("1");
    void plan("2");
    void run("3");
    await turns(10);
    expect([planned, names()]).toEqual([["1"], ["3"]]);

    jest.advanceTimersByTime(149);
    await turns(10);
    expect(planned).toEqual(["1"]);
    jest.advanceTimersByTime(1);
    await turns(10);
    // Both places are taken.
    expect(planned).toEqual(["1"]);
    begun[0]!.end();
    await turns(10);
    expect(planned).toEqual(["1", "2"]);
  });

  it("leaves a connection to others: what waited for its plan waits for a place", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] });
    const { operations, begun, run, names } = operationsOf({ connections: 3, perClient: 8 });
    const plan = (name: string, client: string): Promise<unknown> =>
      operations.run(client, () =>
        operations.plan(client, () => {
          const { promise, resolve } = Promise.withResolvers<undefined>();
          begun.push({ name, end: () => resolve(undefined), fail: () => undefined });
          return promise;
        }),
      );
    const pass = async (): Promise<void> => {
      for (let n = 0; n < 5; n += 1) {
        jest.advanceTimersByTime(250);
        await turns(10);
      }
    };
    for (const name of ["a1", "a2", "a3", "a4"]) void plan(name, "a");
    await turns(10);
    await pass();
    expect(names()).toEqual(["a1", "a2"]);
    // Those of a that wait, and came first, keep none of another client from its plan.
    void plan("b1", "b");
    void run("c1", "c");
    await turns(10);
    expect(names()).toEqual(["a1", "a2", "b1", "c1"]);
    begun[0]!.end();
    await pass();
    expect(names()).toEqual(["a1", "a2", "b1", "c1", "a3"]);
  });

  it("waits with those that have not begun: the client with the fewest running ones is first", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] });
    const { run, names, begun, plan, planned } = planningOf();
    void plan("a1");
    void plan("a2");
    await turns(10);
    void run("c1", "c");
    void run("b1", "b");
    jest.advanceTimersByTime(250);
    await turns(10);
    expect([planned, names()]).toEqual([["a1"], ["c1"]]);
    begun[0]!.end();
    await turns(10);
    expect([planned, names()]).toEqual([["a1"], ["c1", "b1"]]);
    begun[1]!.end();
    await turns(10);
    expect(planned).toEqual(["a1", "a2"]);
  });

  it("comes first to one that waits for it, not to one that asks just then", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] });
    const { operations, run } = operationsOf({});
    const planned: string[] = [];
    const asks = Promise.withResolvers<undefined>();
    const plan = (name: string, until?: Promise<undefined>): Promise<unknown> =>
      operations.run(name, async () => {
        await until;
        await operations.plan(name, () => void planned.push(name));
      });
    void plan("first");
    void plan("waiting");
    void plan("asking", asks.promise);
    await turns(10);
    // Nothing else begins in this turn of the event loop.
    void run("other", "other");
    jest.advanceTimersByTime(250);
    asks.resolve(undefined);
    await turns(10);
    expect(planned).toEqual(["first", "waiting"]);
    jest.advanceTimersByTime(250);
    await turns(10);
    expect(planned).toEqual(["first", "waiting", "asking"]);
  });

  it("is the turn of the client whose last plan is longest ago, however many another waits for", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] });
    const { operations } = operationsOf({});
    const planned: string[] = [];
    const plan = (name: string, client: string): Promise<unknown> =>
      operations.run(client, () =>
        operations.plan(client, () => {
          planned.push(name);
          return new Promise(() => undefined);
        }),
      );
    for (const name of ["a1", "a2", "a3"]) void plan(name, "a");
    await turns(10);
    for (const name of ["b1", "b2"]) void plan(name, "b");
    await turns(10);
    for (let n = 0; n < 4; n += 1) {
      jest.advanceTimersByTime(250);
      await turns(10);
    }
    expect(planned).toEqual(["a1", "b1", "a2", "b2", "a3"]);
  });

  it("is refused after the time of one wait, in whatever lines its operation has waited", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] });
    const { operations } = operationsOf({ connections: 1, waitMs: 5000 });
    const places = Array.from({ length: 2 }, () => Promise.withResolvers<undefined>());
    const ended = Promise.withResolvers<undefined>();
    const running = places.map(({ promise }, n) => operations.run(`p${n}`, () => promise));
    await turns(10);
    const reading = operations.run("w", () => operations.readWhole("w", () => ended.promise));
    let outcome = "waits";
    operations
      .run("a", () => operations.readWhole("a", () => operations.plan("a", () => "planned")))
      .catch((error: unknown) => (outcome = String(error)));
    await turns(10);
    jest.advanceTimersByTime(4000);
    for (const { resolve } of places) resolve(undefined);
    await Promise.all(running);
    await turns(10);
    // It has a place, and waits for another turn.
    jest.advanceTimersByTime(999);
    await turns(10);
    expect(outcome).toBe("waits");
    jest.advanceTimersByTime(1);
    await turns(10);
    expect(outcome).toMatch("The service is busy");
    ended.resolve(undefined);
    await reading;
    // Also what it would have waited for is free.
    expect(await operations.run("a", () => operations.readWhole("a", () => "read"))).toBe("read");
  });

  it("leaves the wait for a connection what its operation has not waited before", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"] });
    const { operations } = operationsOf({ connections: 0.5, waitMs: 5000 });
    const first = Promise.withResolvers<undefined>();
    const running = operations.run("a", () => first.promise);
    const full = { idleCount: 0, totalCount: 1, options: { max: 1 } };
    const connect = () => new Promise(() => undefined);
    const pool = operations.connectionsOf({ ...full, connect } as unknown as Pool);
    let outcome = "waits";
    const act = async (): Promise<void> => {
      // It does something else between its waits.
      jest.advanceTimersByTime(60_000);
      await pool.connect();
    };
    operations.run("b", act).catch((error: unknown) => (outcome = String(error)));
    await turns(10);
    jest.advanceTimersByTime(4000);
    first.resolve(undefined);
    await running;
    await turns(10);
    jest.advanceTimersByTime(999);
    await turns(10);
    expect(outcome).toBe("waits");
    jest.advanceTimersByTime(1);
    await turns(10);
    expect(outcome).toBe("Error: timeout exceeded when trying to connect");
  });

  it("that is waited for too long is refused, and a failure makes way for the next", async () => {
    const { operations } = operationsOf({ waitMs: 1 });
    const failing = operations.run("a", () =>
      operations.plan("a", () => {
        const until = performance.now() + 20;
        while (performance.now() < until);
        throw new Error("no plan");
      }),
    );
    const second = operations.run("a", () => operations.plan("a", () => "planned"));
    await expect(failing).rejects.toThrow("no plan");
    await expect(second).rejects.toThrow("The service is busy");
    const next = async (): Promise<string> => {
      for (;;) {
        const outcome = await operations
          .run("a", () => operations.plan("a", () => "planned"))
          .catch(() => "busy");
        if (outcome !== "busy") return outcome;
      }
    };
    expect(await next()).toBe("planned");
  });
});

it("counts refusals for the log, each kind by its code", () => {
  jest.useFakeTimers();
  try {
    const lines: string[] = [];
    const onOver = countRefusals((line) => lines.push(line));
    const request = (): IncomingMessage =>
      Object.assign(new IncomingMessage(new Socket()), { method: "POST", url: "/graphql" });
    const operations = new OperationsInFlight({ ...IN_FLIGHT_LIMITS, waiting: 0, connections: 0 });
    const step = shedLoad(operations, (req) => (stateOf(req).errors = ["UNAVAILABLE"]));
    const listener = step(() => undefined);
    for (let n = 0; n < 3; n += 1) {
      const req = request();
      listener(req, new ServerResponse(req));
      jest.advanceTimersByTime(50);
      onOver(stateOf(req));
    }
    // It was over before its refusal.
    onOver(stateOf(request()));
    expect(lines).toEqual([]);

    jest.advanceTimersByTime(10_000);
    expect(lines).toEqual([
      "GraphQL requests refused in 10 s before they were read: 3 by UNAVAILABLE, 1 by clients that left before.",
    ]);
    jest.advanceTimersByTime(100_000);
    expect(lines).toHaveLength(1);
  } finally {
    jest.useRealTimers();
  }
});

describe("the service", () => {
  const database = useDatabase();
  let graphqlPool: Pool;
  let app: TestApp;
  let warnings: string[];
  beforeAll(() => {
    graphqlPool = database.pool({ role: "dex_reader", poolSize: 2 });
  });
  beforeEach(() => {
    warnings = [];
  });
  afterEach(() => app.close());

  const start = async (options: TestOptions): Promise<void> => {
    app = await makeTestApp(database.reader, {
      cache: "off",
      graphqlPool,
      warn: (line) => warnings.push(line),
      ...options,
    });
    await dataOf(app, "{ __typename }");
  };

  /** Does something while GraphQL's connections wait for a table. */
  async function whileLocked<T>(act: () => Promise<T>): Promise<T> {
    await using admin = await openClient(database.url);
    await admin.query("begin; lock table dex_token in access exclusive mode");
    return await act();
  }

  /** Waits for the lock. Different each, so that none shares the answer to another. */
  const query = (n: number): string =>
    `{ a${n}: allDexTokens(first: ${n + 1}) { nodes { address } } }`;

  const codesOf = (answers: Answer<unknown>[]): unknown[] =>
    answers.map(({ errors }) => errors?.[0]?.extensions?.["code"]);

  it.each(["off", { bytes: 10_000_000, checkMs: 50 }] as const)(
    "refuses a client that has too many in flight, and takes it again (cache: %j)",
    async (cache) => {
      await start({ cache, inFlight: { perClient: 2, waiting: 200, waitMs: 60_000 } });
      const inFlight = await whileLocked(async () => {
        const running = [ask(app, query(1)), ask(app, query(2))];
        for (let refused = false; !refused;) {
          const response = await app.request.post("/graphql").send({ query: "{ __typename }" });
          refused = response.status === 429;
          if (!refused) continue;
          expect(response.headers["retry-after"]).toBe("1");
          expect(response.body).toEqual({
            errors: [
              {
                message:
                  "At most 2 operations of a client run at once: wait for an answer, then ask again",
                extensions: { code: "TOO_MANY_AT_ONCE", retryAfter: 1 },
              },
            ],
          });
        }
        return running;
      });
      expect(codesOf(await Promise.all(inFlight))).toEqual([undefined, undefined]);
      expect((await ask(app, query(4))).errors).toBeUndefined();
    },
  );

  it.each([
    ["application/graphql-response+json", 503, "1"],
    ["application/json", 200, undefined],
  ])("answers in %s that an operation was not planned in time by %i", async (accept, ...given) => {
    // All four begin, and are planned one after the other.
    await start({ inFlight: { perClient: 0, waiting: 200, waitMs: 1 } });
    let n = 0;
    const post = () => {
      n += 1;
      return app.request
        .post("/graphql")
        .set({ accept })
        .send({ query: query(n) });
    };
    let refused: Awaited<ReturnType<typeof post>> | undefined;
    while (refused === undefined) {
      const answers = await Promise.all([post(), post(), post(), post()]);
      refused = answers.find(({ body }) => body.data === undefined);
    }
    expect(refused.body.errors[0].extensions).toEqual({ code: "UNAVAILABLE", retryAfter: 1 });
    expect([refused.status, refused.headers["retry-after"]]).toEqual(given);
  });

  it("takes the wait for a connection off the time of an operation, and what comes too late goes back", async () => {
    await start({ inFlight: { perClient: 0, waiting: 200, waitMs: 1000 } });
    const held = [await graphqlPool.connect(), await graphqlPool.connect()];
    const refused = await ask(app, query(1));
    // The pool itself has it wait for a minute.
    const waiting = graphqlPool.waitingCount;
    for (const connection of held) connection.release();
    expect([codesOf([refused]), waiting]).toEqual([["UNAVAILABLE"], 1]);
    while (graphqlPool.idleCount < 2) await turn();
  });

  it("sheds load before it reads the body, and goes on answering REST", async () => {
    await start({ inFlight: { perClient: 0, waiting: 1, waitMs: 60_000 } });
    const inFlight = await whileLocked(async () => {
      // 4 run, twice as many as there are connections; 1 waits.
      const taken = Array.from({ length: 5 }, (_, n) => ask(app, query(n)));
      const post = (id: string) =>
        app.request
          .post("/graphql")
          .set("content-type", "application/json")
          .set("X-Request-Id", id)
          .send("this is no JSON");
      while ((await post("before")).status === 400);
      const response = await post("shed");
      expect(response.status).toBe(503);
      expect(response.headers["retry-after"]).toBe("1");
      expect(response.body.errors[0].extensions).toEqual({ code: "UNAVAILABLE", retryAfter: 1 });
      const rest = await app.request.get("/v2/candles/weth/dai");
      expect(rest.status).toBe(400);
      return taken;
    });
    await Promise.all(inFlight);
    expect((await ask(app, query(9))).errors).toBeUndefined();
    expect(app.logged).toEqual([]);
    expect(app.over.map(({ id }) => id)).not.toContain("shed");
  });

  const TIME = 'time: { lessThan: "2026-01-01" }';
  const PAIR = `or: [
    { lotGem: { equalTo: "a" }, bidGem: { equalTo: "b" } }, { lotGem: { equalTo: "b" }, bidGem: { equalTo: "a" } }
  ]`;

  it.each([
    ["a condition that no index serves", 'condition: { price: "1" }', 1],
    ["a long list", 'filter: { tx: { in: ["1", "2", "3", "4"] } }', 1],
    ["either of two conditions", `filter: { or: [{ block: { equalTo: 1 } }] }`, 1],
    ["no condition", "orderBy: ID_ASC", 0],
    ["a condition that an index serves", 'condition: { taker: "0x" }', 0],
    ["both columns of an index that may be null", 'condition: { market: "a/b", taker: "0x" }', 0],
    [
      "them, in a time",
      `filter: { market: { equalTo: "a/b" }, taker: { equalTo: "0x" }, ${TIME} }`,
      0,
    ],
    ["one of them by a list", `filter: { market: { equalTo: "a/b" }, taker: { in: ["0x"] } }`, 1],
    ["more than an index has", 'condition: { market: "a/b", taker: "0x", price: "1" }', 1],
    ["a market, in a time", `filter: { market: { equalTo: "a/b" }, ${TIME} }`, 0],
    ["a market, in a block", `condition: { market: "a/b", block: 1 }`, 0],
    ["a column that no index has, in a time", `filter: { pair: { equalTo: "0x" }, ${TIME} }`, 1],
    ["both directions of a pair", `filter: { ${PAIR} }`, 0],
    ["both, in a time", `filter: { ${TIME}, ${PAIR} }`, 0],
  ])(
    "reads by %s in a turn of those that may read whole tables, or not",
    async (_by, given, turns) => {
      await start({});
      const readWhole = jest.spyOn(OperationsInFlight.prototype, "readWhole");
      try {
        const { errors } = await ask(app, `{ allDexTrades(first: 1, ${given}) { nodes { id } } }`);
        expect(errors).toBeUndefined();
        expect(readWhole).toHaveBeenCalledTimes(turns);
      } finally {
        readWhole.mockRestore();
      }
    },
  );

  it("frees the place of a client that has gone", async () => {
    await start({ inFlight: { perClient: 1, waiting: 200, waitMs: 60_000 } });
    await whileLocked(async () => {
      const gone = new AbortController();
      const asked = fetch(`${app.url}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query: query(1) }),
        signal: gone.signal,
      });
      while ((await ask(app, "{ __typename }")).status !== 429);
      gone.abort();
      await expect(asked).rejects.toThrow();
    });
    while ((await ask(app, query(3))).status === 429);
  });
});
