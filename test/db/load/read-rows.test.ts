// The loader reads valid CSV files, and rejects others.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checksumAddress, pairHash } from "../../../db/load/checksum.ts";
import { readFolder } from "../../../db/load/folder.ts";
import type { Rows } from "../../../db/load/checked-rows.ts";
import { aHash, anAddress, DAI, WETH } from "../../factories.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "dex-load-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

type File = "tokens" | "pairs" | "offers" | "trades";

/** The rows of a file with this content. */
async function read(file: File, content: string | Buffer): Promise<object[]> {
  await writeFile(join(folder, `${file}.csv`), content);
  const source = await readFolder(folder);
  const rows: object[] = [];
  for await (const row of source[file] as Rows<object>) rows.push(row);
  return rows;
}

const TRADE: Record<string, string> = {
  offer_id: "826",
  pair: pairHash(WETH, DAI),
  maker: checksumAddress(anAddress("maker")),
  taker: checksumAddress(anAddress("taker")),
  lot_gem: checksumAddress(WETH),
  lot_amt: "0.001000000000000000",
  bid_gem: checksumAddress(DAI),
  bid_amt: "1.5",
  block: "7610973",
  time: "2018-06-08 12:01:28+00",
  tx: aHash("trade"),
};

const OFFER: Record<string, string> = { ...TRADE, id: "834", killed: "0" };
delete OFFER["offer_id"];
delete OFFER["taker"];

/** A file of one row, with these columns added or replaced. */
const csvOf = (row: Record<string, string>): string =>
  `${Object.keys(row).join(",")}\n${Object.values(row).join(",")}\n`;
const readTrade = (columns: Record<string, string>) =>
  read("trades", csvOf({ ...TRADE, ...columns }));
const readOffer = (columns: Record<string, string>) =>
  read("offers", csvOf({ ...OFFER, ...columns }));

describe("a file", () => {
  it("returns each row with its line number, for all line ends, quotes and empty lines", async () => {
    const content =
      "\ufeffaddress,symbol,decimals,name\r\n" +
      `${WETH},WETH,18,"Wrapped, ""Ether"""\r\n` +
      "\r\n" +
      `${DAI},DAI,18,"two\r\nlines\nor three"\n` +
      "\n" +
      `${anAddress("MKR")},,0,`;

    expect(await read("tokens", content)).toEqual([
      {
        line: 2,
        address: checksumAddress(WETH),
        symbol: "WETH",
        decimals: 18,
        name: 'Wrapped, "Ether"',
      },
      {
        line: 4,
        address: checksumAddress(DAI),
        symbol: "DAI",
        decimals: 18,
        name: "two\r\nlines\nor three",
      },
      { line: 8, address: checksumAddress(anAddress("MKR")), decimals: 0 },
    ]);
  });

  it("may have its columns in any order, and no rows", async () => {
    expect(await read("pairs", "quote,active,base\nDAI,f,WETH\n")).toEqual([
      { line: 2, base: "WETH", quote: "DAI", active: false },
    ]);
    expect(await read("pairs", "base,quote")).toEqual([]);
  });

  it("of many rows has correct line numbers", async () => {
    const rows = Array.from({ length: 5000 }, (_, at) => `A${at},"B\r\n${at}"\n`);

    const found = await read("pairs", `base,quote\n${rows.join("")}`);

    expect(found).toHaveLength(5000);
    expect(found.at(-1)).toMatchObject({ line: 2 + 2 * 4999, base: "A4999" });
  });

  it.each([
    [
      "empty",
      "",
      "pairs.csv is empty; its first line must name the columns base, quote; optional:",
    ],
    [
      "without a required column",
      "base,active\n",
      'pairs.csv line 1: column "quote" is missing. Its columns are base, quote; optional: base_gem, quote_gem, active',
    ],
    ["with an unknown column", "base,quote,acitve\n", 'column "acitve" is unknown'],
    [
      "with a column named as a member of Object.prototype",
      "base,quote,constructor\n",
      "is unknown",
    ],
    ["with a duplicate column", "base,quote,base\n", 'column "base" appears twice'],
    [
      "with a column that the database derives",
      "base,quote,market\n",
      'column "market" is not accepted, because the database derives it',
    ],
    [
      "with too long a row",
      "base,quote\n\nA,B,C\n",
      "pairs.csv line 3: the row has 3 values, but the header names 2 columns",
    ],
    ["with too short a row", "base,quote\nA\n", "pairs.csv line 2: the row has 1 values"],
    [
      "with a quote inside a value",
      'base,quote\nA,B\nA,B"C\n',
      "pairs.csv line 3: a quote is inside a value",
    ],
    [
      "with text after a quote",
      'base,quote\n"A"x,B\n',
      "pairs.csv line 2: a quote is inside a value",
    ],
    [
      "with an unclosed quote",
      'base,quote\nA,B\nA,"B\n',
      "pairs.csv line 3: the row has an unclosed quote",
    ],
    [
      "with a row of more than 100,000 characters",
      `base,quote\nWETH,DAI\nMKR,${"x".repeat(300_000)}`,
      "pairs.csv line 3: the row has an unclosed quote, or more than 100000 characters",
    ],
    [
      "with an unclosed quote before a long rest",
      `base,quote\nA,"B\n${"A,B\n".repeat(50_000)}`,
      "pairs.csv line 2: the row has an unclosed quote, or more than 100000 characters",
    ],
    ["without a symbol", "base,quote\nA,\n", 'pairs.csv line 2, column quote: "" is not accepted'],
  ])("%s is rejected", async (_name, content, message) => {
    await expect(read("pairs", content)).rejects.toThrow(message);
  });

  it("in another encoding is rejected", async () => {
    const latin = Buffer.concat([
      Buffer.from("base,quote\nA"),
      Buffer.from([0xe9]),
      Buffer.from(",B\n"),
    ]);

    await expect(read("pairs", latin)).rejects.toThrow("pairs.csv is not valid UTF-8");
  });

  it("that is a folder is rejected by its name", async () => {
    await mkdir(join(folder, "pairs.csv"));
    const { pairs } = await readFolder(folder);
    const first = (pairs as AsyncGenerator).next();
    await expect(first).rejects.toThrow("pairs.csv cannot be read: EISDIR");
  });
});

