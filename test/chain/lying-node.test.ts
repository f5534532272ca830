// Each fault of the lying node by itself, in front of a node of ten blocks with three logs each.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { numberToHex, padHex } from "viem";
import { startLyingNode, type Fault, type LyingNode } from "./lying-node.ts";
import { REFUSALS, type Provider } from "./refusals.ts";

const HEAD = 10;
const hashOf = (number: number) => padHex(numberToHex(0xabc000 + number), { size: 32 });
const BLOCKS = Array.from({ length: HEAD + 1 }, (_, number) => ({
  number: numberToHex(number),
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  logsBloom: `0x${"1".repeat(512)}`,
}));
const LOGS = BLOCKS.flatMap(({ number, hash }) =>
  [0, 1, 2].map((n) => ({
    address: padHex("0xe1", { size: 20 }),
    blockNumber: number,
    blockHash: hash,
    blockTimestamp: "0x1",
    logIndex: numberToHex(n),
    removed: false,
  })),
);

interface Call {
  id: number;
  method: string;
  params: [string & { fromBlock?: string; toBlock?: string; blockHash?: string }];
}

function truth({ method, params }: Call): unknown {
  const heightOf = (block: string) => (block.startsWith("0x") ? Number(block) : HEAD);
  const [first] = params;
  switch (method) {
    case "eth_chainId":
      return "0x1";
    case "eth_blockNumber":
      return numberToHex(HEAD);
    case "eth_getBlockByNumber":
      return BLOCKS[heightOf(first)] ?? null;
    case "eth_getBlockByHash":
      return BLOCKS.find(({ hash }) => hash === first) ?? null;
    default: {
      const { fromBlock = "latest", toBlock = "latest", blockHash } = first;
      return LOGS.filter((log) =>
        blockHash === undefined
          ? Number(log.blockNumber) >= heightOf(fromBlock) &&
            Number(log.blockNumber) <= heightOf(toBlock)
          : log.blockHash === blockHash,
      );
    }
  }
}

const honest = createServer((request, response) => {
  void text(request).then((body) => {
    const call = JSON.parse(body) as Call;
    response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, result: truth(call) }));
  });
});

let node: LyingNode;

beforeAll(async () => {
  await new Promise<void>((resolve) => honest.listen(0, "127.0.0.1", resolve));
  node = await startLyingNode(`http://127.0.0.1:${(honest.address() as AddressInfo).port}`);
});

afterEach(() => node.tellTheTruth());

afterAll(async () => {
  await node.stop();
  honest.closeAllConnections();
  await new Promise((resolve) => honest.close(resolve));
});

const call = (method: string, ...params: unknown[]) => ({ jsonrpc: "2.0", id: 7, method, params });

