// Raw logs as a node returns them, written out word by word: the rows are those of decoding them by hand.
import { fillerHash } from "./recorded/recorded-chain.ts";
import { parseRawLogs } from "./recorded/raw-logs.ts";
import { startRecordedNode, type RecordedNode } from "./recorded/recorded-node.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startIndexing, type Indexing } from "./indexing.ts";

const EXCHANGE = "0x39755357759ce0d7f32dc8dc45414cca409ae24e";
const WETH = "c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
const SAI = "89d24a6b4ccb1b6faa2625fe562bdd9a23260359";
const MAKER = "0014f450b8ae7708593f4a46f8fa6e5d50620f96";
const TAKER = "005c9b2e5a1ab3c9f1b3ae2cd5f6a8ec0ef0c3a1";

/** keccak256 of the two addresses, WETH first. */
const PAIR = "0x9dd48110dcc444fdc242510c09bbbbe21a5975cac061d82f7b843bce061ba391";

const word = (hex: string): string => hex.padStart(64, "0");
const topic = (hex: string): string => `0x${word(hex)}`;

const LOG_MAKE = "0x773ff502687307abfa024ac9f62f9752a0d210dac2ffd9a29e38e12e2ea82c82";
const LOG_TAKE = "0x3383e3357c77fd2e3a4b30deea81179bc70a795d053d14d5b7f2f01d0fd4596f";
const LOG_KILL = "0x9577941d28fff863bfbee4694a6a4a56fb09e169619189d2eaa750b5b4819995";
const LOG_TRADE = "0x819e390338feffe95e2de57172d6faf337853dfd15c7a09a32d76f7fd2443875";
const LOG_ITEM_UPDATE = "0xa2c251311b1a7a475913900a2a73dc9789a21b04bc737e050bbc506dd4eb3488";

const hash = (n: number): string => topic(n.toString(16));

/** A log of the exchange; other contracts' logs stand between them in their blocks. */
const log = (block: number, idx: number, tx: number, topics: string[], words: string[]) => ({
  address: EXCHANGE,
  topics,
  data: `0x${words.map(word).join("")}`,
  blockNumber: `0x${block.toString(16)}`,
  blockHash: hash(0xb0000000 + block),
  blockTimestamp: `0x${(0x5a700000 + 15 * (block - 5_000_000)).toString(16)}`,
  transactionHash: hash(0xc0000000 + tx),
  transactionIndex: "0x1",
  logIndex: `0x${idx.toString(16)}`,
});

const stamp = (block: number): string => (0x5a700000 + 15 * (block - 5_000_000)).toString(16);

// 2 WETH for 2,200.5 SAI, in units of 10^-18.
const LOT = (2n * 10n ** 18n).toString(16);
const BID = (22005n * 10n ** 17n).toString(16);
// Half of it: 1 WETH for 1,100.25 SAI.
const TAKEN = (10n ** 18n).toString(16);
const GIVEN = (110025n * 10n ** 16n).toString(16);

const logs = [
  log(5_000_000, 87, 1, [LOG_ITEM_UPDATE], ["1e61"]),
  log(
    5_000_000,
    88,
    1,
    [LOG_MAKE, topic("1e61"), PAIR, topic(MAKER)],
    [WETH, SAI, LOT, BID, stamp(5_000_000)],
  ),
  log(5_000_007, 12, 2, [LOG_ITEM_UPDATE], ["1e61"]),
  log(
    5_000_007,
    13,
    2,
    [LOG_TAKE, PAIR, topic(MAKER), topic(TAKER)],
    ["1e61", WETH, SAI, TAKEN, GIVEN, stamp(5_000_007)],
  ),
  log(5_000_007, 14, 2, [LOG_TRADE, topic(WETH), topic(SAI)], [TAKEN, GIVEN]),
  log(5_000_009, 3, 3, [LOG_ITEM_UPDATE], ["1e61"]),
  log(
    5_000_009,
    4,
    3,
    [LOG_KILL, topic("1e61"), PAIR, topic(MAKER)],
    [WETH, SAI, TAKEN, GIVEN, stamp(5_000_009)],
  ),
];

const tokens = [
  { address: `0x${WETH}`, symbol: "WETH", name: "Wrapped Ether", decimals: 18 },
  {
    address: `0x${SAI}`,
    symbol: "DAI",
    name: "Dai Stablecoin v1.0",
    decimals: 18,
    isBytes32: true,
  },
];

let database: TestDatabase;
let node: RecordedNode;
let indexing: Indexing;

beforeEach(async () => {
  database = await makeDatabase();
});
afterEach(async () => {
  await indexing.stop();
  await node.stop();
  await database.drop();
});

/** Headers whose blooms have the logs of all contracts, as those of a main network. */
const fullBlocks = [5_000_000, 5_000_007, 5_000_009].map((number) => ({
  number: `0x${number.toString(16)}`,
  hash: hash(0xb0000000 + number),
  parentHash: fillerHash(number - 1),
  timestamp: `0x${stamp(number)}`,
  logsBloom: `0x${"f".repeat(512)}`,
}));

it.each([
  ["near the head", 64, []],
  ["near the head, in blocks with other contracts' logs,", 64, fullBlocks],
  ["below finality", 0, []],
])("are written %s as decoded by hand", async (_, finality, blocks) => {
  node = await startRecordedNode(parseRawLogs({ chainId: 1, blocks, logs, tokens }));
  indexing = startIndexing({
    databaseUrl: database.url,
    url: node.url,
    exchange: EXCHANGE,
    fromBlock: 4_999_990,
    finality,
  });
  await indexing.wrote(5_000_009);

  const offers = await database.reader.query(
    "select id, block, killed, maker, lot_tkn, trim_scale(lot_amt) as lot_amt, bid_tkn, trim_scale(bid_amt) as bid_amt, time, tx from dex_offer",
  );
  // 0x1e61 is 7777.
  expect(offers.rows).toEqual([
    {
      ...{ id: 7777, block: 5_000_000, killed: 5_000_009 },
      maker: "0x0014F450B8Ae7708593F4A46F8fa6E5D50620F96",
      ...{ lot_tkn: "WETH", lot_amt: "2", bid_tkn: "DAI", bid_amt: "2200.5" },
      ...{ time: new Date(0x5a700000 * 1000), tx: hash(0xc0000001) },
    },
  ]);
  const trades = await database.reader.query(
    "select offer_id, idx, trim_scale(lot_amt) as lot_amt, trim_scale(bid_amt) as bid_amt, time, tx from dex_trade",
  );
  expect(trades.rows).toEqual([
    {
      ...{ offer_id: 7777, idx: 13, lot_amt: "1", bid_amt: "1100.25" },
      ...{ time: new Date((0x5a700000 + 105) * 1000), tx: hash(0xc0000002) },
    },
  ]);
});
