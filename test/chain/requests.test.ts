// JSON-RPC requests to nodes whose answers a test writes out: errors of any form, redirects, batches, and secrets.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Requests, type Outcome } from "../../chain/requests.ts";
import { ChainSource } from "../../chain/source.ts";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";

interface Call {
  id: number;
  method: string;
  params: unknown[];
}

type Answer = (calls: Call[], response: ServerResponse, request: IncomingMessage) => unknown;

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Node {
  url: string;
  /** Methods that were asked, in order. */
  asked: string[];
}

/** A node that answers eth_chainId with 1, and all else as told: with JSON, or by writing to the response itself. */
async function startNode(
  answer: Answer,
  answerChain: (calls: Call[]) => unknown = () => undefined,
): Promise<Node> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const calls = [JSON.parse(body === "" ? "[]" : body) as Call | Call[]].flat();
      asked.push(...calls.map(({ method }) => method));
      const isOfChain = calls.length > 0 && calls.every(({ method }) => method === "eth_chainId");
      const json = isOfChain
        ? (answerChain(calls) ?? calls.map((call) => ok(call, "0x1")))
        : answer(calls, response, request);
      if (json !== undefined) response.end(JSON.stringify(json));
    });
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const ok = ({ id }: Call, result: unknown) => ({ jsonrpc: "2.0", id, result });

function readQuantity(result: unknown): number {
  if (typeof result === "string" && /^0x[0-9a-f]+$/.test(result)) return Number(result);
  throw new Error("the answer is no number");
}

interface Asking {
  requests: Requests;
  /** Without those of eth_chainId, which is asked again after each failure. */
  outcomes: [string, Outcome][];
}

function ask(urls: string[], options = {}): Asking {
  const outcomes: [string, Outcome][] = [];
  const requests = new Requests({
    urls,
    perSecond: 10_000,
    backoffMs: 1,
    signal: new AbortController().signal,
    onRequest: (method, outcome) => {
      if (method !== "eth_chainId") outcomes.push([method, outcome]);
    },
    ...options,
  });
  return { requests, outcomes };
}

const height = ({ requests }: Asking) => requests.ask("eth_blockNumber", [], readQuantity);

describe("an answer", () => {
  /** A list of so many empty lists: each has a comma and a bracket. */
  const listOf = (count: number): string => `[${"[],".repeat(count - 1)}[]]`;

  it("with more parts than memory has room for is one that is too large", async () => {
    // 2 × 800,000 parts are more than 1,500,000, in 2.4 of the 32 MB that an answer may have.
    let count = 800_000;
    const node = await startNode(([call], response) => {
      response.setHeader("content-type", "application/json");
      response.end(`{"jsonrpc":"2.0","id":${call!.id},"result":${listOf(count)}}`);
    });
    const asking = ask([node.url]);
    const length = () =>
      asking.requests.ask("eth_getLogs", [], (result) => (result as unknown[]).length);

    await expect(length()).rejects.toMatchObject({
      name: "Refused",
      message: "eth_getLogs: the answer is too large",
    });
    count = 400_000;
    expect(await length()).toBe(400_000);
  });
});

