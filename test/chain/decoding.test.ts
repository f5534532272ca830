// The small parts of the indexer, without a chain: answers, amounts, texts of tokens, blooms, ranges, settings.
import { encodeAbiParameters, numberToHex, padHex, type Hex } from "viem";
import { bloomOf } from "./recorded/bloom.ts";
import { LATEST_TIME, readHeader, readLogs } from "../../chain/node-answers.ts";
import { decimal } from "../../chain/block-rows.ts";
import { Bloom } from "../../chain/wholeness.ts";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import { RangeSize } from "../../chain/ranges.ts";
import { readIndexSettings } from "../../chain/index-settings.ts";
import { shownText } from "../../chain/ask-tokens.ts";

const MAKER = "0x000000000000000000000000000000000000dEaD";
const WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
const SAI = "0x89d24A6b4CcB1B6fAA2625fE562bDD9a23260359";
const WETH_SAI: Hex = "0x9dd48110dcc444fdc242510c09bbbbe21a5975cac061d82f7b843bce061ba391";

/** A LogMake as a node sends it, with the time that its block gives it. */
const logMake = (timestamp: bigint) => ({
  address: "0x39755357759CE0d7f32dC8dC45414CCa409AE24e",
  topics: [
    "0x773ff502687307abfa024ac9f62f9752a0d210dac2ffd9a29e38e12e2ea82c82",
    numberToHex(0xabc, { size: 32 }),
    WETH_SAI,
    padHex(MAKER, { size: 32 }),
  ],
  data: encodeAbiParameters(
    ["address", "address", "uint128", "uint128", "uint64"].map((type) => ({ type })),
    [WETH, SAI, 2n, 5n, timestamp],
  ),
  blockNumber: "0x10",
  blockHash: `0x${"ab".repeat(32)}`,
  transactionHash: `0x${"cd".repeat(32)}`,
  logIndex: "0x0",
});

describe("the answers of a node", () => {
  it("may have topics, hashes and addresses in capitals", () => {
    const log = logMake(1000n);
    const capitals = {
      ...log,
      address: log.address.toUpperCase().replace("X", "x"),
      topics: log.topics.map((topic) => topic.toUpperCase().replace("X", "x")),
      blockHash: log.blockHash.toUpperCase().replace("X", "x"),
      transactionHash: log.transactionHash.toUpperCase().replace("X", "x"),
    };
    const [read] = readLogs([capitals]);

    expect(read).toEqual(readLogs([log])[0]);
    expect(read?.topics).toEqual(log.topics.map((topic) => topic.toLowerCase()));
    expect(matchingMarket.topics).toContain(read?.topics[0]);
    expect(matchingMarket.decode([read!])).toMatchObject([
      { id: 0xabc, maker: MAKER, lotGem: WETH },
    ]);
  });

  it.each([
    ["a log that is removed", { removed: true }, "a log is marked as removed"],
    ["a log without a block", { blockNumber: null }, "null is no number in hex"],
    ["a log of a block without a hash", { blockHash: null }, "null is no hash"],
    ["a log without an index", { logIndex: null }, "null is no number in hex"],
    [
      "a topic of 31 bytes",
      { topics: [`0x${"ab".repeat(31)}`] },
      "a log lacks its address, topics or data",
    ],
    [
      "a topic that is no hex",
      { topics: [`0x${"zz".repeat(32)}`] },
      "a log lacks its address, topics or data",
    ],
  ])("are refused with %s", (_, change, message) => {
    expect(() => readLogs([{ ...logMake(1000n), ...change }])).toThrow(message);
  });

  const header = (time: number) => ({
    number: "0x10",
    hash: `0x${"ab".repeat(32)}`,
    parentHash: `0x${"cd".repeat(32)}`,
    timestamp: numberToHex(time),
    logsBloom: `0x${"0".repeat(512)}`,
  });

  it("have no block after the year 9999", () => {
    expect(new Date(LATEST_TIME * 1000).toISOString()).toBe("9999-12-31T23:59:59.000Z");
    expect(readHeader(header(LATEST_TIME))?.time).toBe(LATEST_TIME);
    expect(() => readHeader(header(LATEST_TIME + 1))).toThrow("timestamp is after the year 9999");
  });

  it("have no event after the year 9999", () => {
    const decode = (time: number) => matchingMarket.decode(readLogs([logMake(BigInt(time))]));

    expect(decode(LATEST_TIME)).toMatchObject([{ time: LATEST_TIME }]);
    expect(() => decode(LATEST_TIME + 1)).toThrow(
      "The log 0 of block 16 has a time after the year 9999: 253402300800.",
    );
  });
});

describe("an amount in whole tokens", () => {
  it.each([
    [0n, 18, "0"],
    [1n, 18, "0.000000000000000001"],
    [1_500_000n, 6, "1.5"],
    [1_000_000n, 6, "1"],
    [7n, 0, "7"],
    // The largest uint128.
    [2n ** 128n - 1n, 18, "340282366920938463463.374607431768211455"],
  ])("of %s with %s decimals is %s", (amount, decimals, text) => {
    expect(decimal(amount, decimals)).toBe(text);
  });
});