const post = (body: unknown, signal?: AbortSignal) =>
  fetch(node.url, {
    method: "POST",
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

const jsonOf = async (response: Response) => JSON.parse(await response.text());

const ask = async (method: string, ...params: unknown[]) =>
  jsonOf(await post(call(method, ...params)));

const ALL = { fromBlock: "0x0", toBlock: "latest" };

async function answersUnder(fault: Fault, method: string, ...params: unknown[]) {
  const lie = node.lie(fault);
  const { result } = await ask(method, ...params);
  lie.stop();
  return result;
}

it("passes on the truth, single and in batches, and counts the calls", async () => {
  const before = node.calls.get("eth_chainId") ?? 0;
  expect(await ask("eth_chainId")).toEqual({ jsonrpc: "2.0", id: 7, result: "0x1" });
  const batch = await post([
    call("eth_blockNumber"),
    { ...call("eth_chainId"), id: "b" },
    call("eth_getLogs", { blockHash: hashOf(3) }),
  ]);

  expect(await jsonOf(batch)).toEqual([
    { jsonrpc: "2.0", id: 7, result: "0xa" },
    { jsonrpc: "2.0", id: "b", result: "0x1" },
    { jsonrpc: "2.0", id: 7, result: LOGS.slice(9, 12) },
  ]);
  expect(node.calls.get("eth_chainId")).toBe(before + 2);
});

describe("a fault applies", () => {
  it("so many times, to each n-th request, to some methods", async () => {
    const twice = node.lie({ name: "other chain", chainId: 5, times: 2 });
    const chainIds = [];
    for (let n = 0; n < 4; n++) chainIds.push((await ask("eth_chainId")).result);
    expect(chainIds).toEqual(["0x5", "0x5", "0x1", "0x1"]);
    expect(twice.count).toBe(2);

    node.lie({ name: "old height", blocks: 4, every: 2 });
    const heights = [];
    for (let n = 0; n < 4; n++) heights.push((await ask("eth_blockNumber")).result);
    expect(heights).toEqual(["0xa", "0x6", "0xa", "0x6"]);

    node.lie({ name: "status", status: 503, methods: ["eth_getLogs"] });
    expect((await post(call("eth_chainId"))).status).toBe(200);
    expect((await post([call("eth_chainId"), call("eth_getLogs", ALL)])).status).toBe(503);
  });

  it("with a probability, equally for equal seeds", async () => {
    const runs = [];
    for (let run = 0; run < 2; run++) {
      const other = await startLyingNode(node.url, { seed: 5 });
      other.lie({ name: "other chain", chainId: 5, probability: 0.5 });
      const answers = [];
      for (let n = 0; n < 30; n++) {
        const response = await fetch(other.url, {
          method: "POST",
          body: JSON.stringify(call("eth_chainId")),
        });
        answers.push((await jsonOf(response)).result);
      }
      runs.push(answers);
      await other.stop();
    }
    expect(runs[0]).toEqual(runs[1]);
    expect(new Set(runs[0])).toEqual(new Set(["0x1", "0x5"]));
  });

  it("only where it changes something, and counts only there", async () => {
    const lie = node.lie({ name: "dropped logs", which: "all", times: 1 });
    await ask("eth_getLogs", { blockHash: hashOf(99) });
    expect(lie.count).toBe(0);
    expect((await ask("eth_getLogs", ALL)).result).toEqual([]);
    expect((await ask("eth_getLogs", ALL)).result).toEqual(LOGS);
    expect(node.faults.get("dropped logs")).toBe(1);
  });
});

describe("of the transport", () => {
  it("late, and never", async () => {
    const late = node.lie({ name: "late", ms: 20, times: 1 });
    expect((await ask("eth_chainId")).result).toBe("0x1");
    expect(late.count).toBe(1);

    node.lie({ name: "no answer" });
    const gaveUp = post(call("eth_chainId"), AbortSignal.timeout(50));
    await expect(gaveUp).rejects.toThrow("timeout");
  });

  it("429 and 503, with and without Retry-After", async () => {
    node.lie({ name: "status", status: 429, retryAfter: 2, times: 1 });
    node.lie({ name: "status", status: 503, body: "no backend", times: 1 });
    const first = await post(call("eth_chainId"));
    expect([first.status, first.headers.get("retry-after")]).toEqual([429, "2"]);
    node.tellTheTruth();
    node.lie({ name: "status", status: 503, body: "no backend", times: 1 });
    const second = await post(call("eth_chainId"));
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, null]);
    expect(await second.text()).toBe("no backend");
  });

  it("half a body, half the JSON, HTML, no connection", async () => {
    node.lie({ name: "half body", times: 1 });
    const half = await post(call("eth_getLogs", ALL));
    expect(half.status).toBe(200);
    await expect(half.text()).rejects.toThrow("terminated");

    node.lie({ name: "wrong JSON", times: 1 });
    const wrong = await (await post(call("eth_getLogs", ALL))).text();
    expect(() => JSON.parse(wrong) as unknown).toThrow(SyntaxError);

    node.lie({ name: "HTML", times: 1 });
    const page = await post(call("eth_chainId"));
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html"]);

    node.lie({ name: "closed connection", times: 1 });
    await expect(post(call("eth_chainId"))).rejects.toThrow("fetch failed");
  });

  it("a batch reversed, and one without its last answer", async () => {
    const batch = [call("eth_chainId"), { ...call("eth_blockNumber"), id: 8 }];
    node.lie({ name: "reversed batch", times: 1 });
    expect((await jsonOf(await post(batch))).map(({ id }: Call) => id)).toEqual([8, 7]);
    node.lie({ name: "short batch", times: 1 });
    expect(await jsonOf(await post(batch))).toHaveLength(1);
  });
});

describe("of a range", () => {
  it.each(Object.keys(REFUSALS) as Provider[])(
    "refused as %s does, past its limit",
    async (name) => {
      const { of } = REFUSALS[name];
      node.lie({ name: "range refused", provider: name, limit: of === "blocks" ? 4 : 12 });

      const wide = await post(call("eth_getLogs", { fromBlock: "0x2", toBlock: "latest" }));
      const { error } = await jsonOf(wide);
      expect(error.code).toBeLessThan(0);
      expect(error.message).toMatch(/range|block|log|result|too large|timeout|invalid params/i);
      // Where a range is suggested it is one that works.
      const suggested = /\[0x2, (0x\w+)\]|range 2-(\d+)/.exec(error.message as string);
      if (suggested) expect(Number(suggested[1] ?? suggested[2])).toBe(5);

      const narrow = await ask("eth_getLogs", { fromBlock: "0x2", toBlock: "0x5" });
      expect(narrow.result).toHaveLength(12);
      const byHash = await ask("eth_getLogs", { blockHash: hashOf(2) });
      expect(byHash.result).toHaveLength(3);
    },
  );

  it("refused by QuickNode has status 413", async () => {
    node.lie({ name: "range refused", provider: "QuickNode", limit: 4 });
    const response = await post(call("eth_getLogs", ALL));
    expect(response.status).toBe(413);
    expect(await jsonOf(response)).toMatchObject({
      error: { code: -32614, message: "eth_getLogs is limited to a 4 range" },
    });
  });

  it("answered by an error of any kind", async () => {
    node.lie({ name: "RPC error", code: -32000, message: "header not found", data: "0x" });
    expect((await ask("eth_getLogs", ALL)).error).toEqual({
      code: -32000,
      message: "header not found",
      data: "0x",
    });
  });
});