describe("a folder", () => {
  it("returns its files", async () => {
    await writeFile(join(folder, "trades.csv"), "");
    await writeFile(join(folder, "README.md"), "");

    expect(Object.keys(await readFolder(folder))).toEqual(["trades"]);
  });

  it("with none of the four files is rejected", async () => {
    await expect(readFolder(folder)).rejects.toThrow(
      "it has none of tokens.csv, pairs.csv, offers.csv, trades.csv",
    );
  });

  it.each([
    ["Offers.csv", "offers.csv"],
    ["trades.csv.gz", "trades.csv"],
  ])("that has %s is rejected, and not read without it", async (given, name) => {
    await writeFile(join(folder, "tokens.csv"), "address,symbol,decimals\n");
    await writeFile(join(folder, given), "");
    await expect(readFolder(folder)).rejects.toThrow(
      `has ${given}: it must be named ${name}, and not be packed`,
    );
    await writeFile(join(folder, name), "");
    await expect(readFolder(folder)).resolves.toBeDefined();
  });

  it("that is a file or does not exist is rejected", async () => {
    await writeFile(join(folder, "file"), "");

    await expect(readFolder(join(folder, "file"))).rejects.toThrow("is not a folder");
    await expect(readFolder(join(folder, "nowhere"))).rejects.toThrow("does not exist");
  });
});

