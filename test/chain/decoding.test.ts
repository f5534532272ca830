// The small parts of the indexer, without a chain: amounts, texts of tokens, blooms, ranges, settings.
import { bloomOf } from "../../bench/chain/bloom.ts";
import { decimal } from "../../chain/block-rows.ts";
import { Bloom } from "../../chain/bloom.ts";
import { RangeSize } from "../../chain/ranges.ts";
import { readIndexSettings } from "../../chain/settings.ts";
import { shownText } from "../../chain/tokens.ts";

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
  const bloom = new Bloom(bloomOf([{ address, topics: [topic] }] as never));

  it("has the addresses and topics of its logs", () => {
    expect([address, topic, other].map((item) => bloom.mayHave(item))).toEqual([true, true, false]);
  });

  it("shows that a log is missing", () => {
    expect(bloom.isMadeOf([address, topic])).toBe(true);
    expect(bloom.isMadeOf([address, topic, other])).toBe(true);
    expect(bloom.isMadeOf([address])).toBe(false);
  });

  it("is empty without logs", () => {
    expect(new Bloom(`0x${"0".repeat(512)}`).isEmpty).toBe(true);
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
      rpcUrls: ["http://localhost:8545", "https://node.example/key"],
      exchange: "0x39755357759cE0d7f32dC8dC45414CCa409AE24e",
      fromBlock: 4751582,
      finality: undefined,
      taker: "event",
      pairsFile: undefined,
      requestsPerSecond: 50,
      requestTimeoutMs: 20_000,
    });
  });

  it.each([
    ["RPC_URL", "ftp://node/secret", /^RPC_URL: what was given is not URLs of nodes/],
    ["EXCHANGE", "0x12", /^EXCHANGE: "0x12" is not the address/],
    ["EXCHANGE", "0x39755357759CE0d7f32dC8dC45414CCa409AE24E", /checksum/],
    ["FROM_BLOCK", "-1", /^FROM_BLOCK: "-1" is not the block/],
    ["FROM_BLOCK", "2147483648", /^FROM_BLOCK/],
    ["FINALITY", "1.5", /^FINALITY: "1.5" is not an integer of blocks/],
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
