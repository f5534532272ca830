// The logs of Tempo's exchange as offers and updates, what an update gives by what is left of its order, and what shows that a log is missing.
import { encodeAbiParameters, getAddress, toEventSelector, type Hex } from "viem";
import { Abis, Addresses } from "viem/tempo";
import { IncompleteLogs, type ChainLog, type LeftOffer } from "../../chain/exchange-facts.ts";
import { tempo } from "../../chain/exchanges/tempo.ts";
import { readIndexSettings, type IndexSettings } from "../../chain/index-settings.ts";
import { makeDatabase } from "../database.ts";
import { startIndexing } from "./indexing.ts";
import * as invented from "./invented-chain.ts";
import {
  BASE,
  cancelled,
  created,
  failed,
  filled,
  flipped,
  KEY,
  MAKER,
  pairMade,
  placed,
  QUOTE,
  TAKER,
  word,
} from "./tempo-events.ts";

const PAIRS = [{ block: 1, answers: { base: BASE, quote: QUOTE } }];

const logsOf = (...events: { topics: Hex[]; data: Hex }[]): ChainLog[] =>
  events.map((one, idx) => ({
    ...{
      address: invented.EXCHANGE,
      ...one,
      block: 7,
      hash: "0x",
      time: undefined,
      tx: "0x7",
      idx,
    },
  }));
const decode = (...events: { topics: Hex[]; data: Hex }[]) =>
  tempo.decode(logsOf(...events), PAIRS);

/** What an event gives of an order. */
function givenBy(log: { topics: Hex[]; data: Hex }, left: Partial<LeftOffer>) {
  const fact = decode(filled(5, 1n, false), log).at(-1);
  if (fact?.kind !== "update") throw new Error("it is no update");
  const offer = { lotAmt: 0n, bidAmt: 0n, ...left };
  const whole = { lotAmt: offer.lotAmt, bidAmt: offer.bidAmt };
  return fact.factsOf({
    lotGem: BASE,
    bidGem: QUOTE,
    block: 3,
    ref: "5",
    maker: MAKER,
    whole,
    ...offer,
  });
}
const BID = { lotGem: QUOTE, bidGem: BASE };

it("reads the events of viem's own list of the exchange", () => {
  const events = Abis.stablecoinDex.filter((one) => one.type === "event");
  expect([...tempo.topics].sort()).toEqual(events.map((one) => toEventSelector(one)).sort());
  expect(Addresses.stablecoinDex).toBe("0xdec0000000000000000000000000000000000000");
});

it.each([
  // 100.000001 at 1.0001 is 100.0100010001: rounded up, what a bid deposits and an ask wants.
  ["bid", true, 10, { ...BID, lotAmt: 100_010_002n, bidAmt: 100_000_001n }],
  ["ask", false, 10, { lotGem: BASE, lotAmt: 100_000_001n, bidGem: QUOTE, bidAmt: 100_010_002n }],
])("an order that is a %s is an offer, by the quote of its pair", (_, isBid, tick, amounts) => {
  expect(decode(placed(3, 100_000_001n, isBid, tick))).toEqual([
    {
      kind: "offer",
      id: 3,
      ref: "3",
      maker: MAKER,
      block: 7,
      hash: "0x",
      tx: "0x7",
      idx: 0,
      ...amounts,
    },
  ]);
});

it.each([
  // 33.333333 at 0.99990 is 33.3299996667: a bid gives it rounded down, an ask gets it rounded up.
  [
    "bid",
    { ...BID, lotAmt: 99_990_000n, bidAmt: 100_000_000n },
    { lotAmt: 33_329_999n, bidAmt: 33_333_333n },
  ],
  [
    "ask",
    { lotAmt: 100_000_000n, bidAmt: 99_990_000n },
    { lotAmt: 33_333_333n, bidAmt: 33_330_000n },
  ],
])("a take of a part of a %s is a trade at its tick", (_, left, amounts) => {
  expect(givenBy(filled(5, 33_333_333n, true), left)).toEqual([
    expect.objectContaining({
      kind: "trade",
      offerId: 5,
      ref: "5",
      maker: MAKER,
      taker: TAKER,
      ...amounts,
    }),
  ]);
});