describe("a trade", () => {
  it("is read whole", async () => {
    expect(await readTrade({ id: "4503599627370495", idx: "12" })).toEqual([
      {
        line: 2,
        ...TRADE,
        id: 4503599627370495,
        offer_id: 826,
        block: 7610973,
        idx: 12,
      },
    ]);
  });

  it("has a missing or empty value as undefined", async () => {
    const [row] = await readTrade({ id: "", idx: "", pair: "", offer_id: "", venue: "" });

    expect(row).not.toHaveProperty("id");
    expect(row).not.toHaveProperty("idx");
    expect(row).not.toHaveProperty("pair");
    expect(row).not.toHaveProperty("offer_id");
    expect(row).not.toHaveProperty("venue");
  });

  it("gets the checksum of an address without mixed case", async () => {
    const upper = `0x${WETH.slice(2).toUpperCase()}`;

    expect(await readTrade({ lot_gem: upper, bid_gem: DAI })).toMatchObject([
      { lot_gem: checksumAddress(WETH), bid_gem: checksumAddress(DAI) },
    ]);
  });

  it("has its hashes in lower case", async () => {
    const tx = `0x${aHash("trade").slice(2).toUpperCase()}`;

    expect(await readTrade({ tx })).toMatchObject([{ tx: aHash("trade") }]);
  });

  it.each([
    "2018-06-08 12:01:28+00",
    "2018-06-08T12:01:28Z",
    "2018-06-08T12:01:28.123456+05:30",
    "2018-06-08 12:01:28-0330",
    "2020-02-29T23:59:59Z",
  ])("accepts the time %s", async (time) => {
    expect(await readTrade({ time })).toMatchObject([{ time }]);
  });

  it.each(["0", "007.50", "1", "0.000000000000000001", `${"9".repeat(78)}.${"9".repeat(18)}`])(
    "accepts the amount %s",
    async (lot_amt) => {
      expect(await readTrade({ lot_amt })).toMatchObject([{ lot_amt }]);
    },
  );

  const bad: [string, string[]][] = [
    ["venue", ["0x12", "x"]],
    ["offer_id", ["-1", "1.0", "1e3", "+1", "01", " 1", "2147483648", "x"]],
    ["block", ["", "2147483648", "99999999999999999999"]],
    ["idx", ["-1", "1.5"]],
    ["id", ["0", "4503599627370496", "9007199254740992", "9007199254740993"]],
    [
      "lot_amt",
      ["", "-1", "+1", "1e5", "NaN", "Infinity", ".5", "5.", "1.0000000000000000000", "1 ", "0x1"],
    ],
    ["bid_amt", [`1${"0".repeat(78)}`]],
    ["maker", ["", "0x12", `${WETH}0`, WETH.slice(2), WETH.replace("0x", "0X")]],
    ["tx", ["", "0x12", aHash("x").slice(2), `${aHash("x")}0`]],
    [
      "time",
      [
        "",
        "2018-06-08 12:01:28",
        "2018-06-08",
        "2018-06-31T12:01:28Z",
        "2019-02-29T12:01:28Z",
        "2018-13-01T12:01:28Z",
        "2018-06-08T24:00:00Z",
        "2018-06-08T12:60:00Z",
        "2018-06-08T12:01:60Z",
        "2018-06-08T12:01:28.1234567Z",
        "2018-06-08T12:01:28+16",
        "9999-12-31T23:59:59-10",
        "0001-01-01T00:00:00+10",
        "0000-01-01T00:00:00Z",
        "1528459288",
        "yesterday",
      ],
    ],
  ];
  it.each(bad.flatMap(([column, values]) => values.map((value) => [column, value])))(
    "is rejected with %s %j, and file and line are named",
    async (column, value) => {
      await expect(readTrade({ [column]: value })).rejects.toThrow(
        `trades.csv line 2, column ${column}: ${JSON.stringify(value)} is not accepted; expected `,
      );
    },
  );

  it("is rejected with a wrong address checksum, and the right one is named", async () => {
    const right = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";

    await expect(readTrade({ lot_gem: right.replace("aaA", "Aaa"), pair: "" })).rejects.toThrow(
      `an address with a valid EIP-55 checksum, here ${right}`,
    );
  });

  it("is rejected with the hash of another pair, and the right one is named", async () => {
    await expect(readTrade({ pair: pairHash(DAI, WETH) })).rejects.toThrow(
      `trades.csv line 2, column pair: "${pairHash(DAI, WETH)}" is not accepted; expected ` +
        `the hash of this row's lot_gem and bid_gem, ${pairHash(WETH, DAI)}, or an empty value`,
    );
  });

  it.each(["lot_tkn", "bid_tkn", "market", "act", "price"])(
    "is rejected with %s, which the database derives",
    async (column) => {
      await expect(readTrade({ [column]: "x" })).rejects.toThrow("the database derives it");
    },
  );
});

describe("an offer", () => {
  it("is read whole", async () => {
    expect(await readOffer({ killed: "7610999", filled: "TRUE" })).toEqual([
      { line: 2, ...OFFER, id: 834, killed: 7610999, filled: true, block: 7610973 },
    ]);
  });

  it("is rejected with a cancellation before its own block", async () => {
    await expect(readOffer({ killed: "7610972" })).rejects.toThrow(
      'offers.csv line 2, column killed: "7610972" is not accepted; expected 0, or at least ' +
        "7610973, the block of the offer",
    );
  });

  it("is rejected with filled neither true nor false", async () => {
    await expect(readOffer({ filled: "1" })).rejects.toThrow("expected true or false");
  });
});

it("hashes a pair as the exchange does", () => {
  const weth = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
  const dai = "0x89d24A6b4CcB1B6fAA2625fE562bDD9a23260359";

  expect(pairHash(weth, dai)).toBe(
    "0x9dd48110dcc444fdc242510c09bbbbe21a5975cac061d82f7b843bce061ba391",
  );
  expect(checksumAddress(weth.toLowerCase())).toBe(weth);
  expect(checksumAddress(dai.toLowerCase())).toBe(dai);
});
