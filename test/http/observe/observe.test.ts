// What is known of each request: its id, its route, where its answer came from, how long it took.
import { request as ask } from "node:http";
import { OF_ONE_VERSION, type TestApp } from "../../app.ts";
import { openClient } from "../../database.ts";
import { registerMarkets, setHead } from "../../factories.ts";
import { useApp, useDatabase } from "../../served.ts";
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";
import { ServiceBusy } from "../../../http/errors.ts";
import type { RequestState } from "../../../http/request.ts";

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await setHead(writer, 24);
});
const app = useApp(database, { cache: OF_ONE_VERSION });
const uncached = useApp(database, { cache: "off" });
beforeEach(() => {
  for (const { over, logged, loggedUnder } of [app, uncached]) {
    over.length = logged.length = loggedUnder.length = 0;
  }
});

const MADE = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Waits until so many requests of the service are over, which they are a moment after the answer. */
async function over({ over }: TestApp, count: number): Promise<RequestState[]> {
  while (over.length < count) await new Promise(setImmediate);
  return over;
}

describe("X-Request-Id", () => {
  const ASKED: [string, number, (service: TestApp) => Promise<{ headers: object }>][] = [
    ["an answer", 200, ({ request }) => request.get("/v2/volumes")],
    ["HEAD", 200, ({ request }) => request.head("/v2/volumes")],
    ["OPTIONS", 204, ({ request }) => request.options("/v2/volumes")],
    ["an unknown pair", 400, ({ request }) => request.get("/v1/prices/no/pair")],
    ["a broken path", 400, ({ request }) => request.get("/v1/prices/%ZZ/pair")],
    ["an unknown path", 404, ({ request }) => request.get("/nowhere")],
    ["a method that is not allowed", 405, ({ request }) => request.delete("/v2/volumes")],
    ["/health", 200, ({ request }) => request.get("/health")],
    ["/ready", 200, ({ request }) => request.get("/ready")],
    ["GraphiQL", 200, ({ request }) => request.get("/graphiql")],
    ["GraphQL", 200, ({ request }) => request.post("/graphql").send({ query: "{ __typename }" })],
    ["no GraphQL", 415, ({ request }) => request.post("/graphql").type("text").send("{")],
    ["a preflight", 204, ({ request }) => request.options("/graphql")],
  ];

  it.each(ASKED)("is another one for each time: %s", async (_, status, answered) => {
    for (const service of [app, uncached]) {
      const first = await answered(service);
      const again = await answered(service);
      const ids = [first, again].map(
        ({ headers }) => (headers as Record<string, string>)["x-request-id"],
      );
      expect(ids).toEqual([expect.stringMatching(MADE), expect.stringMatching(MADE)]);
      expect(ids[0]).not.toBe(ids[1]);
      expect(await over(service, 2)).toMatchObject(ids.map((id) => ({ id, status })));
      service.over.length = 0;
    }
  });

  it("is given with 304, and with an answer from memory, as with any other", async () => {
    const { headers } = await app.request.get("/v2/prices").set("X-Request-Id", "the-first");
    const same = { "If-None-Match": headers["etag"]!, "X-Request-Id": "the-second" };
    const again = await app.request.get("/v2/prices").set(same);
    const direct = await uncached.request.get("/v2/prices").set(same);

    expect(headers["x-request-id"]).toBe("the-first");
    expect([again.status, direct.status]).toEqual([304, 304]);
    expect(again.headers["x-request-id"]).toBe("the-second");
    expect(direct.headers["x-request-id"]).toBe("the-second");
    expect((await over(app, 2)).map(({ id, cache }) => [id, cache])).toEqual([
      ["the-first", "miss"],
      ["the-second", "hit"],
    ]);
  });

  it.each([
    "7",
    "4bf92f3577b34da6a3ce929d0e0e4736",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "Root=1-67891233-abcdef012345678912345678",
    "a:b/c+d=e_f.g",
    "x".repeat(128),
  ])("is the client's where it is well formed: %s", async (id) => {
    const { headers } = await app.request.get("/health").set("X-Request-Id", id);
    expect(headers["x-request-id"]).toBe(id);
  });

  it.each(["", "two words", "a,b", '"quoted"', "<b>", "{}", "caf\u00e9", "x".repeat(129)])(
    "is none of the client's where it is not: %s",
    async (id) => {
      const { headers } = await app.request.get("/health").set("X-Request-Id", id);
      expect(headers["x-request-id"]).toMatch(MADE);
    },
  );

  it("is none of two that the client gives", async () => {
    const id = await new Promise((resolve, reject) => {
      ask(`${app.url}/health`, { headers: { "X-Request-Id": ["one", "two"] } })
        .on("response", (response) => resolve(response.resume().headers["x-request-id"]))
        .on("error", reject)
        .end();
    });
    expect(id).toMatch(MADE);
  });

  it("is what a fault is logged under, whatever else is asked at the same time", async () => {
    const asked = Array.from({ length: 12 }, (_, n) => ({
      id: `fault-${n}`,
      table: ["dex_volume", "dex_price", "dex_market"][n % 3]!,
      ask: (id: string) =>
        n % 2 === 0
          ? uncached.request
              .post("/graphql")
              .set("X-Request-Id", id)
              .send({ query: `{ ${ROOTS[n % 3]!} { nodes { pair } } }` })
          : uncached.request.get(PATHS[n % 3]!).set("X-Request-Id", id),
    }));
    const tables = ["dex_volume", "dex_price", "dex_market"];
    await uncached.request.post("/graphql").send({ query: "{ __typename }" });
    for (const table of tables)
      await database.owner.query(`revoke select on ${table} from dex_reader`);

    await Promise.all(asked.map(({ id, ask }) => ask(id)));

    for (const table of tables)
      await database.owner.query(`grant select on ${table} to dex_reader`);
    const logged = uncached.logged.map((error, n) => [
      uncached.loggedUnder[n],
      /for view (\w+)/.exec((error as Error).message)?.[1],
    ]);
    expect(logged.sort()).toEqual(asked.map(({ id, table }) => [id, table]).sort());
  });
  const ROOTS = ["allDexVolumes", "allDexPrices", "allDexMarkets"];
  const PATHS = ["/v2/volumes", "/v2/prices", "/v1/markets"];
});