it("what rounding has left of a bid that is filled is cancelled with its last take", () => {
  const whole = { lotAmt: 99_990_000n, bidAmt: 100_000_000n };
  // The last of three takes: 33.333334 at 0.99990 is 33.3300006666, and 33.330002 was left.
  const last = { ...BID, whole, lotAmt: 33_330_002n, bidAmt: 33_333_334n };
  expect(givenBy(filled(5, 33_333_334n, false), last)).toMatchObject([
    { kind: "trade", lotAmt: 33_330_000n, bidAmt: 33_333_334n },
    { kind: "cancellation", lotAmt: 2n, bidAmt: 0n },
  ]);
  expect(givenBy(filled(5, 100_000_000n, false), { ...BID, ...whole })).toHaveLength(1);
});

it("a flipped order is a new offer of its tokens the other way round, with another ref", () => {
  const facts = givenBy(flipped(5, 100_000_000n, true, -10), { bidAmt: -1n });
  expect(facts).toMatchObject([
    {
      kind: "offer",
      id: 5,
      ref: "5:7.1",
      isAgain: true,
      ...BID,
      lotAmt: 99_990_000n,
      bidAmt: 100_000_000n,
    },
  ]);
});

it.each<[what: string, log: { topics: Hex[]; data: Hex }, left: Partial<LeftOffer>]>([
  ["a take of more than is left", filled(5, 11n, true), { lotAmt: 10n, bidAmt: 10n }],
  ["a last take that leaves something", filled(5, 9n, false), { lotAmt: 10n, bidAmt: 10n }],
  ["a part that is all", filled(5, 10n, true), { lotAmt: 10n, bidAmt: 10n }],
  ["a cancellation of nothing", cancelled(5), {}],
  ["a flip of what is not filled", flipped(5, 100_000_000n, true, 0), { lotAmt: 10n, bidAmt: 10n }],
  ["a flip to the same side", flipped(5, 100_000_000n, false, 0), {}],
])("%s cannot be, so that an earlier log is missing", (_, log, left) => {
  expect(givenBy(log, left)).toBeUndefined();
});

it.each([
  ["the fill before a flip", [flipped(5, 100_000_000n, true, 0)]],
  ["the fill before a flip that fails", [filled(5, 1n, true), failed(5)]],
  ["the fill of the same order", [filled(4, 1n, false), failed(5)]],
])("notices that a log is missing: %s", (_, events) => {
  expect(() => decode(...events)).toThrow(IncompleteLogs);
});

it("an order before its pair is read shows that the log of the pair is missing", () => {
  expect(() => tempo.decode(logsOf(placed(1, 100_000_000n, true, 0)), [])).toThrow(
    /the log of its pair is missing: the first block is that of the exchange's first pair/,
  );
});

it("an order is of the last pair before its log, also where both are in one block", () => {
  const other = pairMade(word(7), BASE, TAKER);
  const logs = logsOf(created, placed(1, WHOLE, false, 0), other, placed(2, WHOLE, true, 0));
  const pairs = [logs[0]!, logs[2]!].map((log) => ({ block: 7, ...tempo.discover!.made(log) }));
  expect(tempo.decode([logs[1]!, logs[3]!], pairs)).toMatchObject([
    { lotGem: BASE, bidGem: QUOTE },
    { lotGem: getAddress(TAKER), bidGem: BASE },
  ]);
});

/** What is left of each order by the contract. */
const orderWords = (isBid: boolean, remaining: bigint): Hex =>
  encodeAbiParameters(
    [
      "uint128",
      "address",
      "bytes32",
      "bool",
      "int16",
      "uint128",
      "uint128",
      "uint128",
      "uint128",
      "bool",
      "int16",
    ].map((type) => ({ type })),
    [1n, MAKER, KEY, isBid, 0, 100_000_000n, remaining, 0n, 0n, false, 0],
  );