describe("a JSON-RPC error", () => {
  it.each([
    ["an object", { code: -32000, message: "no such block" }, "eth_blockNumber: no such block"],
    ["a plain string", "no such block", "eth_blockNumber: no such block"],
    ["an object without a message", { code: -32000 }, 'eth_blockNumber: {"code":-32000}'],
    ["a number", 7, "eth_blockNumber: 7"],
    ["a list", ["no"], 'eth_blockNumber: ["no"]'],
  ])("that is %s is a refusal with its text", async (_, error, message) => {
    const node = await startNode((calls) => calls.map(({ id }) => ({ jsonrpc: "2.0", id, error })));
    const asking = ask([node.url]);

    await expect(height(asking)).rejects.toMatchObject({ name: "Refused", message });
    expect(asking.outcomes).toEqual([["eth_blockNumber", "refused"]]);
  });

  it.each([
    ["an object", { code: -32005, message: "daily request count exceeded" }],
    ["a plain string", "rate limit reached"],
  ])("that says the limit is reached, as %s, is tried again", async (_, error) => {
    let left = 2;
    const node = await startNode((calls) =>
      calls.map((call) =>
        (left -= 1) >= 0 ? { jsonrpc: "2.0", id: call.id, error } : ok(call, "0x7"),
      ),
    );
    const asking = ask([node.url]);

    expect(await height(asking)).toBe(7);
    expect(asking.outcomes.map(([, outcome]) => outcome)).toEqual(["limited", "limited", "ok"]);
  });

  it("that answers a whole batch is every request's", async () => {
    const error = { code: -32600, message: "batches are not served" };
    const node = await startNode(() => ({ jsonrpc: "2.0", id: null, error }));
    const asking = ask([node.url]);
    const both = await Promise.allSettled([height(asking), height(asking)]);

    expect(both).toMatchObject([
      { reason: { name: "Refused", message: "eth_blockNumber: batches are not served" } },
      { reason: { name: "Refused", message: "eth_blockNumber: batches are not served" } },
    ]);
  });
});

describe("a batch that is refused", () => {
  const SIZES: [string, (calls: Call[], response: ServerResponse) => unknown][] = [
    ["with 413", (_, response) => void response.writeHead(413).end("Request Entity Too Large")],
    ["with 413 and an error", (_, response) => void response.writeHead(413).end(TOO_LARGE)],
    ["by one error", () => JSON.parse(TOO_LARGE) as unknown],
  ];
  const TOO_LARGE = JSON.stringify({
    jsonrpc: "2.0",
    id: null,
    error: { code: -32600, message: "no" },
  });

  it.each(SIZES)("%s is asked again in smaller ones, and so is what follows", async (_, refuse) => {
    const sizes: number[] = [];
    const node = await startNode((calls, response) => {
      sizes.push(calls.length);
      return calls.length > 2 ? refuse(calls, response) : calls.map((call) => ok(call, "0x7"));
    });
    const asking = ask([node.url]);
    const many = () => Promise.all(Array.from({ length: 8 }, () => height(asking)));

    expect(await many()).toEqual(Array(8).fill(7));
    expect(sizes).toEqual([8, 4, 4, 2, 2, 2, 2]);
    expect(await many()).toEqual(Array(8).fill(7));
    expect(sizes.slice(7)).toEqual([2, 2, 2, 2]);
  });

  it("is tried again in larger ones after many that were taken", async () => {
    const sizes: number[] = [];
    let most = 2;
    const node = await startNode((calls, response) => {
      sizes.push(calls.length);
      if (calls.length <= most) return calls.map((call) => ok(call, "0x7"));
      return void response.writeHead(413).end();
    });
    const asking = ask([node.url]);
    const many = (count: number) =>
      Promise.all(Array.from({ length: count }, () => height(asking)));
    await many(8);
    expect(sizes.at(-1)).toBe(2);

    sizes.length = 0;
    for (let n = 0; n < 30; n += 1) await many(10);
    expect(sizes.filter((size) => size > most)).toEqual([4, 4]);

    most = 50;
    for (let n = 0; n < 80; n += 1) await many(8);
    expect(sizes.at(-1)).toBe(8);
  });

  it("is none where each range of blocks goes alone", async () => {
    const sizes: number[] = [];
    const node = await startNode((calls) => {
      sizes.push(calls.length);
      return calls.map((call) => ok(call, "0x7"));
    });
    const { requests } = ask([node.url]);
    const logs = (filter: object) => requests.ask("eth_getLogs", [filter], readQuantity);
    const wide = { fromBlock: "0x1", toBlock: "0xff" };
    await Promise.all([
      logs(wide),
      logs({ blockHash: "0x1" }),
      logs(wide),
      logs({ blockHash: "0x2" }),
    ]);

    expect(sizes.toSorted()).toEqual([1, 1, 2]);
  });
});

