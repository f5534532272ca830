// The recorded node, as viem and a plain client see it.
import {
  createPublicClient,
  hexToNumber,
  http,
  isAddressEqual,
  parseEventLogs,
  toEventSelector,
  type Address,
  type Hex,
  type Log,
} from "viem";
import { bloomOf } from "./bloom.ts";
import { generateChain, hashOf } from "./generate.ts";
import { parseRawLogs } from "./raw-logs.ts";
import type { RawBlock, RawLog } from "./recorded-chain.ts";
import { startRecordedNode, type RecordedNode } from "./recorded-node.ts";
import { EXCHANGE_EVENTS } from "../exchange-abi.ts";

const chain = generateChain({ events: 2000, blocks: 800, seed: 7, firstBlock: 1000, chainId: 5 });
const { exchange } = chain;
let node: RecordedNode;

beforeAll(async () => {
  node = await startRecordedNode(chain);
});

afterAll(() => node.stop());

const clientOf = (url: string, batch = false) =>
  createPublicClient({ transport: http(url, { batch, retryCount: 0 }), cacheTime: 0 });

async function post(url: string, body: unknown) {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return JSON.parse(await response.text());
}

async function ask(method: string, ...params: unknown[]) {
  const { result, error } = await post(node.url, { jsonrpc: "2.0", id: 1, method, params });
  return error ?? result;
}

const allLogs = (filter: object = {}): Promise<RawLog[]> =>
  ask("eth_getLogs", { fromBlock: "0x0", toBlock: "latest", ...filter });

describe("a generated chain", () => {
  it("is the same for the same seed, and another for another", () => {
    const options = { events: 300, blocks: 100 };
    const lastHash = (seed: number) => generateChain({ ...options, seed }).blocks.at(-1)!.hash;
    expect(lastHash(3)).toBe(lastHash(3));
    expect(lastHash(3)).not.toBe(lastHash(4));
  });

  it("has another branch from a block on", () => {
    const options = { events: 300, blocks: 100, firstBlock: 1 };
    const hashes = (fork?: { block: number; seed: number }) =>
      generateChain({ ...options, ...(fork && { fork }) }).blocks.map(({ hash }) => hash);
    const [trunk, branch] = [hashes(), hashes({ block: 91, seed: 2 })];
    expect(branch.slice(0, 90)).toEqual(trunk.slice(0, 90));
    expect(branch.slice(90).filter((hash) => trunk.includes(hash))).toEqual([]);
    expect(branch).toHaveLength(100);
  });

  it("has the events asked for, in an order that an exchange can have", async () => {
    const raw = await allLogs({ address: exchange });
    const standing = new Map<string, { pay: bigint; buy: bigint; gems: string }>();
    const counts = { makes: 0, takes: 0, kills: 0 };
    let trade: { pay_amt: bigint; buy_amt: bigint } | undefined;
    const events = parseEventLogs({ abi: EXCHANGE_EVENTS, logs: raw as unknown as Log[] });
    expect(events).toHaveLength(raw.length);
    for (const [n, event] of events.entries()) {
      if (event.eventName === "LogMake") {
        const { id, pay_gem, buy_gem, pay_amt, buy_amt, timestamp } = event.args;
        expect(hexToNumber(raw[n]!.blockTimestamp!)).toBe(Number(timestamp));
        standing.set(id, { pay: pay_amt, buy: buy_amt, gems: pay_gem + buy_gem });
        counts.makes++;
      } else if (event.eventName === "LogTake") {
        const { id, take_amt, give_amt, pay_gem, buy_gem } = event.args;
        const offer = standing.get(id)!;
        expect(offer.gems).toBe(pay_gem + buy_gem);
        expect(give_amt).toBe((take_amt * offer.buy) / offer.pay);
        expect(give_amt).toBeGreaterThan(0n);
        offer.pay -= take_amt;
        offer.buy -= give_amt;
        if (offer.pay === 0n) standing.delete(id);
        trade = { pay_amt: take_amt, buy_amt: give_amt };
        counts.takes++;
      } else if (event.eventName === "LogTrade") {
        expect(event.args).toMatchObject(trade!);
      } else if (event.eventName === "LogKill") {
        const offer = standing.get(event.args.id)!;
        expect([event.args.pay_amt, event.args.buy_amt]).toEqual([offer.pay, offer.buy]);
        standing.delete(event.args.id);
        counts.kills++;
      }
    }
    expect(chain.counts).toMatchObject(counts);
    expect(counts.makes + counts.takes + counts.kills).toBe(2000);
    expect(Math.min(counts.makes, counts.takes, counts.kills)).toBeGreaterThan(100);
    expect(events[0]!.eventName).toBe("LogAddTokenPairWhitelist");
  });

  it("has headers that hash to their hash, and a bloom of their logs", async () => {
    let parent: RawBlock | undefined;
    let empty = 0;
    for (let n = 1000; n < 1800; n++) {
      const block: RawBlock = await ask("eth_getBlockByNumber", `0x${n.toString(16)}`, false);
      const logs = await ask("eth_getLogs", { blockHash: block.hash });
      expect(hashOf(block)).toBe(block.hash);
      expect(block["logsBloom"]).toBe(bloomOf(logs));
      if (parent !== undefined) {
        expect(block.parentHash).toBe(parent.hash);
        expect(hexToNumber(block.timestamp)).toBe(hexToNumber(parent.timestamp) + 12);
      }
      if (logs.length === 0) empty++;
      parent = block;
    }
    expect(empty).toBeGreaterThan(0);
    expect(chain.counts.logs).toBe((await allLogs()).length);
  });
});