describe("the route", () => {
  it.each([
    ["/v1/markets/", "/v1/markets"],
    ["/v1/markets/weth/dai", "/v1/markets/:base/:quote"],
    ["/v1/pairs/WETH/DAI/?a=b", "/v1/pairs/:base/:quote"],
    ["/v1/prices/no/pair", "/v1/prices/:base/:quote"],
    ["/v2/volumes", "/v2/volumes"],
    ["/v2/trades/weth/dai?limit=2", "/v2/trades/:base/:quote"],
    ["/v2/trades/weth/dai?limit=0", "/v2/trades/:base/:quote"],
    ["/health", "/health"],
    ["/ready/", "/ready"],
    ["/graphiql", "/graphiql"],
    ["/graphql", "/graphql"],
    ["/v3/volumes", undefined],
    ["/v1/volumes/%ff/dai", undefined],
    ["/graphql/more", undefined],
  ])("of %s is the pattern %s, made or from memory", async (path, route) => {
    await app.request.get(path);
    await app.request.get(path);
    expect((await over(app, 2)).map((request) => request.route)).toEqual([route, route]);
  });

  it("is known of a method that is not allowed", async () => {
    await app.request.put("/v2/volumes/weth/dai");
    expect(await over(app, 1)).toMatchObject([
      { method: "PUT", route: "/v2/volumes/:base/:quote", status: 405 },
    ]);
  });
});