describe("a redirect", () => {
  it("is not followed, and counts as a failed request", async () => {
    const elsewhere = await startNode((calls) => calls.map((call) => ok(call, "0x7")));
    const node = await startNode((_calls, response) => {
      response.writeHead(307, { location: elsewhere.url }).end();
      return undefined;
    });
    const asking = ask([node.url]);

    await expect(height(asking)).rejects.toMatchObject({ name: "Unavailable" });
    expect(elsewhere.asked).toEqual([]);
    expect(asking.outcomes).toEqual(Array(4).fill(["eth_blockNumber", "failed"]));
    expect(node.asked.filter((method) => method === "eth_blockNumber")).toHaveLength(4);
  });

  it("is left for the next node", async () => {
    const elsewhere = await startNode((calls) => calls.map((call) => ok(call, "0x9")));
    const node = await startNode((_calls, response) => {
      response.writeHead(307, { location: elsewhere.url }).end();
      return undefined;
    });
    const next = await startNode((calls) => calls.map((call) => ok(call, "0x7")));
    const asking = ask([node.url, next.url]);

    expect(await height(asking)).toBe(7);
    expect(elsewhere.asked).toEqual([]);
  });
});

describe("the answers of a batch", () => {
  const blocks = (asking: Asking) =>
    Promise.all(
      ["0x1", "0x2", "0x3"].map((block) =>
        asking.requests.ask("eth_getBlock", [block], readQuantity),
      ),
    );
  const echo = (calls: Call[]) => calls.map((call) => ok(call, call.params[0]));
  const outOfOrder = (calls: Call[]) => echo(calls).toReversed();

  it("belong to the requests by their ids, in any order", async () => {
    const node = await startNode(outOfOrder);
    expect(await blocks(ask([node.url]))).toEqual([1, 2, 3]);
  });

  it("may have their ids as text", async () => {
    const node = await startNode((calls) =>
      outOfOrder(calls).map((answer) => ({ ...answer, id: String(answer.id) })),
    );
    expect(await blocks(ask([node.url]))).toEqual([1, 2, 3]);
  });

  it.each<[string, (answers: ReturnType<typeof echo>) => unknown[]]>([
    ["no ids", (answers) => answers.map(({ result }) => ({ result }))],
    ["ids of null", (answers) => answers.map(({ result }) => ({ id: null, result }))],
    // A retry can be alone in its batch, where one id is right: it gets no answer.
    ["one id", ([first, ...rest]) => rest.map((answer) => ({ ...answer, id: first!.id }))],
    ["other ids", (answers) => answers.map((answer) => ({ ...answer, id: answer.id + 1000 }))],
    ["an answer too many", (answers) => [...answers, answers[0]]],
    ["an answer too few", (answers) => answers.slice(1)],
    ["null in the place of one", (answers) => [null, ...answers.slice(1)]],
  ])("are not believed with %s", async (_, change) => {
    const node = await startNode((calls) => change(outOfOrder(calls)));
    const asking = ask([node.url]);

    await expect(blocks(asking)).rejects.toMatchObject({
      name: "Unavailable",
      message: expect.stringContaining("batch"),
    });
    expect(asking.outcomes.every(([, outcome]) => outcome === "failed")).toBe(true);
  });
});