describe("the bloom", () => {
  it("is that of the yellow paper: three bits of each address and topic", () => {
    const bloom = bloomOf([{ address: "0x095e7baea6a6c7c4c2dfeb977efac326af552d87", topics: [] }]);
    const bits = BigInt(bloom).toString(2).split("1").length - 1;
    expect(bits).toBe(3);
    expect(bloomOf([])).toBe(`0x${"0".repeat(512)}`);
  });
});

describe("the node", () => {
  it("answers what viem asks, single and in batches", async () => {
    for (const client of [clientOf(node.url), clientOf(node.url, true)]) {
      const [chainId, height, latest, final, code] = await Promise.all([
        client.getChainId(),
        client.getBlockNumber(),
        client.getBlock(),
        client.getBlock({ blockTag: "finalized" }),
        client.getCode({ address: exchange }),
      ]);
      expect([chainId, height, latest.number, final.number]).toEqual([5, 1799n, 1799n, 1735n]);
      expect(code).toBe("0x00");
      const whole = await client.getBlock({ blockNumber: 1000n, includeTransactions: true });
      const [transaction] = whole.transactions;
      expect(transaction!.blockHash).toBe(whole.hash);
      expect(await client.getTransaction({ hash: transaction!.hash })).toMatchObject({
        from: transaction!.from,
      });
      expect(await client.getBlock({ blockHash: whole.hash })).toMatchObject({ number: 1000n });
      const logs = await client.getLogs({ blockHash: whole.hash });
      expect(logs.map(({ transactionHash }) => transactionHash)).toContain(
        whole.transactions[1]!.hash,
      );
    }
  });

  it("filters by range, hash, addresses and topics", async () => {
    const all = await allLogs();
    const take = toEventSelector(EXCHANGE_EVENTS.find(({ name }) => name === "LogTake")!);
    const make = toEventSelector(EXCHANGE_EVENTS.find(({ name }) => name === "LogMake")!);
    const of = (...topics: Hex[]) => all.filter((log) => topics.includes(log.topics[0]!));
    const [, , maker, taker] = of(take)[0]!.topics;
    const [foreign] = all.filter(({ address }) => !isAddressEqual(address, exchange));

    expect(await allLogs({ address: exchange, topics: [take] })).toEqual(of(take));
    expect(await allLogs({ address: [exchange.toUpperCase().replace("0X", "0x")] })).toEqual(
      all.filter(({ address }) => address === exchange),
    );
    expect(await allLogs({ topics: [[take, make]] })).toEqual(of(take, make));
    expect(await allLogs({ topics: [take, null, maker, [taker]] })).toEqual(
      of(take).filter(({ topics }) => topics[2] === maker && topics[3] === taker),
    );
    expect(await allLogs({ address: foreign!.address, topics: [take] })).toEqual([]);
    const [from, to] = [1100, 1199];
    expect(
      await allLogs({ fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }),
    ).toEqual(
      all.filter(({ blockNumber }) => Number(blockNumber) >= from && Number(blockNumber) <= to),
    );
    expect(await ask("eth_getLogs", { blockHash: `0x${"1".repeat(64)}` })).toEqual({
      code: -32000,
      message: "unknown block",
    });
  });

  it("gives symbol, name and decimals of its tokens", async () => {
    const call = (to: Address, data: string) => ask("eth_call", { to, data }, "latest");
    const of = (symbol: string) => chain.tokens.find((token) => token.symbol === symbol)!.address;

    expect(Buffer.from((await call(of("WETH"), "0x95d89b41")).slice(2), "hex").toString()).toMatch(
      /WETH\0+$/,
    );
    expect(await call(of("MKR"), "0x95d89b41")).toBe(`0x4d4b52${"0".repeat(58)}`);
    expect(Number(await call(of("USDC"), "0x313ce567"))).toBe(6);
    expect(await call(of("USDC"), "0x12345678")).toMatchObject({ code: 3 });
    expect(await call(exchange, "0x95d89b41")).toBe("0x");
  });

  it("serves no more than its head", async () => {
    node.setHead(1200);
    expect(await ask("eth_blockNumber")).toBe("0x4b0");
    expect(await ask("eth_getBlockByNumber", "0x4b1", false)).toBeNull();
    const newest = (await allLogs()).at(-1)!;
    expect(Number(newest.blockNumber)).toBeLessThanOrEqual(1200);
    const beyond = chain.blocks.find(({ number }) => number === 1201)!.hash;
    expect(await ask("eth_getBlockByHash", beyond, false)).toBeNull();
    expect(await ask("eth_getLogs", { blockHash: beyond })).toMatchObject({ code: -32000 });
    expect(await ask("recorded_setHead", "0x4b1")).toBe(true);
    expect(await ask("eth_getBlockByHash", beyond, false)).toMatchObject({ number: "0x4b1" });
    node.setHead(node.lastBlock);
  });

  it("names a method that it does not have", async () => {
    expect(await ask("eth_mining")).toMatchObject({ code: -32601 });
  });
});