const settings = readIndexSettings({
  ...{ RPC_URL: "http://127.0.0.1", EXCHANGE: `tempo:${invented.EXCHANGE}`, FROM_BLOCK: "0" },
}) as IndexSettings;

const WHOLE = 100_000_000n;
const PART = 40_000_000n;
/** A pair, an ask that is filled in two parts and flips, a bid that is filled and cannot flip, a cancellation, and an ask that is open. */
const HISTORY = [
  [],
  [created, placed(1, WHOLE, false, 10), placed(2, WHOLE, true, 0)],
  [filled(1, PART, true)],
  [filled(1, WHOLE - PART, false), flipped(1, WHOLE, true, -10)],
  [filled(2, WHOLE, false), failed(2)],
  [placed(3, WHOLE, true, -20), cancelled(3)],
  [placed(4, WHOLE, false, 20)],
];
/** The place of each log, but for those that change nothing or are noticed by a later event of their order alone. */
const FLIPPED = "3.1";
const FAILED = "4.1";
const places = HISTORY.flatMap((events, block) => events.map((_, n) => `${block}.${n}`));

async function indexWithout(missing: string | undefined) {
  const database = await makeDatabase();
  const acts: invented.Act[][] = Array.from({ length: 50 }, (_, block) => {
    const events = HISTORY[block] ?? [];
    return events.length === 0 ? [] : [{ do: "emit all", events }];
  });
  const node = await invented.startInventedNode(invented.chainOf(acts), 45);
  node.logs = (blocks) =>
    blocks.flatMap(({ logs }, block) => logs.filter((_, n) => `${block}.${n}` !== missing));
  node.lie = ({ method, params }, truth) => {
    const [asked, at] = params as unknown[];
    const { to, data = "" } = (asked ?? {}) as { to?: string; data?: string };
    if (method !== "eth_call" || to !== getAddress(invented.EXCHANGE)) return truth;
    if (data === tempo.state?.lastOffer.data) {
      const { blockHash } = at as { blockHash?: Hex };
      const block = blockHash
        ? node.blocks.findIndex(({ header }) => header.hash === blockHash)
        : Number(at);
      return word(block === 0 ? 1 : 5);
    }
    const id = Number(`0x${data.slice(10)}`);
    if (id !== 1 && id !== 4) return new Error("execution reverted");
    return orderWords(id === 1, WHOLE);
  };
  const indexing = startIndexing({
    ...{ ...settings, databaseUrl: database.url, url: node.url, rpcUrls: [node.url] },
    ...{ finality: undefined, requestsPerSecond: 10_000 },
  });
  const audited = indexing
    .heard((one) => one.event === "audit" && !one.isDue)
    .then(() => indexing.wrote(49));
  const said = await audited.then(
    () => undefined,
    (error: unknown) => String(error),
  );
  await indexing.stop().catch(() => undefined);
  await node.stop();
  return { said, database };
}

it("has the orders, trades and cancellations of a history, with a flipped order as another offer", async () => {
  const { said, database } = await indexWithout(undefined);
  expect(said).toBeUndefined();
  const { rows } = await database.owner.query<{ row: string }>(
    `select concat_ws(' ', offer.ref, offer.killed, offer.filled, count(trade.id)) as row
    from dex_offer as offer
    left join dex_trade as trade on trade.offer_id = offer.id
    group by offer.id
    order by offer.id`,
  );
  expect(rows.map(({ row }) => row)).toEqual([
    ...["1 0 t 2", "2 0 t 1", "1:3.1 0 f 0", "3 5 f 0", "4 0 f 0"],
  ]);
  await database.drop();
});

it.each(places.filter((place) => place !== FLIPPED && place !== FAILED))(
  "the log %s that all nodes leave out is noticed",
  async (place) => {
    const { said, database } = await indexWithout(place);
    expect(said).toMatch(/A log is missing or wrong|are not whole/);
    await database.drop();
  },
);

it.each([FLIPPED, FAILED])("the log %s is not, as its page says", async (place) => {
  const { said, database } = await indexWithout(place);
  expect(said).toBeUndefined();
  await database.drop();
});
