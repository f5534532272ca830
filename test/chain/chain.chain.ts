// The chain that other tests stand on: real reorganisations, and the events in their order.
import { toEventSelector, type Address, type Hash } from "viem";
import { bloomOf } from "./recorded/bloom.ts";
import { startChain, type TestChain } from "./chain.ts";
import { compile } from "./child.ts";
import { EXCHANGE_EVENTS } from "./exchange-abi.ts";
import type { Exchange } from "./exchange.ts";
import { encodedString, HUGE_NUMBER } from "./tokens.ts";

let chain: TestChain;
let exchange: Exchange;
let weth: Address;
let dai: Address;

beforeAll(async () => {
  chain = await startChain();
  exchange = await chain.deployExchange();
  weth = await chain.deployToken("string", { symbol: "WETH" });
  dai = await chain.deployToken("string", { symbol: "DAI" });
});

afterAll(() => chain.stop());

/** An offer of some WETH at 200 DAI each. */
const ofWeth = (payAmount: bigint) => ({
  pay: weth,
  payAmount,
  buy: dai,
  buyAmount: payAmount * 200n,
});

const made = async (hash: Hash): Promise<bigint> => (await exchange.madeBy(hash))[0]!;

const namesOf = async (hash: Hash): Promise<string[]> =>
  (await exchange.logsOf(hash)).map(({ eventName }) => eventName);

const argsOf = async (hash: Hash, name: string): Promise<unknown> =>
  (await exchange.logsOf(hash)).find(({ eventName }) => eventName === name)?.args;

