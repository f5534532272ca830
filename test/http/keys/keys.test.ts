// Keys: a file gives their holders a rate, streams and a cost budget; without one nothing changes.
import { mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hash } from "node:crypto";
import { ApiKeys, openKeys } from "../../../http/keys/api-keys.ts";
import { parseKeys } from "../../../http/keys/key-file.ts";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import { makeTestApp, OF_ONE_VERSION, type TestApp, type TestOptions } from "../../app.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";
import { useDatabase } from "../../served.ts";
import { followStream } from "../../stream-client.ts";
import { connectTo, follow } from "../../subscription-client.ts";
import { WebSocket } from "ws";

const ACME = "acme-has-this-very-key-1";
const FREE = "free-has-this-very-key-2";
const SMALL = "small-has-this-very-key-3";
const FILE = `
# Those who may have more, or less.
acme   ${ACME}  rate=5 streams=3 cost=100   # 5 a minute
free   sha256:${hash("sha256", FREE)}  rate=0
small  ${SMALL}  cost=10
`;

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade()] });
});
const closing: TestApp[] = [];
afterEach(async () => {
  for (const app of closing.splice(0)) await app.close();
});

async function serve(options: TestOptions = {}): Promise<TestApp> {
  const app = await makeTestApp(database.reader, {
    ...{ keys: new ApiKeys(parseKeys(FILE)), metrics: { isPublic: true } },
    ...options,
  });
  closing.push(app);
  return app;
}