describe("what is secret in a URL", () => {
  const SECRETS = ["user-7f3a", "pass-9c41", "path-key-55d0", "query-key-81be"];
  const secretUrl = ({ url }: Node) =>
    `${url.replace("://", "://user-7f3a:pass-9c41@")}/v2/path-key-55d0?apikey=query-key-81be`;

  it.each<[string, Answer]>([
    [
      "a status with the path",
      (_, response, { url }) => void response.writeHead(404).end(`no ${url}`),
    ],
    [
      "a status with the URL",
      (_, response, { url }) => void response.writeHead(500).end(`at http://x${url}`),
    ],
    [
      "a status with the key",
      (_, response) => void response.writeHead(401).end("bad key query-key-81be"),
    ],
    [
      "a refusal with the path",
      (calls, _, { url }) =>
        calls.map(({ id }) => ({ id, error: { code: 1, message: `no ${url}` } })),
    ],
    [
      "a refusal with the keys",
      (calls) => calls.map(({ id }) => ({ id, error: `${SECRETS.join(" ")} are not known` })),
    ],
    [
      "a refusal with the authorization",
      (calls, _, { headers }) => calls.map(({ id }) => ({ id, error: headers.authorization })),
    ],
    ["a closed connection", (_, response) => void response.destroy()],
    [
      "a redirect",
      (_, response, { url }) => void response.writeHead(302, { location: `/again${url}` }).end(),
    ],
    ["a page", (_, response, { url }) => void response.end(`<h1>${url}</h1>`)],
    ["a result of another form", (calls, _, { url }) => calls.map((call) => ok(call, url))],
  ])("is in no message about %s", async (_, answer) => {
    const node = await startNode(answer);
    const asking = ask([secretUrl(node)]);
    const messages: string[] = [];
    const said = (error: unknown) => messages.push(String(error), (error as Error).stack ?? "");
    await height(asking).catch(said);
    const source = new ChainSource({
      requests: asking.requests,
      exchange: "0x39755357759ce0d7f32dc8dc45414cca409ae24e",
      decoder: matchingMarket,
      signal: new AbortController().signal,
      doubtMs: 1,
    });
    await source.latest().catch(said);
    await source.range(1, 2).catch(said);

    expect(messages).toHaveLength(6);
    const encoded = Buffer.from("user-7f3a:pass-9c41").toString("base64");
    for (const secret of [...SECRETS, encoded]) expect(messages.join("\n")).not.toContain(secret);
    expect(JSON.stringify(asking.outcomes)).not.toContain("key");
  });

  it("is in no message that has the URL of a node behind the node", async () => {
    const error = { code: 1, message: "http://inner.example/upstream-key-1a2b is down" };
    const node = await startNode((calls) => calls.map(({ id }) => ({ id, error })));

    await expect(height(ask([node.url]))).rejects.toThrow("eth_blockNumber: (a URL) is down");
  });

  it("reaches the node", async () => {
    let seen: unknown;
    const node = await startNode((calls, _, { url, headers }) => {
      seen = [url, headers.authorization];
      return calls.map((call) => ok(call, "0x7"));
    });
    expect(await height(ask([secretUrl(node)]))).toBe(7);
    expect(seen).toEqual([
      "/v2/path-key-55d0?apikey=query-key-81be",
      `Basic ${Buffer.from("user-7f3a:pass-9c41").toString("base64")}`,
    ]);
  });
});

it("asks for the chain's id again where a node has refused it", async () => {
  let isRefused = true;
  const node = await startNode(
    (calls) => calls.map((call) => ok(call, "0x7")),
    (calls) =>
      isRefused
        ? calls.map(({ id }) => ({ id, error: { code: -32603, message: "no" } }))
        : undefined,
  );
  const asking = ask([node.url]);
  await expect(height(asking)).rejects.toMatchObject({ name: "Refused" });
  isRefused = false;

  expect(await height(asking)).toBe(7);
});