describe("the text of a token", () => {
  it.each([
    ["DAI", "DAI"],
    ["wstETH", "wstETH"],
    ["د.إ", "د.إ"],
    ["x".repeat(100), "x".repeat(100)],
    ["x".repeat(101), null],
    ["", null],
    [undefined, null],
    [" DAI", null],
    ["A\u0000B", null],
    ["A\u202eB", null],
    ["A\u200bB", null],
    ["A\u2028B", null],
  ])("%j is shown as %j", (text, shown) => {
    expect(shownText(text, 100)).toBe(shown);
  });
});

describe("a bloom", () => {
  const address = "0x39755357759ce0d7f32dc8dc45414cca409ae24e";
  const topic = `0x${"3383e335".padEnd(64, "0")}` as const;
  const other = "0x6b175474e89094c44da98b954eedeac495271d0f";
  const bloom = Bloom.read(bloomOf([{ address, topics: [topic] }] as never));

  it("has the addresses and topics of its logs", () => {
    expect([address, topic, other].map((item) => bloom.covers(Bloom.of([item])))).toEqual([
      ...[true, true, false],
    ]);
  });

  it("shows that a log is missing, or one too many", () => {
    const covers = (items: string[]) => {
      const ofLogs = Bloom.of(items);
      return [ofLogs.covers(bloom), bloom.covers(ofLogs)];
    };
    expect(covers([address, topic])).toEqual([true, true]);
    expect(covers([address])).toEqual([false, true]);
    expect(covers([address, topic, other])).toEqual([true, false]);
  });

  it("is empty without logs", () => {
    expect(Bloom.read(`0x${"0".repeat(512)}`).isEmpty).toBe(true);
    expect(bloom.isEmpty).toBe(false);
  });
});

describe("the size of a range", () => {
  it("doubles while the node takes it, and halves when it refuses", () => {
    const size = new RangeSize();
    size.taken(1000, 0);
    expect(size.blocks).toBe(2000);
    size.refused(2000);
    expect(size.blocks).toBe(1000);
  });

  it("is what the node suggests", () => {
    const size = new RangeSize();
    size.refused(1000, 37);
    expect(size.blocks).toBe(37);
  });

  it("is never less than a block", () => {
    const size = new RangeSize();
    for (let refusals = 0; refusals < 20; refusals += 1) size.refused(size.blocks);
    expect(size.blocks).toBe(1);
  });

  it("shrinks where blocks have many facts", () => {
    const size = new RangeSize();
    // 200 facts a block: a transaction should have 20,000.
    size.taken(1000, 200_000);
    expect(size.blocks).toBe(100);
  });
});

describe("the settings", () => {
  const right = {
    RPC_URL: "http://localhost:8545, https://node.example/key",
    EXCHANGE: "0x39755357759ce0d7f32dc8dc45414cca409ae24e",
    FROM_BLOCK: "4751582",
  };

  it("are read, with defaults", () => {
    expect(readIndexSettings(right)).toEqual({
      decoder: matchingMarket,
      rpcUrls: ["http://localhost:8545", "https://node.example/key"],
      exchange: "0x39755357759cE0d7f32dC8dC45414CCa409AE24e",
      fromBlock: 4751582,
      others: [],
      finality: undefined,
      taker: "event",
      pairsFile: undefined,
      tokenListFile: undefined,
      quotes: [],
      requestsPerSecond: 50,
      requestTimeoutMs: 20_000,
    });
  });

  it.each([
    ["RPC_URL", "ftp://node/secret", /^RPC_URL: what was given is not URLs of nodes/],
    ["EXCHANGE", "0x12", /^EXCHANGE: "0x12" is not the address/],
    ["EXCHANGE", "0x39755357759CE0d7f32dC8dC45414CCa409AE24E", /checksum/],
    ["EXCHANGE", "matching-market:0x12", /is not the address/],
    ["EXCHANGE", "0x39755357759cE0d7f32dC8dC45414CCa409AE24e@007", /^EXCHANGE: .* is not the/],
    ["FROM_BLOCK", "-1", /^FROM_BLOCK: "-1" is not the block/],
    ["FROM_BLOCK", "2147483648", /^FROM_BLOCK/],
    ["FINALITY", "1.5", /^FINALITY: "1.5" is not an integer of blocks/],
    ["FINALITY", "064", /^FINALITY: "064" is not an integer of blocks/],
    ["QUOTES", "DAI,", /^QUOTES: "DAI," is not symbols or addresses/],
    ["QUOTES", "DAI", /^QUOTES needs TOKEN_LIST: the path of a JSON file/],
    ["TAKER", "maker", /^TAKER: "maker" is not `event` or `sender`/],
  ])("refuse %s %s", (name, value, problem) => {
    expect(readIndexSettings({ ...right, [name]: value })).toEqual({
      problems: [expect.stringMatching(problem)],
    });
  });

  it("say all that is missing", () => {
    expect(readIndexSettings({})).toMatchObject({
      problems: [
        expect.stringContaining("RPC_URL is missing"),
        expect.stringContaining("EXCHANGE is missing"),
        expect.stringContaining("FROM_BLOCK is missing"),
      ],
    });
  });
});
