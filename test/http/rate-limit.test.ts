// How often one client may ask, and who counts as one.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { LastHead } from "../../http/known-database.ts";
import { refuseAsOf } from "../../http/refusal.ts";
import { rateLimiter } from "../../http/rate-limit.ts";
import { exchange, exchangeWhole, graphql, type Asked, type Received } from "../exchange-http.ts";
import { makeTestApp, type TestOptions } from "../app.ts";
import { registerMarkets, setHead } from "../factories.ts";
import { useDatabase } from "../served.ts";
import { recordStatements, type Statement } from "../statements.ts";
import { begin, clientNames, type TrustedProxies } from "../../http/request.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Ask = (asked: Asked) => Promise<Received>;

/** The limit alone, in front of what answers everything, and what asks it. */
async function limited(perMinute: number, trustedProxies: TrustedProxies = 0): Promise<Ask> {
  const server = createServer(
    begin(
      clientNames(trustedProxies),
      [],
    )(rateLimiter(perMinute, refuseAsOf(new LastHead())).limit((_req, res) => void res.end())),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo;
  return (asked) => exchangeWhole(`http://127.0.0.1:${port}`, asked);
}

const header = ({ headers }: Received, name: string): string | undefined => {
  const at = headers.findIndex((line, n) => n % 2 === 0 && line.toLowerCase() === name);
  return at < 0 ? undefined : headers[at + 1];
};
const MARKETS: Asked = { path: "/v1/markets/" };
const forwarded = (addresses: string): Asked => ({
  ...MARKETS,
  headers: { "X-Forwarded-For": addresses },
});
const bodyOf = ({ body }: Received): unknown => JSON.parse(body.toString());
const statuses = (answers: Received[]): number[] => answers.map(({ status }) => status);

async function askAll(ask: (asked: Asked) => Promise<Received>, all: Asked[]): Promise<Received[]> {
  const answers: Received[] = [];
  for (const asked of all) answers.push(await ask(asked));
  return answers;
}

describe("the service", () => {
  const database = useDatabase();
  let statements: Statement[];
  beforeAll(async () => {
    await registerMarkets(database.writer);
    await setHead(database.writer, 24);
    statements = recordStatements(database.reader);
  });

  async function serviceWith(options: TestOptions): Promise<Ask> {
    const app = await makeTestApp(database.reader, options);
    closing.push(app.close);
    return (asked) => exchange(app.url, asked);
  }
  const QUERY = graphql({ query: "{ dexHead { block } }" });

  it("names the limit in each answer, also in those from memory, of both interfaces", async () => {
    const ask = await serviceWith({ rateLimit: 4 });

    const answers = await askAll(ask, [MARKETS, MARKETS, QUERY, { path: "/nowhere" }]);

    expect(statuses(answers)).toEqual([200, 200, 200, 404]);
    for (const [n, answer] of answers.entries()) {
      expect(header(answer, "ratelimit-policy")).toBe('"requests";q=4;w=60');
      expect(header(answer, "ratelimit")).toMatch(
        new RegExp(`^"requests";r=${3 - n};t=([1-9]|[1-5][0-9]|60)$`),
      );
    }
  });

  it("refuses what is too much in the form of each interface, and asks nothing", async () => {
    const ask = await serviceWith({
      cache: "off",
      rateLimit: 2,
    });
    await ask({ path: "/v1/prices/weth/dai" });
    // Answered, so that the schema has been read.
    expect((await ask(QUERY)).status).toBe(200);
    statements.length = 0;

    const v1 = await ask(MARKETS);
    const v2 = await ask({ path: "/v2/prices" });
    const query = await ask(QUERY);

    const message = /^At most 2 requests a minute are accepted: ask again in [0-9]+ s$/;
    const told = expect.stringMatching(message) as unknown;
    expect(bodyOf(v1)).toEqual({ data: {}, time: 1_767_312_000, message: told });
    expect(bodyOf(v2)).toEqual({ time: "2026-01-02T00:00:00.000Z", message: told });
    expect(bodyOf(query)).toEqual({
      errors: [
        {
          message: told,
          extensions: { code: "RATE_LIMITED", retryAfter: Number(header(query, "retry-after")) },
        },
      ],
    });
    for (const refused of [v1, v2, query]) {
      expect(refused.status).toBe(429);
      const seconds = header(refused, "retry-after")!;
      expect(seconds).toMatch(/^([1-9]|[1-5][0-9]|60)$/);
      expect(refused.body.toString()).toContain(`ask again in ${seconds} s`);
      expect(header(refused, "ratelimit")).toBe(`"requests";r=0;t=${seconds}`);
      expect(header(refused, "cache-control")).toBe("no-store");
      expect(header(refused, "access-control-allow-origin")).toBe("*");
      expect(header(refused, "content-security-policy")).toBe(
        "default-src 'none';frame-ancestors 'none'",
      );
    }
    expect(statements).toEqual([]);
  });

  it("lets whoever supervises it ask on, and shows each refused client the id of its request", async () => {
    const { request, close } = await makeTestApp(database.reader, {
      rateLimit: 1,
      metrics: { isPublic: true },
    });
    closing.push(close);
    await request.get("/v1/markets/");
    const refused = await request.get("/v1/markets/").set("X-Request-Id", "one-too-many");
    const supervised: number[] = [];
    for (const path of ["/health", "/ready", "/metrics"]) {
      supervised.push((await request.get(path)).status);
    }

    expect(refused.status).toBe(429);
    expect(refused.headers["x-request-id"]).toBe("one-too-many");
    expect(refused.headers["server-timing"]).toMatch(/^total;dur=/);
    expect(supervised).toEqual([200, 200, 200]);
  });

  it("has no limit where it is off", async () => {
    const ask = await serviceWith({});
    expect(header(await ask(MARKETS), "ratelimit")).toBeUndefined();
  });
});

it("never refuses whoever supervises the service", async () => {
  const ask = await limited(1);
  await ask(MARKETS);
  const paths = ["/health", "/health/", "/ready", "/ready?x=1", "/metrics", "/metrics/"];
  const answers = await askAll(
    ask,
    paths.map((path) => ({ path })),
  );
  expect(statuses(answers)).toEqual([200, 200, 200, 200, 200, 200]);
  expect(header(answers[0]!, "ratelimit")).toBeUndefined();
  expect((await ask({ path: "/healthy" })).status).toBe(429);
});

describe("the client", () => {
  it("is whoever connects, whatever it says of others", async () => {
    const ask = await limited(1);
    const answers = await askAll(ask, [forwarded("192.0.2.1"), forwarded("192.0.2.2")]);
    expect(statuses(answers)).toEqual([200, 429]);
  });

  it("is whom the one trusted proxy asks for", async () => {
    const ask = await limited(1, 1);
    const answers = await askAll(ask, [
      forwarded("192.0.2.1"),
      forwarded("192.0.2.2"),
      forwarded("192.0.2.1"),
      // What stands before the last was said by the client itself.
      forwarded("192.0.2.3, 192.0.2.1"),
    ]);
    expect(statuses(answers)).toEqual([200, 200, 429, 429]);
  });

  it("is whom proxies of trusted addresses ask for", async () => {
    const ask = await limited(1, ["loopback", "10.0.0.0/8"]);
    const answers = await askAll(ask, [
      forwarded("192.0.2.1, 10.1.2.3"),
      forwarded("192.0.2.2, 10.1.2.3"),
      forwarded("192.0.2.9, 192.0.2.2"),
    ]);
    expect(statuses(answers)).toEqual([200, 200, 429]);
  });

  it("is an address also where the proxy adds its port", async () => {
    const ask = await limited(1, 1);
    const answers = await askAll(ask, [
      forwarded("192.0.2.1:5555"),
      forwarded("192.0.2.1:5556"),
      forwarded("192.0.2.2:5555"),
      forwarded("[2001:db8:0:1::1]:443"),
      forwarded("[2001:db8:0:1::2]"),
      forwarded("2001:db8:1::1"),
    ]);
    expect(statuses(answers)).toEqual([200, 429, 200, 200, 429, 200]);
  });

  it("is the proxy, where that says no address", async () => {
    const ask = await limited(1, 1);
    const answers = await askAll(ask, [forwarded("one"), forwarded("another"), MARKETS]);
    expect(statuses(answers)).toEqual([200, 429, 429]);
  });

  it("is one with all addresses of its IPv6 network", async () => {
    const ask = await limited(1, 1);
    const answers = await askAll(ask, [
      forwarded("2001:db8:0:1::1"),
      forwarded("2001:db8:0:2::2"),
      forwarded("2001:db8:1::1"),
    ]);
    expect(statuses(answers)).toEqual([200, 429, 200]);
  });
});

it("begins anew a minute later, and where the clock is put back", async () => {
  let now = Date.parse("2026-01-05T12:00:00Z");
  const clock = jest.spyOn(Date, "now").mockImplementation(() => now);
  try {
    const ask = await limited(1);
    const at = async (ms: number): Promise<number> => {
      now += ms;
      return (await ask({ path: "/nowhere" })).status;
    };
    expect([await at(0), await at(59_000), await at(1000), await at(0)]).toEqual([
      200, 429, 200, 429,
    ]);
    expect([await at(-3_600_000), await at(0)]).toEqual([200, 429]);
  } finally {
    clock.mockRestore();
  }
});

it("keeps a client's minute while the store puts its clients in order", async () => {
  jest.useFakeTimers({ now: 0, doNotFake: ["nextTick", "setImmediate", "setTimeout"] });
  try {
    const ask = await limited(3);
    jest.advanceTimersByTime(30_000);
    await ask(MARKETS);
    // The store goes through its clients at 60, between the first request and the others.
    jest.advanceTimersByTime(40_000);
    const answers = await askAll(ask, [MARKETS, MARKETS, MARKETS]);
    expect(statuses(answers)).toEqual([200, 200, 429]);
    // The minute began at 30, and it is 70.
    expect(header(answers[2]!, "retry-after")).toBe("20");
  } finally {
    jest.useRealTimers();
  }
});