describe("a GraphQL request", () => {
  afterEach(() => jest.restoreAllMocks());

  it("is known by the name of its operation, made or from memory", async () => {
    const query = "query Heads { dexHead { block } } query Types { __typename }";
    for (const operationName of ["Heads", "Types", "Heads"]) {
      await app.request.post("/graphql").send({ query, operationName });
    }
    expect(await over(app, 3)).toMatchObject([
      { route: "/graphql", operation: "Heads", cache: "miss" },
      { route: "/graphql", operation: "Types", cache: "miss" },
      { route: "/graphql", operation: "Heads", cache: "hit" },
    ]);
  });

  it("is known by it also where it is refused, or waits too long for its turn", async () => {
    await app.request
      .post("/graphql")
      .send({ query: "query Large { allDexTrades(first: 1000000) { nodes { id } } }" });
    jest.spyOn(OperationsInFlight.prototype, "plan").mockRejectedValue(new ServiceBusy());
    await app.request
      .post("/graphql")
      .send({ query: "query Waits { allDexTrades(first: 7) { nodes { id } } }" });
    expect(await over(app, 2)).toMatchObject([
      { operation: "Large", errors: ["PAGE_TOO_LARGE"] },
      { operation: "Waits", errors: ["UNAVAILABLE"] },
    ]);
  });

  it("has no more of a name than a line should hold", async () => {
    await app.request.post("/graphql").send({ query: `query ${"N".repeat(5000)} { __typename }` });
    expect(await over(app, 1)).toMatchObject([{ operation: "N".repeat(100) }]);
  });
});

describe("Server-Timing", () => {
  const timing = (headers: Record<string, string>) => headers["server-timing"];
  const DURATION = String.raw`\d+\.\d{3}`;

  it("shows what an answer took, and what of it the database, or that it was known", async () => {
    const path = "/v2/volumes/weth/dai";
    const miss = await app.request.get(path);
    const hit = await app.request.get(path);
    const direct = await uncached.request.get(path);
    const without = await app.request.get("/health");

    expect(timing(miss.headers)).toMatch(
      new RegExp(`^cache;desc=miss, total;dur=${DURATION}, db;dur=${DURATION}$`),
    );
    expect(timing(hit.headers)).toBe("cache;desc=hit");
    expect(timing(direct.headers)).toMatch(
      new RegExp(`^total;dur=${DURATION}, db;dur=${DURATION}$`),
    );
    expect(timing(without.headers)).toMatch(new RegExp(`^total;dur=${DURATION}$`));
  });

  it.each(["{ dexHead { block } }", "{ allDexTrades(first: 1) { totalCount nodes { id } } }"])(
    "tells how long GraphQL waited for the database: %s",
    async (query) => {
      const { headers } = await uncached.request.post("/graphql").send({ query });
      const [, total, db] = /^total;dur=(.*), db;dur=(.*)$/.exec(timing(headers)!)!;
      expect(Number(db)).toBeGreaterThan(0);
      expect(Number(db)).toBeLessThan(Number(total));
    },
  );
});

it("knows whose answer a request has shared", async () => {
  const locking = await openClient(database.url);
  await locking.query("begin");
  await locking.query("lock table dex_pair in access exclusive mode");
  const ids = ["asks", "joins"];
  const answers = ids.map(async (id) => app.request.get("/v1/pairs").set("X-Request-Id", id));
  await untilSomebodyWaits(1);
  await locking.end();
  await Promise.all(answers);

  const [maker, other] = (await over(app, 2)).toSorted((a) => (a.cache === "miss" ? -1 : 1));
  expect(maker).toMatchObject({ cache: "miss", answeredAs: undefined });
  expect(other).toMatchObject({ cache: "shared", answeredAs: maker!.id, route: "/v1/pairs" });
  expect([maker!.id, other!.id].sort()).toEqual(ids);
});

it("knows that a client went away before it had its answer", async () => {
  const locking = await openClient(database.url);
  await locking.query("begin");
  await locking.query("lock table dex_pair in access exclusive mode");
  const leaving = new AbortController();
  const left = fetch(`${uncached.url}/v1/pairs`, { signal: leaving.signal }).catch(() => "left");
  await untilSomebodyWaits(1);
  leaving.abort();
  await left;

  expect(await over(uncached, 1)).toMatchObject([{ isAborted: true }]);
  await locking.end();
  await uncached.request.get("/v1/pairs");
  expect(await over(uncached, 2)).toMatchObject([{}, { isAborted: false, status: 200 }]);
});

async function untilSomebodyWaits(count: number): Promise<void> {
  await using admin = await openClient(database.url);
  for (;;) {
    const { rowCount } = await admin.query(
      `select
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'`,
    );
    if (rowCount === count) break;
  }
}