const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` });
const get = async ({ request }: TestApp, key?: string, path = "/v2/head") =>
  request.get(path).set(key === undefined ? {} : bearer(key));

/** The statuses of so many requests, one after the other. */
async function statuses(count: number, app: TestApp, key?: string): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) found.push((await get(app, key)).status);
  return found;
}

describe("the rate", () => {
  it("is that of the key, apart from that of the address", async () => {
    const app = await serve({ rateLimit: 2 });
    expect(await statuses(6, app, ACME)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statuses(3, app)).toEqual([200, 200, 429]);
    // It has no rate in the file, so that of any client.
    expect(await statuses(3, app, SMALL)).toEqual([200, 200, 429]);
    expect(await statuses(9, app, FREE)).toEqual(Array(9).fill(200));
  });

  it("is in the headers, and there is none without one", async () => {
    const app = await serve({ rateLimit: 0 });
    const { headers } = await get(app, ACME);
    expect(headers).toMatchObject({
      "ratelimit-policy": '"requests";q=5;w=60',
      ratelimit: expect.stringMatching(/^"requests";r=4;t=\d+$/),
    });
    for (const key of [undefined, FREE]) {
      expect((await get(app, key)).headers).not.toHaveProperty("ratelimit-policy");
    }
  });
});

describe("an unknown key", () => {
  it("is 401 in the form of each interface, and counts for its address", async () => {
    const app = await serve({ rateLimit: 4 });
    const wrong = bearer("acme-has-this-very-key-2");
    const rest = await app.request.get("/v1/markets").set(wrong);
    expect([rest.status, rest.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    expect(rest.body.message).toBe(
      "The key of Authorization is unknown: give Bearer and a key, or no Authorization",
    );
    const graphql = await app.request.post("/graphql").set(wrong).send({ query: "{ __typename }" });
    expect([graphql.status, graphql.body.errors[0].extensions.code]).toEqual([401, "UNKNOWN_KEY"]);
    const refused = await new Promise((resolve) => {
      new WebSocket(`${app.url.replace("http", "ws")}/graphql`, "graphql-transport-ws", {
        headers: wrong,
      })
        .on("unexpected-response", (_, { statusCode }) => resolve(statusCode))
        .on("error", () => undefined);
    });
    expect(refused).toBe(401);
    expect((await get(app, "another-key-of-twenty")).status).toBe(401);
    expect((await get(app, "another-key-of-twenty")).status).toBe(429);
    // A supervisor is answered whatever it sends.
    expect((await get(app, "another-key-of-twenty", "/health")).status).toBe(200);
  });

  it("is what stands between the spaces around it, however many are within", async () => {
    const app = await serve({ rateLimit: 5 });
    const statusWith = async (given: string): Promise<number> =>
      (await app.request.get("/v2/head").set("Authorization", given)).status;
    expect(await statusWith(`bearer   ${ACME}  `)).toBe(200);
    // A tab is no other scheme, and no key is no key that is known: else its holder would count as anybody.
    expect(await statusWith(`Bearer\t${ACME}x`)).toBe(401);
    expect(await statusWith("Bearer ")).toBe(401);
    expect(await statusWith(`Bearer a${" ".repeat(10_000)}b`)).toBe(401);
  });

  it("is none of another scheme's, and of none where there is no file", async () => {
    const app = await serve();
    const basic = await app.request.get("/v2/head").set("Authorization", "Basic YTpi");
    expect(basic.status).toBe(200);
    const without = await serve({ keys: undefined });
    expect((await get(without, "whatever")).status).toBe(200);
  });
});

it("the streams are those of the key, with subscriptions and connections", async () => {
  const keys = new ApiKeys(parseKeys(`acme ${ACME} streams=3`));
  const app = await serve({ keys, streams: { ...STREAM_LIMITS, perClient: 1 } });
  const open = [];
  const stream = `${app.url}/v2/stream?topics=head`;
  for (let n = 0; n < 2; n += 1) open.push(await followStream(stream, bearer(ACME)));
  class WithKey extends WebSocket {
    constructor(url: string, protocol: string) {
      super(url, protocol, { headers: bearer(ACME) });
    }
  }
  const client = connectTo(app.url, { webSocketImpl: WithKey });
  const followed = follow(client, "subscription { dexHead { cursor } }");
  await followed.next();
  const refused = await fetch(stream, { headers: bearer(ACME) });
  expect([open.map(({ status }) => status), refused.status]).toEqual([[200, 200], 429]);
  expect(await refused.json()).toHaveProperty(
    "message",
    expect.stringMatching(/^At most 3 streams of a client/),
  );
  const other = await followStream(stream);
  expect([other.status, (await fetch(stream)).status]).toEqual([200, 429]);
  for (const each of [...open, other]) each.close();
  await followed.end();
  await client.dispose();
});

it("the cost is that of the key, also of an answer that another client has in memory", async () => {
  const limits = { ...GRAPHQL_LIMITS, planningMs: 60_000, page: 20, cost: 50 };
  const app = await serve({ limits, cache: OF_ONE_VERSION });
  const ask = async (first: number, key?: string) => {
    const { body } = await app.request
      .post("/graphql")
      .set(key === undefined ? {} : bearer(key))
      .send({
        query: `{ a: allDexTrades(first: ${first}) { nodes { id } } b: allDexTrades(first: ${first}) { nodes { id } } }`,
      });
    return (body as { errors?: { extensions: { code: string } }[] }).errors?.[0]?.extensions.code;
  };
  // Two lists of 10 rows cost 20 and more, of 2 rows some 4.
  expect(await ask(2, SMALL)).toBeUndefined();
  expect(await ask(10)).toBeUndefined();
  expect(await ask(10, SMALL)).toBe("TOO_EXPENSIVE");
  expect(await ask(10)).toBeUndefined();
});

it("requests are counted by the name of the key", async () => {
  const app = await serve({ rateLimit: 100 });
  await statuses(6, app, ACME);
  await get(app, SMALL);
  await get(app);
  const counts = async (): Promise<string[]> =>
    (await get(app, undefined, "/metrics")).text
      .split("\n")
      .filter((line) => line.startsWith("dex_key_requests_total"));
  while ((await counts()).length < 3) await sleep(5);
  expect(await counts()).toEqual([
    'dex_key_requests_total{key="acme",status="200"} 5',
    'dex_key_requests_total{key="acme",status="429"} 1',
    'dex_key_requests_total{key="small",status="200"} 1',
  ]);
  for (const state of app.over) expect(JSON.stringify(state)).not.toContain(ACME);
});

describe("the file", () => {
  const KEY = "a-key-of-twenty-letters";
  it.each([
    ["no name", `/a ${KEY}`, "the name must be 1 to 40 letters"],
    ["no key", "acme", "behind the name must be a key of 20 to 200"],
    ["a short key", "acme short", "behind the name must be a key of 20 to 200"],
    ["an upper-case digest", `acme sha256:${"A".repeat(64)}`, "behind the name must be a key"],
    ["an unknown word", `acme ${KEY} speed=5`, "behind the key must be rate=, streams= or cost="],
    ["no number", `acme ${KEY} rate=1e3`, "rate must be an integer from 0 to 1000000000"],
    ["a leading zero", `acme ${KEY} rate=05`, "rate must be an integer from 0 to 1000000000"],
    ["a second =", `acme ${KEY} rate=1=2`, "rate must be an integer from 0 to 1000000000"],
    ["no stream", `acme ${KEY} streams=0`, "streams must be an integer from 1 to 1000000"],
    ["a word twice", `acme ${KEY} cost=1 cost=2`, "cost must be given once"],
    ["a name twice", `acme ${KEY}\nacme ${KEY}x`, "its name is that of line 2 too"],
    ["a key twice", `acme ${KEY}\nother ${KEY}`, "its key is that of line 2 too"],
  ])("with %s is refused by its line, and none of its text is shown", (_, text, problem) => {
    const line = text.split("\n").length + 1;
    let message = "";
    try {
      parseKeys(`# first\n${text}\n`);
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message).toMatch(new RegExp(`^line ${line}: ${problem}`));
    expect(message).not.toContain(KEY);
  });

  it("may be empty, with comments and the line ends of Windows", () => {
    expect(parseKeys("\r\n# none\r\n")).toEqual([]);
    expect(parseKeys(`acme ${KEY} rate=7\r\n`)).toMatchObject([{ name: "acme", rate: 7 }]);
  });

  it("is read again when it changes; a wrong one leaves the keys, and the log says why", async () => {
    const folder = await mkdtemp(join(tmpdir(), "keys-"));
    const file = join(folder, "keys");
    await writeFile(file, `acme ${KEY}\n`);
    const lines: string[] = [];
    const log = {
      info: (line: string) => lines.push(line),
      warn: (line: string) => lines.push(line),
    };
    const { keys, close } = openKeys({ file, log, everyMs: 20 });
    const untilLogged = async (count: number): Promise<string> => {
      while (lines.length < count) await sleep(5);
      return lines.at(-1)!;
    };
    expect(keys.find(KEY)?.name).toBe("acme");

    await writeFile(join(folder, "wrong"), `acme ${KEY}\nother ${KEY} x\n`);
    await rename(join(folder, "wrong"), file);
    expect(await untilLogged(1)).toBe(
      `API_KEYS_FILE: ${file}: line 2: behind the key must be rate=, streams= or cost=, each with an integer. The keys stay as they were.`,
    );
    expect(keys.find(KEY)?.name).toBe("acme");

    await writeFile(join(folder, "right"), `other ${KEY}-2\n`);
    await rename(join(folder, "right"), file);
    expect(await untilLogged(2)).toBe(`API_KEYS_FILE: ${file} has changed; keys that it has: 1.`);
    expect([keys.find(KEY), keys.find(`${KEY}-2`)?.name]).toEqual([undefined, "other"]);

    await rm(file);
    expect(await untilLogged(3)).toMatch(/ENOENT.*The keys stay as they were\.$/);
    expect(keys.find(`${KEY}-2`)?.name).toBe("other");
    close();
    await rm(folder, { recursive: true });
    expect(() => openKeys({ file, log })).toThrow(/^API_KEYS_FILE: .*ENOENT/);
  });

  it("may have any text in its comments, and is read in a moment whatever is in them", () => {
    expect(parseKeys(`acme ${KEY} # a\u2028line\rof it\n`)).toMatchObject([{ name: "acme" }]);
    const begun = performance.now();
    expect(parseKeys(`${" #".repeat(1_000_000)}\u2028\n`)).toEqual([]);
    expect(performance.now() - begun).toBeLessThan(2000);
  });

  it("is refused unread where it is too large", async () => {
    const folder = await mkdtemp(join(tmpdir(), "keys-"));
    const file = join(folder, "keys");
    await writeFile(file, `acme ${KEY}\n`);
    await truncate(file, 4_000_000_000);
    const log = { info: () => undefined, warn: () => undefined };
    expect(() => openKeys({ file, log })).toThrow(
      `API_KEYS_FILE: ${file}: it has 4000000000 bytes, and at most 8000000 are accepted`,
    );
    await rm(folder, { recursive: true });
  });

  it("is refused where it is a device or a pipe, which has its bytes once only", () => {
    const log = { info: () => undefined, warn: () => undefined };
    const open = () => openKeys({ file: "/dev/null", log });
    expect(open).toThrow("API_KEYS_FILE: /dev/null: this is no file");
  });
});