describe("recorded raw logs", () => {
  const raw = (logs: RawLog[]) => ({ chainId: 1, logs });

  it("are served with the blocks between them made up as a chain", async () => {
    const logs = (await allLogs()).filter(({ blockNumber }) => Number(blockNumber) % 7 === 0);
    const whole: RawBlock = await ask("eth_getBlockByNumber", "0x410", true);
    const recorded = parseRawLogs({ ...raw(logs.toReversed()), blocks: [whole] });
    const other = await startRecordedNode(recorded);
    const client = clientOf(other.url);

    expect(await client.getLogs({ fromBlock: 0n, toBlock: "latest" })).toHaveLength(logs.length);
    const kept = await post(other.url, {
      ...{ id: 1, method: "eth_getBlockByNumber" },
      params: ["0x410", true],
    });
    expect(kept.result).toEqual(whole);
    let parent = await client.getBlock({ blockNumber: 990n });
    for (let n = 991n; n <= BigInt(other.lastBlock); n++) {
      const block = await client.getBlock({ blockNumber: n });
      expect(block.parentHash).toBe(parent.hash);
      expect(block.timestamp).toBeGreaterThanOrEqual(parent.timestamp);
      if (n % 50n === 0n) {
        expect(await client.getBlock({ blockHash: block.hash })).toEqual(block);
      }
      parent = block;
    }
    await other.stop();
  });

  it("that are not as a node returns them are refused by name", async () => {
    const [log] = await allLogs();
    const { blockTimestamp: _, ...timeless } = log!;
    expect(() => parseRawLogs(raw([timeless]))).toThrow("have no blockTimestamp");
    expect(() => parseRawLogs(raw([{ ...log!, data: "12" as Hex }]))).toThrow("data");
    expect(() => parseRawLogs(raw([]))).toThrow("neither blocks nor logs");
    const moved = { ...log!, blockHash: `0x${"5".repeat(64)}` as const };
    expect(() => parseRawLogs(raw([log!, moved]))).toThrow("two blocks have the number 1000");
  });
});
