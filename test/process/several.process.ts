// Several processes of the service on one machine: on one port, and with one rate limit counted in Redis.
import { setTimeout as sleep } from "node:timers/promises";
import { registerMarkets, setHead } from "../factories.ts";
import { exchange } from "../exchange-http.ts";
import { describeWithRedis, TestRedis } from "../redis.ts";
import { useDatabase } from "../served.ts";
import { PATIENT, startService, type Service } from "../service.ts";

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await setHead(writer, 24);
});
const running: Service[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) {
    service.signal("SIGTERM");
    await service.ended;
  }
});

function start(env: Record<string, string>): Service {
  const service = startService({ DATABASE_URL: database.url, ...PATIENT, ...env });
  running.push(service);
  return service;
}

describe("REUSE_PORT=1", () => {
  /** Which ids of requests the process has logged. */
  const answered = (service: Service): number => service.output().split('"/health"').length - 1;

  it("lets processes share a port, and the others answer when one stops", async () => {
    const first = start({ REUSE_PORT: "1" });
    const url = await first.url;
    const second = start({ REUSE_PORT: "1", PORT: new URL(url).port });
    expect(await second.url).toBe(url);
    // Each request has a connection of its own, and the system chooses the process.
    const ask = () => exchange(url, { path: "/health", headers: { connection: "close" } });
    while (answered(first) === 0 || answered(second) === 0) {
      expect((await ask()).status).toBe(200);
    }
    first.signal("SIGTERM");
    await first.ended;
    for (let n = 0; n < 20; n += 1) expect((await ask()).status).toBe(200);
  });

  it("says that a process without it has the port", async () => {
    const url = await start({}).url;
    const { port } = new URL(url);
    const { code, stderr } = await start({ REUSE_PORT: "1", PORT: port }).ended;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `PORT ${port} of 127.0.0.1 is in use by a process without REUSE_PORT=1, or of another user. Give another PORT, or 0 for any that is free.\n`,
    });
  });
});

describeWithRedis("RATE_LIMIT_REDIS_URL", () => {
  let redis: TestRedis;
  beforeEach(async () => {
    redis = await TestRedis.make();
  });
  afterEach(() => redis.stop());

  const COUNTS = /RATE_LIMIT_REDIS_URL counts the requests/;
  const LOST = /RATE_LIMIT_REDIS_URL does not count: .*this process counts requests for itself/;
  const limitedTo = (limit: number, url = redis.url): Service =>
    start({ RATE_LIMIT: String(limit), RATE_LIMIT_REDIS_URL: url });
  const ask = async (service: Service): Promise<{ status: number; left: number }> => {
    const { status, headers } = await fetch(`${await service.url}/v1/prices/`);
    return { status, left: Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]) };
  };
  /** How many requests a process answers until it refuses one; `pause` is for the answers of Redis. */
  async function answeredBy(service: Service, pause = 20): Promise<number> {
    for (let count = 0; ; count += 1) {
      if ((await ask(service)).status === 429) return count;
      await sleep(pause);
    }
  }

  it("counts the requests of two processes together", async () => {
    await redis.start();
    const [one, other] = [limitedTo(10), limitedTo(10)];
    await Promise.all([one.printed(COUNTS), other.printed(COUNTS)]);
    for (let n = 0; n < 6; n += 1) expect((await ask(one)).status).toBe(200);
    // The first request of the other process brings the count.
    while ((await ask(other)).left > 3) await sleep(20);
    await answeredBy(other);
    const hits = await redis.ask((client) =>
      client.get("dex-market-data:requests:127.0.0.1").then(Number),
    );
    // Those that were answered while Redis was: no others.
    expect(hits).toBeGreaterThanOrEqual(10);
    while ((await ask(one)).status !== 429) await sleep(20);
    expect(
      await redis.ask((client) => client.pttl("dex-market-data:requests:127.0.0.1")),
    ).toBeLessThanOrEqual(60_000);
  });

  it("starts without Redis, counts for itself, and shares the count once Redis is there", async () => {
    const one = limitedTo(3);
    await one.printed(LOST);
    expect(await answeredBy(one)).toBe(3);
    await redis.start();
    await one.printed(COUNTS);
    expect((await ask(one)).status).toBe(429);
  });

  it("does not count in another database than the one that is named", async () => {
    await redis.start();
    const one = limitedTo(3, redis.url.replace(/0$/, "16"));
    await one.printed(/does not count: ERR DB index is out of range/);
    expect(await answeredBy(one)).toBe(3);
    expect(await redis.ask((client) => client.keys("*"))).toEqual([]);
    expect(one.output()).not.toMatch(COUNTS);
  });

  it("says that the password is another one, of which the closed connection says nothing", async () => {
    await redis.start();
    const one = limitedTo(3);
    await one.printed(COUNTS);
    await redis.ask(async (client) => {
      await client.config("SET", "requirepass", "another");
      await client.call("CLIENT", "KILL", "TYPE", "normal");
    });
    await one.printed(/does not count: NOAUTH/);
  });

  it.each(["is killed", "is frozen", "refuses to write"])(
    "goes on with the count of each process where Redis %s, and shares it again later",
    async (how) => {
      await redis.start();
      const one = limitedTo(100);
      await one.printed(COUNTS);
      await ask(one);
      if (how === "is killed") await redis.stop();
      else if (how === "is frozen") redis.freeze();
      else await redis.ask((client) => client.replicaof("127.0.0.1", 1));
      while (!LOST.test(one.output())) {
        expect((await ask(one)).status).toBe(200);
        await sleep(200);
      }
      await answeredBy(one, 0);
      if (how === "is killed") await redis.start();
      else if (how === "is frozen") redis.thaw();
      else await redis.ask((client) => client.replicaof("NO", "ONE"));
      while (one.output().split(COUNTS).length < 3) await sleep(20);
      expect([200, 429]).toContain((await ask(one)).status);
    },
  );
});