describe("the chain's id", () => {
  /** A node with height 7 that says these ids of its chain, one after the other; the last one for good. */
  const nodeOf = (...ids: unknown[]) => {
    const left = [...ids];
    return startNode(
      (calls) => calls.map((call) => ok(call, "0x7")),
      (calls) => calls.map((call) => ok(call, left.length > 1 ? left.shift() : left[0])),
    );
  };
  const timesAsked = ({ asked }: Node) => asked.filter((name) => name === "eth_chainId").length;

  it.each(["0x1", "0x01", "0x0000000000000000000001"])("is a quantity in hex: %s", async (id) => {
    const node = await nodeOf(id);
    const asking = ask([node.url]);
    expect(await height(asking)).toBe(7);
    expect(asking.requests.chainId).toBe(1);
  });

  it("may be any number that is exact", async () => {
    const asking = ask([(await nodeOf("0x1fffffffffffff")).url]);
    await height(asking);
    expect(asking.requests.chainId).toBe(Number.MAX_SAFE_INTEGER);
  });

  it.each([
    ["0x"],
    [""],
    ["1"],
    ["0x0"],
    ["0x1 "],
    ["-0x1"],
    ["0x5g"],
    ["0x20000000000000"],
    ["0x7fffffffffffffffffff"],
    [1],
    [null],
    [["0x1"]],
  ])("has another form: %j is no answer, and is asked again", async (id) => {
    const once = ask([(await nodeOf(id, "0x1")).url]);
    expect(await height(once)).toBe(7);
    expect(once.requests.chainId).toBe(1);

    const always = ask([(await nodeOf(id)).url]);
    await expect(height(always)).rejects.toMatchObject({
      name: "Unavailable",
      message: expect.stringContaining(
        `${JSON.stringify(id)} is no id of a chain: that is a number in hex, from 0x1 to 0x1fffffffffffff`,
      ),
    });
    expect(always.requests.chainId).toBeUndefined();
  });

  it("is asked twice of one node, and once of each of two, before anything else", async () => {
    const [one, first, second] = [await nodeOf("0x1"), await nodeOf("0x1"), await nodeOf("0x1")];
    const alone = ask([one.url]);
    const both = ask([first.url, second.url]);
    await Promise.all([height(alone), height(alone), height(both), height(both)]);
    await height(both);

    expect(one.asked.slice(0, 2)).toEqual(["eth_chainId", "eth_chainId"]);
    expect([one, first, second].map(timesAsked)).toEqual([2, 1, 1]);
    expect(both.requests.current).toBe(0);
  });

  it.each([
    ["of the only node", [["0x5", "0x1"]]],
    ["of the only node, the second one", [["0x1", "0x5", "0x1"]]],
    ["of the first node", [["0x5", "0x1"], ["0x1"]]],
    ["of the second node", [["0x1"], ["0x5", "0x1"]]],
  ])("is not that of one wrong answer %s", async (_, ids) => {
    const nodes = await Promise.all(ids.map((each) => nodeOf(...each)));
    const asking = ask(nodes.map(({ url }) => url));
    expect(await height(asking)).toBe(7);
    expect(asking.requests.chainId).toBe(1);
  });

  it("is not known where each answer is another one", async () => {
    const asking = ask([(await nodeOf(...Array.from({ length: 20 }, (_, n) => `0x${n + 1}`))).url]);
    await expect(height(asking)).rejects.toThrow(/it is of the chain \d+, by one answer alone$/);
    expect(asking.requests.chainId).toBeUndefined();
  });

  it("is that of most nodes, also where the first one has another one", async () => {
    const nodes = await Promise.all([nodeOf("0x5"), nodeOf("0x1"), nodeOf("0x1")]);
    const asking = ask(nodes.map(({ url }) => url));
    expect(await height(asking)).toBe(7);
    expect(asking.requests.chainId).toBe(1);
    expect(nodes[0].asked).not.toContain("eth_blockNumber");
  });

  it("is that of the first node where the second has another one, or does not answer", async () => {
    const [first, other] = [await nodeOf("0x1"), await nodeOf("0x5")];
    const broken = await startNode(
      () => undefined,
      (calls) => calls.map(({ id }) => ({ id, error: { code: -32603, message: "no" } })),
    );
    for (const second of [other.url, broken.url, "http://127.0.0.1:1"]) {
      const asking = ask([first.url, second]);
      expect(await height(asking)).toBe(7);
      expect([asking.requests.chainId, asking.requests.current]).toEqual([1, 0]);
    }
  });

  it("passes over a node of another chain, and none that writes the same one otherwise", async () => {
    const [first, other, same] = [await nodeOf("0x1"), await nodeOf("0x5"), await nodeOf("0x01")];
    const asking = ask([first.url, other.url, same.url]);
    await height(asking);
    asking.requests.askElsewhere();
    await height(asking);

    expect([asking.requests.chainId, asking.requests.current]).toEqual([1, 2]);
    expect(other.asked).not.toContain("eth_blockNumber");
    expect(same.asked).toContain("eth_blockNumber");
  });
});

it("asks no more often than it may, whatever comes back", async () => {
  const node = await startNode((_, response) => void response.writeHead(307).end());
  const began = performance.now();
  await height(ask([node.url], { perSecond: 2 })).catch(() => undefined);

  // Each try asks for the chain again, the first one twice: 9 requests, of which 2 are free at the start.
  expect(node.asked).toHaveLength(9);
  expect(performance.now() - began).toBeGreaterThan(2000);
});