describe("of logs", () => {
  const logsUnder = (fault: Fault) => answersUnder(fault, "eth_getLogs", { blockHash: hashOf(3) });
  const [first, middle, last] = LOGS.slice(9, 12);

  it.each([
    ["all", []],
    ["first", [middle, last]],
    ["middle", [first, last]],
    ["last", [first, middle]],
  ] as const)("%s dropped", async (which, logs) => {
    expect(await logsUnder({ name: "dropped logs", which })).toEqual(logs);
  });

  it("foreign, removed, repeated, reversed, of another block, without time", async () => {
    const address = `0x${"e".repeat(40)}`;
    expect(await logsUnder({ name: "foreign log" })).toEqual([{ ...first, address }, middle, last]);
    expect(await logsUnder({ name: "removed logs" })).toMatchObject(
      [first, middle, last].map((log) => ({ ...log, removed: true })),
    );
    expect(await logsUnder({ name: "repeated logs" })).toEqual(
      [first, middle, last].flatMap((log) => [log, log]),
    );
    expect(await logsUnder({ name: "reversed logs" })).toEqual([last, middle, first]);
    const [moved] = await logsUnder({ name: "logs of another block" });
    expect(moved.blockHash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(moved.blockHash).not.toBe(first!.blockHash);
    const [timeless] = await logsUnder({ name: "logs without time" });
    expect(timeless).not.toHaveProperty("blockTimestamp");
  });
});

describe("of blocks", () => {
  const blockUnder = (fault: Fault) => answersUnder(fault, "eth_getBlockByNumber", "0x3", false);

  it("another hash, another parent, another bloom, none", async () => {
    const [{ hash, ...rest }, { parentHash, ...others }] = [BLOCKS[3]!, BLOCKS[3]!];
    const wrongHash = await blockUnder({ name: "wrong hash" });
    expect(wrongHash).toMatchObject(rest);
    expect(wrongHash.hash).not.toBe(hash);
    const wrongParent = await blockUnder({ name: "wrong parent" });
    expect(wrongParent).toMatchObject(others);
    expect(wrongParent.parentHash).not.toBe(parentHash);
    expect((await blockUnder({ name: "wrong bloom", bloom: "empty" })).logsBloom).toMatch(/^0x0+$/);
    expect((await blockUnder({ name: "wrong bloom", bloom: "full" })).logsBloom).toMatch(/^0xf+$/);
    expect(await blockUnder({ name: "no block" })).toBeNull();
  });
});

describe("of the head", () => {
  it("behind: head, blocks and logs are those of some blocks ago", async () => {
    node.lie({ name: "behind", blocks: 4 });

    expect((await ask("eth_blockNumber")).result).toBe("0x6");
    expect((await ask("eth_getBlockByNumber", "latest", false)).result).toEqual(BLOCKS[6]);
    expect((await ask("eth_getBlockByNumber", "finalized", false)).result).toEqual(BLOCKS[6]);
    expect((await ask("eth_getBlockByNumber", "0x6", false)).result).toEqual(BLOCKS[6]);
    expect((await ask("eth_getBlockByNumber", "0x7", false)).result).toBeNull();
    expect((await ask("eth_getBlockByHash", hashOf(7), false)).result).toBeNull();
    expect((await ask("eth_getLogs", { fromBlock: "0x5", toBlock: "0xa" })).result).toEqual(
      LOGS.slice(15, 21),
    );
    expect((await ask("eth_getLogs", { blockHash: hashOf(6) })).result).toHaveLength(3);
    expect((await ask("eth_getLogs", { blockHash: hashOf(7) })).error).toEqual({
      code: -32000,
      message: "unknown block",
    });
    expect((await ask("eth_chainId")).result).toBe("0x1");
  });

  it("two in turn, and another node behind", async () => {
    const other = await startLyingNode(node.url);
    other.lie({ name: "behind", blocks: 9 });
    const turns = await startLyingNode(node.url);
    turns.lie({ name: "other node", url: other.url, every: 2 });
    const heightOf = async (url: string) => {
      const body = JSON.stringify(call("eth_blockNumber"));
      const response = await fetch(url, { method: "POST", body });
      return (await jsonOf(response)).result;
    };

    const heights = [];
    for (let n = 0; n < 4; n++) heights.push(await heightOf(turns.url));
    expect(heights).toEqual(["0xa", "0x1", "0xa", "0x1"]);

    turns.tellTheTruth();
    turns.use(other.url);
    expect(await heightOf(turns.url)).toBe("0x1");
    await other.stop();
    await expect(heightOf(turns.url)).rejects.toThrow("fetch failed");
    await turns.stop();
  });
});