describe("the events", () => {
  it("have the topics of MatchingMarket", () => {
    const topics = EXCHANGE_EVENTS.map((event) => [
      event.name,
      toEventSelector(event).slice(0, 10),
    ]);

    expect(Object.fromEntries(topics)).toMatchObject({
      LogMake: "0x773ff502",
      LogTake: "0x3383e335",
      LogKill: "0x9577941d",
      LogBump: "0x70a14c21",
      LogTrade: "0x819e3903",
      LogItemUpdate: "0xa2c25131",
      LogAddTokenPairWhitelist: "0x4b84ee81",
      LogRemTokenPairWhitelist: "0x80eb6b7f",
    });
  });

  it("are those of the contract, indexed arguments included", async () => {
    const { Exchange } = await compile();
    const form = (abi: readonly { type: string }[]) =>
      abi
        .filter(({ type }) => type === "event")
        .map((event) =>
          JSON.stringify(event, ["name", "inputs", "type", "indexed"].sort()).replaceAll(
            ',"indexed":false',
            "",
          ),
        )
        .map((text) => text.replaceAll('"indexed":false,', ""))
        .sort();

    expect(form(Exchange!.abi)).toEqual(form(EXCHANGE_EVENTS));
  });

  it("come in MatchingMarket's order when an offer is taken in part, in whole, and to dust", async () => {
    const id = await made(await exchange.make(1, ofWeth(10n)));
    const part = await exchange.take(2, id, 4n);
    const whole = await exchange.take(2, id, 6n);
    await exchange.setDust(0, weth, 3n);
    const other = await made(await exchange.make(1, ofWeth(10n)));
    const toDust = await exchange.take(2, other, 8n);
    await exchange.setDust(0, weth, 0n);

    expect(await namesOf(part)).toEqual(["LogItemUpdate", "LogTake", "LogTrade"]);
    expect(await argsOf(part, "LogTake")).toMatchObject({
      maker: chain.accounts[1],
      taker: chain.accounts[2],
      take_amt: 4n,
      give_amt: 800n,
    });
    expect(await namesOf(whole)).toEqual(["LogItemUpdate", "LogTake", "LogTrade"]);
    expect(await exchange.offer(id)).toBeUndefined();
    expect(await namesOf(toDust)).toEqual([
      ...["LogItemUpdate", "LogTake", "LogTrade"],
      ...["LogItemUpdate", "LogKill"],
    ]);
    expect(await argsOf(toDust, "LogKill")).toMatchObject({ pay_amt: 2n, buy_amt: 400n });
    expect(await exchange.offer(other)).toBeUndefined();
  });

  it("of a match are its takes, the best price first, and a new offer of what is left", async () => {
    const dear = await made(await exchange.make(1, { ...ofWeth(10n), buyAmount: 2100n }));
    const cheap = await made(await exchange.make(1, { ...ofWeth(10n), buyAmount: 1900n }));
    const tooDear = await made(await exchange.make(1, { ...ofWeth(10n), buyAmount: 2300n }));

    const hash = await exchange.match(2, {
      pay: dai,
      payAmount: 6600n,
      buy: weth,
      buyAmount: 30n,
    });

    const logs = await exchange.logsOf(hash);
    expect(logs.map(({ eventName }) => eventName)).toEqual([
      ...["LogItemUpdate", "LogTake", "LogTrade"],
      ...["LogItemUpdate", "LogTake", "LogTrade"],
      ...["LogItemUpdate", "LogMake"],
    ]);
    const ids = logs.flatMap(({ eventName, args }) =>
      eventName === "LogTake" ? [BigInt(args.id)] : [],
    );
    expect(ids).toEqual([cheap, dear]);
    expect(await exchange.offer(await made(hash))).toMatchObject({
      pay: dai,
      payAmount: 2200n,
      buyAmount: 10n,
    });
    await exchange.kill(2, await made(hash));
    await exchange.kill(1, tooDear);
  });

  it("of a bump have the offer's time, not the block's", async () => {
    const id = await made(await exchange.make(1, ofWeth(10n)));
    const { timestamp } = (await exchange.offer(id))!;
    await chain.mine(1, { secondsApart: 1000 });

    const bump = await exchange.bump(3, id);

    expect(await argsOf(bump, "LogBump")).toMatchObject({ timestamp });
    const { timestamp: now } = await chain.client.getBlock();
    expect(now).toBeGreaterThan(timestamp);
    await exchange.kill(1, id);
  });

  it("of a contract that takes for somebody name the contract", async () => {
    const taker = await exchange.deployTaker();
    const one = await made(await exchange.make(1, ofWeth(10n)));
    const other = await made(await exchange.make(1, ofWeth(10n)));

    const hash = await taker.take(4, { id: one, quantity: 10n }, { id: other, quantity: 10n });

    expect(await argsOf(hash, "LogTake")).toMatchObject({ taker: taker.address });
    const { from } = await chain.client.getTransaction({ hash });
    expect(from.toLowerCase()).toBe(chain.accounts[4]!.toLowerCase());
  });

  it("of the whitelist have both tokens; what the contract refuses has none", async () => {
    expect(
      await argsOf(await exchange.whitelist(0, weth, dai), "LogAddTokenPairWhitelist"),
    ).toEqual({
      baseToken: weth,
      quoteToken: dai,
    });
    expect(await namesOf(await exchange.unwhitelist(0, weth, dai))).toEqual([
      "LogRemTokenPairWhitelist",
    ]);
    expect(await namesOf(await exchange.kill(0, 10_000n))).toEqual([]);
  });

  it("of a broken exchange lack LogTrade, or have one of other amounts", async () => {
    const silent = await chain.deployExchange("no trade");
    await silent.make(1, ofWeth(10n));
    const other = await chain.deployExchange("other trade");
    await other.make(1, ofWeth(10n));

    const names = (await silent.logsOf(await silent.take(2, 1n, 4n))).map((log) => log.eventName);
    expect(names).toEqual(["LogItemUpdate", "LogTake"]);
    expect((await other.logsOf(await other.take(2, 1n, 4n)))[2]?.args).toMatchObject({
      pay_amt: 5n,
    });
  });
});

describe("a reorganisation", () => {
  it("puts other blocks in the place of those taken back, even of the same content", async () => {
    const snapshot = await chain.snapshot();
    const fork = await chain.client.getBlock();
    const branch = async () => {
      await chain.client.setNextBlockTimestamp({ timestamp: fork.timestamp + 10n });
      await exchange.make(1, ofWeth(10n));
      await chain.mine(2, { secondsApart: 10 });
      const numbers = [1n, 2n, 3n].map((n) => fork.number + n);
      const blocks = numbers.map((blockNumber) => chain.client.getBlock({ blockNumber }));
      return Promise.all(blocks);
    };

    const before = await branch();
    await chain.revert(snapshot);
    expect(await chain.client.getBlockNumber()).toBe(fork.number);
    const after = await branch();

    expect(after.map(({ timestamp }) => timestamp)).toEqual(
      before.map(({ timestamp }) => timestamp),
    );
    for (const [n, block] of after.entries()) {
      expect(block.hash).not.toBe(before[n]!.hash);
      expect(block.parentHash).toBe(n === 0 ? fork.hash : after[n - 1]!.hash);
      await expect(chain.client.getBlock({ blockHash: before[n]!.hash })).rejects.toThrow(
        "could not be found",
      );
    }
    const logs = await chain.client.getLogs({ blockHash: after[0]!.hash });
    expect(logs).toHaveLength(2);
    expect(logs[0]!.blockHash).toBe(after[0]!.hash);
    await expect(chain.client.getLogs({ blockHash: before[0]!.hash })).rejects.toThrow(
      "blockHash cannot be found",
    );
  });

  it("is never final here: `finalized` is the head", async () => {
    const head = await chain.client.getBlock();
    expect(await chain.client.getBlock({ blockTag: "finalized" })).toEqual(head);
    expect(await chain.client.getBlock({ blockTag: "safe" })).toEqual(head);
  });
});

