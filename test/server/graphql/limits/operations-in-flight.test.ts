// Operations in flight: a few of each client, a bounded number of all, and one begun at a time.
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { connect, makePool, type Pool } from "../../../../db/connect.ts";
import {
  IN_FLIGHT_LIMITS,
  OperationsInFlight,
} from "../../../../server/graphql/limits/operations-in-flight.ts";
import { countRefusals, shedLoad } from "../../../../server/graphql/limits/shed-load.ts";
import {
  beginObservation,
  observationOf,
  type Observation,
} from "../../../../server/http/observe/observation.ts";
import { makeTestApp, type TestApp, type TestOptions } from "../../../app.ts";
import { makeDatabase, type TestDatabase } from "../../../database.ts";
import { ask, dataOf, type Answer } from "../../../graphql.ts";

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
    running: 100,
    ...limits,
  });
  const begun: { name: string; end: () => void; fail: () => void }[] = [];
  const run = (name: string, client = "a"): Promise<unknown> =>
    operations.run(client, () => {
      const { promise, resolve, reject } = Promise.withResolvers<undefined>();
      begun.push({
        name,
        end: () => resolve(undefined),
        fail: () => reject(new Error(`${name} failed`)),
      });
      return promise;
    });
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
    const { run, names, begun } = operationsOf({ running: 2 });
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

  it("are refused where as many wait as may, and taken again once fewer do", async () => {
    const { run, names, begun, operations } = operationsOf({ running: 1, waiting: 1 });
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
    expect(names()).toEqual(["1", "2", "4"]);

    begun[1]!.end();
    await second;
    expect(operations.refusal("a")).toBeUndefined();
  });

  it("are refused where they have waited for too long", async () => {
    const { run, names, begun, operations } = operationsOf({ running: 1, waiting: 1, waitMs: 1 });
    void run("1");
    await expect(run("2", "b")).rejects.toThrow("The service is busy");
    expect(operations.refusal("b")).toBeUndefined();

    begun[0]!.end();
    await turns(10);
    expect(names()).toEqual(["1"]);
  });
});

describe("planning", () => {
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it("pauses three times as long as a plan took, and leaves the place to what is planned already", async () => {
    jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "performance"] });
    jest.spyOn(performance, "now").mockReturnValueOnce(0).mockReturnValueOnce(50);
    const { operations, run, names } = operationsOf({ running: 2 });
    const planned: string[] = [];
    const plan = (name: string): Promise<unknown> =>
      operations.run("a", () =>
        operations.plan(() => {
          planned.push(name);
          return new Promise(() => undefined);
        }),
      );
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
    expect(planned).toEqual(["1", "2"]);
  });

  it("that is waited for too long is refused, and a failure makes way for the next", async () => {
    const { operations } = operationsOf({ waitMs: 1 });
    const failing = operations.run("a", () =>
      operations.plan(() => {
        const until = performance.now() + 20;
        while (performance.now() < until);
        throw new Error("no plan");
      }),
    );
    const second = operations.run("a", () => operations.plan(() => "planned"));
    await expect(failing).rejects.toThrow("no plan");
    await expect(second).rejects.toThrow("The service is busy");
    const next = async (): Promise<string> => {
      for (;;) {
        const outcome = await operations
          .run("a", () => operations.plan(() => "planned"))
          .catch(() => "busy");
        if (outcome !== "busy") return outcome;
      }
    };
    expect(await next()).toBe("planned");
  });
});

it("counts refusals for the log, each kind by its code, and hands on the requests that it does not count", () => {
  jest.useFakeTimers();
  try {
    const lines: string[] = [];
    const over: Observation[] = [];
    const onOver = countRefusals(
      (observation) => over.push(observation),
      (line) => lines.push(line),
    );
    const request = (): IncomingMessage =>
      Object.assign(new IncomingMessage(new Socket()), { method: "POST", url: "/graphql" });
    const operations = new OperationsInFlight({ ...IN_FLIGHT_LIMITS, waiting: 0, running: 0 });
    const listener = shedLoad(() => undefined, {
      operations,
      clientOf: () => "a",
      refuse: (req) => (observationOf(req)!.errors = ["UNAVAILABLE"]),
    });
    for (let n = 0; n < 3; n += 1) {
      const req = request();
      const observation = beginObservation(req, "id", 0);
      listener(req, new ServerResponse(req));
      jest.advanceTimersByTime(50);
      onOver(observation);
    }
    const other = beginObservation(request(), "other", 0);
    onOver(other);
    expect(lines).toEqual([]);

    jest.advanceTimersByTime(10_000);
    expect(lines).toEqual([
      "GraphQL requests refused in 10 s before they were read: 3 by UNAVAILABLE.",
    ]);
    expect(over).toEqual([other]);
    jest.advanceTimersByTime(100_000);
    expect(lines).toHaveLength(1);
  } finally {
    jest.useRealTimers();
  }
});

describe("the service", () => {
  let database: TestDatabase;
  let graphqlPool: Pool;
  let app: TestApp;
  let warnings: string[];
  beforeAll(async () => {
    database = await makeDatabase();
    graphqlPool = makePool(database.url, { role: "dex_reader", poolSize: 2 });
  });
  beforeEach(() => {
    warnings = [];
  });
  afterEach(() => app.close());
  afterAll(async () => {
    await graphqlPool.end();
    await database.drop();
  });

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
    const admin = await connect(database.url);
    try {
      await admin.query("begin; lock table dex_token in access exclusive mode");
      return await act();
    } finally {
      await admin.end();
    }
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

  it("sheds load before it reads the body, and answers REST meanwhile", async () => {
    await start({ inFlight: { perClient: 0, waiting: 1, waitMs: 60_000 } });
    const inFlight = await whileLocked(async () => {
      // 4 run, twice as many as there are connections; 1 waits.
      const taken = Array.from({ length: 5 }, (_, n) => ask(app, query(n)));
      for (;;) {
        const response = await app.request
          .post("/graphql")
          .set("content-type", "application/json")
          .send("this is no JSON");
        if (response.status === 400) continue;
        expect(response.status).toBe(503);
        expect(response.headers["retry-after"]).toBe("1");
        expect(response.body.errors[0].extensions).toEqual({ code: "UNAVAILABLE", retryAfter: 1 });
        break;
      }
      const rest = await app.request.get("/v2/candles/weth/dai");
      expect(rest.status).toBe(400);
      return taken;
    });
    await Promise.all(inFlight);
    expect((await ask(app, query(9))).errors).toBeUndefined();
    expect(app.logged).toEqual([]);
    expect(app.over.filter(({ status }) => status === 503)).toEqual([]);
  });

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
