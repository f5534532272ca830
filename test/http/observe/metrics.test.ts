// What Prometheus is told: it adds up, its labels are bounded, and strangers are not told.
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { stateOf, type RequestState } from "../../../http/request.ts";
import { makeTestApp, OF_ONE_VERSION, type TestApp } from "../../app.ts";
import { openClient, openPool } from "../../database.ts";
import { blockAt, registerMarkets, setHead } from "../../factories.ts";
import { useDatabase } from "../../served.ts";
import { startService } from "../../service.ts";

const database = useDatabase();
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
  await setHead(database.writer, 24);
});

const SHOWN = { metrics: { isPublic: true } };

async function withApp(
  test: (app: TestApp) => Promise<void>,
  options: Parameters<typeof makeTestApp>[1] = SHOWN,
  pool = database.reader,
): Promise<void> {
  await using app = await makeTestApp(pool, options);
  await test(app);
}

/** The values by name and labels, as Prometheus reads them. */
async function read({ request }: TestApp): Promise<Map<string, number>> {
  const { text } = await request.get("/metrics");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

const COUNT = "dex_http_request_duration_seconds_count";

/** What has been added to each value by `act`; of what was not there, all. */
async function added(app: TestApp, act: () => Promise<unknown>): Promise<Map<string, number>> {
  const before = await read(app);
  await act();
  const after = await read(app);
  return new Map(
    [...after]
      .map(([name, value]) => [name, value - (before.get(name) ?? 0)] as const)
      .filter(([, difference]) => difference !== 0),
  );
}

it("is text that Prometheus reads, and never kept", () =>
  withApp(async ({ request }) => {
    const first = await request.get("/metrics");
    expect(first.status).toBe(200);
    expect(first.headers).toMatchObject({
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      "cache-control": "no-store",
    });
    expect(first.headers).not.toHaveProperty("etag");
    const second = await request.get("/metrics");
    expect(second.text).toContain(`${COUNT}{route="/metrics",status="200"} 1`);
  }));

it("counts requests by the pattern of their path and their status", () =>
  withApp(async (app) => {
    const differences = await added(app, async () => {
      for (const path of ["/v1/prices/weth/dai", "/v1/prices/WETH/dai?a=1", "/v1/prices/no/pair"]) {
        await app.request.get(path);
      }
      await app.request.post("/v2/volumes");
      for (const path of ["/anything", "/v9", "/v1/x/y/z"]) await app.request.get(path);
    });
    const counts = [...differences].filter(
      ([name]) => name.startsWith(COUNT) && !name.includes('"/metrics"'),
    );
    expect(Object.fromEntries(counts)).toEqual({
      [`${COUNT}{route="/v1/prices/:base/:quote",status="200"}`]: 2,
      [`${COUNT}{route="/v1/prices/:base/:quote",status="400"}`]: 1,
      [`${COUNT}{route="/v2/volumes",status="405"}`]: 1,
      [`${COUNT}{route="none",status="404"}`]: 3,
    });
    const lasting = [...differences.keys()].find((name) =>
      name.startsWith('dex_http_request_duration_seconds_sum{route="/v2/volumes"'),
    );
    expect(differences.get(lasting!)).toBeGreaterThan(0);
  }));

it("counts each of many requests, however few of them are in the histogram yet", () =>
  withApp(async (app) => {
    const sum = 'dex_http_request_duration_seconds_sum{route="/v1/markets",status="200"}';
    const over: RequestState = Object.assign(stateOf(new IncomingMessage(new Socket())), {
      route: "/v1/markets",
      status: 200,
      // 2^-10 seconds, of which binary sums are exact.
      ms: 1000 / 1024,
    });
    const differences = await added(app, async () => {
      for (let n = 0; n < 2050; n += 1) app.metrics!.count(over);
      await Promise.resolve();
    });
    expect(differences.get(`${COUNT}{route="/v1/markets",status="200"}`)).toBe(2050);
    expect(differences.get(sum)).toBe(2050 / 1024);
  }));

it("has no more series, whatever clients make up", () =>
  withApp(async (app) => {
    const made = async (n: number): Promise<void> => {
      await app.request.get(`/made-up-${n}/${n}?x=${n}`).set("X-Request-Id", `id-${n}`);
      await app.request.get(`/v1/markets/A${n}/B${n}`);
      await app.request.get(`/ruru-static/${n}.js`);
      await app.request.post("/graphql").send({ query: `query Q${n} { __typename a${n}: nope }` });
    };
    // GraphQL has read its schema then.
    await made(0);
    await read(app);
    const before = await read(app);
    for (let n = 1; n < 10; n += 1) await made(n);
    const after = await read(app);
    const ofService = (values: Map<string, number>) =>
      [...values.keys()].filter((name) => name.startsWith("dex_"));
    expect(ofService(after)).toEqual(ofService(before));
  }));

it("counts GraphQL operations, and their errors by code", () =>
  withApp(async (app) => {
    const differences = await added(app, async () => {
      for (const query of [
        "{ dexHead { block } }",
        "{ dexHead { block } }",
        "{ nope }",
        "{ allDexTrades(first: -1) { totalCount } a: allDexTrades(first: -1) { totalCount } }",
      ]) {
        await app.request.post("/graphql").send({ query });
      }
    });
    const counts = [...differences].filter(([name]) => name.startsWith("dex_graphql_"));
    expect(Object.fromEntries(counts)).toEqual({
      'dex_graphql_operations_total{outcome="ok"}': 2,
      'dex_graphql_operations_total{outcome="error"}': 2,
      'dex_graphql_errors_total{code="none"}': 1,
      'dex_graphql_errors_total{code="BAD_USER_INPUT"}': 2,
    });
  }));

it("counts what is refused by the limit that it exceeds", () =>
  withApp(
    async (app) => {
      const ask = (query: string) => app.request.post("/graphql").send({ query });
      const differences = await added(app, async () => {
        await ask("{ a: __typename }");
        await ask("{ allDexTrades(first: 11) { nodes { id } } }");
        await ask("{ allDexTrades(first: 11) { nodes { id } } }");
        await ask(`{ dexHead { block } } # ${"x".repeat(2000)}`);
        await app.request.get(`/graphql?query=${"x".repeat(3000)}`);
        for (let n = 0; n < 3; n += 1) await ask("{ __typename }");
        await app.request.get("/v2/prices");
        await app.request.put("/v1/volumes/a/b/?c=d");
        // What is no endpoint's path makes no series.
        for (const path of ["/v2/made-up", "/v1/volumes/a"]) await app.request.get(path);
      });
      const counts = [...differences].filter(([name]) =>
        name.startsWith("dex_graphql_errors_total"),
      );
      expect(Object.fromEntries(counts)).toEqual({
        'dex_graphql_errors_total{code="PAGE_TOO_LARGE"}': 2,
        'dex_graphql_errors_total{code="BODY_TOO_LARGE"}': 1,
        'dex_graphql_errors_total{code="URL_TOO_LONG"}': 1,
        'dex_graphql_errors_total{code="RATE_LIMITED"}': 2,
      });
      expect(differences.get('dex_graphql_operations_total{outcome="error"}')).toBe(6);
      expect(differences.get(`${COUNT}{route="/graphql",status="429"}`)).toBe(2);
      expect(differences.get(`${COUNT}{route="/v2/prices",status="429"}`)).toBe(1);
      expect(differences.get(`${COUNT}{route="/v1/volumes/:base/:quote",status="429"}`)).toBe(1);
      expect(differences.get(`${COUNT}{route="none",status="429"}`)).toBe(2);
    },
    {
      ...SHOWN,
      limits: { ...GRAPHQL_LIMITS, page: 10, bodyBytes: 1000 },
      rateLimit: 6,
    },
  ));

it("shows what comes from memory, and what is kept there", () =>
  withApp(
    async (app) => {
      const differences = await added(app, async () => {
        for (let n = 0; n < 4; n += 1) await app.request.get("/v2/prices");
        await app.request.get("/v2/prices/no/pair");
      });
      expect(differences.get('dex_cache_requests_total{result="hit"}')).toBe(3);
      expect(differences.get('dex_cache_requests_total{result="miss"}')).toBe(2);
      expect(differences.get("dex_cache_answers")).toBe(1);
      expect(differences.get("dex_cache_bytes")).toBeGreaterThan(500);
    },
    {
      ...SHOWN,
      cache: OF_ONE_VERSION,
    },
  ));

it("shows how the pool is used, and who waits for it", async () => {
  await using pool = openPool(database.url, { role: "dex_reader", poolSize: 2 });
  await using watch = openPool(database.url, { role: "dex_reader", poolSize: 1 });
  await using locking = await openClient(database.url);
  await withApp(
    async (app) => {
      await locking.query("begin");
      await locking.query("lock table dex_pair in access exclusive mode");
      const asked = [1, 2, 3].map(async () => app.request.get("/v1/pairs"));
      while (pool.waitingCount === 0) await new Promise(setImmediate);
      const busy = await read(app);
      await locking.query("rollback");
      await Promise.all(asked);
      const idle = await read(app);

      const of = (values: Map<string, number>) => [
        values.get('dex_pool_connections{pool="rest",state="used"}'),
        values.get('dex_pool_connections{pool="rest",state="idle"}'),
        values.get('dex_pool_connections_max{pool="rest"}'),
        values.get('dex_pool_waiting{pool="rest"}'),
      ];
      expect(of(busy)).toEqual([2, 0, 2, 1]);
      expect(of(idle)).toEqual([0, 2, 2, 0]);
    },
    { cache: "off", metrics: { isPublic: true, db: watch } },
    pool,
  );
});

it("shows the head and its age, and neither where no block is written", () =>
  withApp(async (app) => {
    await database.writer.query(
      "select ingest.write_block(100000, clock_timestamp() - interval '90 seconds')",
    );
    const values = await read(app);
    expect(values.get("dex_database_up")).toBe(1);
    expect(values.get("dex_head_block")).toBe(100_000);
    expect(values.get("dex_head_age_seconds")).toBeGreaterThanOrEqual(90);
    expect(values.get("dex_head_age_seconds")).toBeLessThan(600);

    await database.writer.query("select ingest.take_back(0)");
    const without = await read(app);
    expect(without.get("dex_database_up")).toBe(1);
    expect(without.has("dex_head_block")).toBe(false);
    expect(without.has("dex_head_age_seconds")).toBe(false);
    await setHead(database.writer, 24);
    expect((await read(app)).get("dex_head_block")).toBe(blockAt(24));
  }));

it("shows all the rest while the database does not answer", async () => {
  await using gone = openPool("postgres://nobody@127.0.0.1:1/nothing");
  await withApp(
    async (app) => {
      const values = await read(app);
      expect(values.get("dex_database_up")).toBe(0);
      expect(values.has("dex_head_block")).toBe(false);
      expect(values.get("process_resident_memory_bytes")).toBeGreaterThan(0);
      expect(values.get('dex_pool_connections_max{pool="rest"}')).toBe(database.reader.options.max);
      expect([...values.keys()]).toContainEqual(
        expect.stringMatching(/^dex_build_info\{version="\d+\.\d+\.\d+"\}$/),
      );
    },
    { metrics: { isPublic: true, db: gone } },
  );
});

it("asks the database once for all who ask at once, and no longer than a second", async () => {
  let asked = 0;
  const hung = {
    query: ({ query_timeout }: { query_timeout: number }) => {
      asked += 1;
      return new Promise((_, reject) => setTimeout(() => reject(new Error("slow")), query_timeout));
    },
  } as never;
  await withApp(
    async (app) => {
      const all = await Promise.all([1, 2, 3, 4].map(() => read(app)));
      for (const values of all) expect(values.get("dex_database_up")).toBe(0);
      expect(asked).toBe(1);
    },
    { metrics: { isPublic: true, db: hung } },
  );
});

it("is nothing that a stranger is shown, unless the operator says so", () =>
  withApp(
    async (app) => {
      expect((await app.request.get("/metrics")).status).toBe(404);
      expect(await app.metrics!.text()).toContain("dex_http_request_duration_seconds");
    },
    { metrics: { isPublic: false } },
  ));

describe("the service", () => {
  const start = async (env: Record<string, string>) => {
    const service = startService({ DATABASE_URL: database.url, ...env });
    const url = await service.url;
    const stop = (): Promise<unknown> => {
      service.signal("SIGTERM");
      return service.ended;
    };
    return { url, service, stop };
  };

  it("gives them at its own port on this machine alone, and else nowhere", async () => {
    const local = await start({});
    const open = await start({ HOST: "0.0.0.0" });
    const statuses = [];
    for (const { url, stop } of [local, open]) {
      statuses.push((await fetch(`${url}/metrics`)).status);
      await stop();
    }
    expect(statuses).toEqual([200, 404]);
  });

  it("gives them at a separate port, and there alone", async () => {
    const { url, service, stop } = await start({ HOST: "0.0.0.0", METRICS_PORT: "0" });
    const said = (await service.printed(/Metrics\s+(http:[^"\s]+\/metrics)/)) as RegExpExecArray;

    const apart = await fetch(said[1]!);
    const elsewhere = await fetch(new URL("/v1/markets/", said[1]));
    const among = await fetch(`${url}/metrics`);
    await stop();

    expect(apart.headers.get("content-type")).toContain("version=0.0.4");
    expect(await apart.text()).toContain(
      'dex_pool_connections_max{pool="rest"} 10\ndex_pool_connections_max{pool="graphql"} 5\n',
    );
    expect([apart.status, elsewhere.status, among.status]).toEqual([200, 404, 404]);
    expect(said[1]).not.toBe(`${url}/metrics`);
  });
});