describe("blocks", () => {
  it("hold the transactions that waited, in their order", async () => {
    await chain.setAutomine(false);
    const first = await exchange.make(1, ofWeth(10n));
    const id = (await exchange.lastId()) + 1n;
    const second = await exchange.take(2, id, 4n);
    const third = await exchange.kill(1, id);
    const refused = await exchange.take(2, id, 1n);
    const number = await chain.mine();
    await chain.setAutomine(true);

    const { transactions } = await chain.client.getBlock({ blockNumber: number });
    expect(transactions).toEqual([first, second, third, refused]);
    const logs = await chain.client.getLogs({ fromBlock: number, toBlock: number });
    expect(logs.map(({ logIndex }) => logIndex)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect((await chain.client.getTransactionReceipt({ hash: refused })).status).toBe("reverted");
  });

  it("have the bloom that the recorded node of the benchmark computes", async () => {
    const hash = await exchange.match(2, { ...ofWeth(10n), buyAmount: 9999n });
    const { blockHash } = await chain.client.getTransactionReceipt({ hash });
    const { logsBloom } = await chain.client.getBlock({ blockHash });
    const logs = await chain.client.getLogs({ blockHash });
    expect(logs).toHaveLength(2);
    expect(bloomOf(logs)).toBe(logsBloom);
  });

  it("are as many and as far apart as asked", async () => {
    const before = await chain.client.getBlock();
    const head = await chain.mine(5, { secondsApart: 7 });

    expect(head).toBe(before.number + 5n);
    const { timestamp } = await chain.client.getBlock();
    expect(timestamp).toBe(before.timestamp + 35n);
  });
});

describe("a token", () => {
  const call = async (to: Address, selector: "0x95d89b41" | "0x06fdde03" | "0x313ce567") =>
    (await chain.client.call({ to, data: selector })).data;
  const SYMBOL = "0x95d89b41";
  const DECIMALS = "0x313ce567";

  it("has any text and any decimals", async () => {
    const long = "long ".repeat(2000);
    for (const symbol of ["MKR", "", "a\u0000\n\u202E\u{1F4A9}", long]) {
      const token = await chain.deployToken("string", { symbol, decimals: 24 });
      expect(await call(token, SYMBOL)).toBe(encodedString(symbol));
      expect(BigInt((await call(token, DECIMALS))!)).toBe(24n);
    }
  });

  it("has text of 32 bytes", async () => {
    const token = await chain.deployToken("bytes32", { symbol: "MKR", decimals: HUGE });
    expect(await call(token, SYMBOL)).toBe(`0x4d4b52${"0".repeat(58)}`);
    expect(BigInt((await call(token, DECIMALS))!)).toBe(HUGE);
  });

  it("returns any bytes", async () => {
    const token = await chain.deployToken("raw", { symbol: "0x1234", decimals: HUGE_NUMBER });
    expect(await call(token, SYMBOL)).toBe("0x1234");
    expect(await call(token, DECIMALS)).toBe(HUGE_NUMBER);
    const empty = await chain.deployToken("raw", { symbol: "0x" });
    expect(await call(empty, SYMBOL)).toBeUndefined();
  });

  it("refuses to answer, or uses up all gas", async () => {
    await expect(call(await chain.deployToken("silent"), SYMBOL)).rejects.toThrow("no metadata");
    await expect(call(await chain.deployToken("greedy"), DECIMALS)).rejects.toThrow(/gas/);
  });

  const HUGE = 2n ** 255n;
});
