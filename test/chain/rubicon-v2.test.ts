// The logs of Rubicon v2 as offers, trades and cancellations, and what shows that one is missing.
import {
  concatHex,
  encodeAbiParameters,
  getAddress,
  numberToHex,
  padHex,
  toEventSelector,
  toFunctionSelector,
  zeroAddress,
  type Hex,
} from "viem";
import { matchingMarket } from "../../chain/exchanges/matching-market.ts";
import { rubiconV2 } from "../../chain/exchanges/rubicon-v2.ts";
import { IncompleteLogs, type ChainLog } from "../../chain/exchange-facts.ts";
import { readIndexSettings, type IndexSettings } from "../../chain/index-settings.ts";
import { verifyRange } from "../../chain/comparing.ts";
import { makeDatabase } from "../database.ts";
import { startIndexing } from "./indexing.ts";
import {
  chainOf,
  DAI,
  EXCHANGE,
  MAKER,
  PAIR,
  startInventedNode,
  WETH,
  type Act,
  type Log,
} from "./invented-chain.ts";

const OWNER: Hex = "0x3333333333333333333333333333333333333333";
const TAKER: Hex = "0x1111111111111111111111111111111111111111";
const UNIT = 10n ** 18n;

interface Event {
  topics: Hex[];
  data: Hex;
}

const word = (value: Hex | number): Hex =>
  typeof value === "number" ? numberToHex(value, { size: 32 }) : padHex(value, { size: 32 });
const event = (name: string, topics: (Hex | number)[], data: Hex = "0x"): Event => ({
  topics: [toEventSelector(name), ...topics.map(word)],
  data,
});
/** So many WETH, for 200 DAI each. */
const terms = (lot: number, ...before: Hex[]): Hex => {
  const types = [...before, WETH, DAI].map(() => ({ type: "address" }));
  return encodeAbiParameters(
    [...types, { type: "uint128" }, { type: "uint128" }],
    [...before, WETH, DAI, BigInt(lot) * UNIT, BigInt(lot) * 200n * UNIT],
  );
};

const OFFER = "bytes32,bytes32,address,address,address,uint128,uint128";
const update = (id: number): Event => event("LogItemUpdate(uint256)", [], word(id));
const offer = (id: number): Event[] => [
  update(id),
  event(`emitOffer(${OFFER})`, [id, PAIR, MAKER], terms(10)),
];
const fee = (id: number, to: Hex): Event =>
  event(
    "emitFee(bytes32,address,address,bytes32,address,uint256)",
    [id, TAKER, to],
    concatHex([PAIR, word(DAI), word(7)]),
  );
/** With the fee that a taker pays the maker, and the exchange's. */
const take = (id: number, lot: number, owner: Hex = OWNER): Event[] => [
  fee(id, owner),
  update(id),
  event(
    "emitTake(bytes32,bytes32,address,address,address,address,uint128,uint128)",
    [id, PAIR, TAKER],
    terms(lot, owner),
  ),
  fee(id, EXCHANGE),
];
const gone = (id: number): Event => event("emitDelete(bytes32,bytes32,address)", [id, PAIR, OWNER]);
const cancel = (id: number, left: number): Event[] => [
  update(id),
  event(`emitCancel(${OFFER})`, [id, PAIR, MAKER], terms(left)),
];

const logsOf = (events: readonly Event[]): ChainLog[] =>
  events.map((one, idx) => ({
    ...{ address: EXCHANGE, ...one, block: 7, hash: "0x", time: undefined, tx: "0x7", idx },
  }));

it("gives offers, takes and cancellations, without a time", () => {
  const facts = rubiconV2.decode(
    logsOf([...offer(1), ...take(1, 10, zeroAddress), gone(1), ...offer(2), ...cancel(2, 10)]),
  );
  const place = { block: 7, hash: "0x", tx: "0x7", time: undefined };
  const gems = { lotGem: getAddress(WETH), bidGem: getAddress(DAI) };
  const amounts = { lotAmt: 10n * UNIT, bidAmt: 2_000n * UNIT };
  const row = { ...place, ...gems, ...amounts };
  expect(facts).toEqual([
    { kind: "offer", id: 1, maker: getAddress(MAKER), ...row, idx: 1 },
    {
      ...{ kind: "trade", offerId: 1, maker: zeroAddress, taker: getAddress(TAKER) },
      ...{ makerIsOffers: true, ...row, idx: 4 },
    },
    { kind: "offer", id: 2, maker: getAddress(MAKER), ...row, idx: 8 },
    { kind: "cancellation", offerId: 2, ...row, idx: 10 },
  ]);
});

it.each<[missing: string, events: Event[]]>([
  ["offer", [update(1)]],
  ["take with its update", [fee(1, OWNER), fee(1, EXCHANGE)]],
  ["take", take(1, 4).filter((_, n) => n !== 2)],
  ["take before the deletion", [gone(1)]],
  ["cancellation", [...take(1, 4), update(1)]],
])("notices that a log is missing: %s", (_, events) => {
  expect(() => rubiconV2.decode(logsOf(events))).toThrow(IncompleteLogs);
});

it.each([
  ["FeeTake", "FeeTake(bytes32,bytes32,address,address,address,uint256,uint64)"],
  ["OfferDeleted", "OfferDeleted(bytes32)"],
])("of Rubicon v1 a %s without its take is noticed", (name, signature) => {
  const found =
    name === "FeeTake"
      ? event(signature, [1, PAIR, TAKER], concatHex([1, 2, 3, 4].map(word)))
      : event(signature, [1]);
  expect(() => matchingMarket.decode(logsOf([found]))).toThrow(IncompleteLogs);
});

/** What is left of each offer after each block. */
const LEFT: { last: number; left: Record<number, number> }[] = [
  { last: 0, left: {} },
  { last: 1, left: { 1: 10 } },
  { last: 1, left: { 1: 6 } },
  { last: 2, left: { 2: 10 } },
  { last: 2, left: {} },
];

it.each([
  ["alone", `rubicon-v2:${EXCHANGE}@0`],
  ["beside a MatchingMarket", `${OWNER}@0,rubicon-v2:${EXCHANGE}@0`],
])("is indexed %s with the makers of offers and the times of headers", async (_, exchange) => {
  await using database = await makeDatabase();
  const acts = [[], offer(1), take(1, 4), [...take(1, 6), gone(1), ...offer(2)], cancel(2, 10)].map(
    (events): Act[] => (events.length === 0 ? [] : [{ do: "emit all", events }]),
  );
  const node = await startInventedNode(chainOf(acts), 2);
  node.lie = ({ method, params }, truth) => {
    if (method === "eth_getLogs") {
      return (truth as Log[]).map((log) => ({ ...log, blockTimestamp: undefined }));
    }
    const [asked, at] = params as unknown[];
    const { to, data = "0x" } = (asked ?? {}) as { to?: string; data?: Hex };
    if (method !== "eth_call" || to !== getAddress(EXCHANGE)) return truth;
    const { blockHash } = at as { blockHash?: Hex };
    const block = blockHash
      ? node.blocks.findIndex(({ header }) => header.hash === blockHash)
      : Number(at === "latest" ? 4 : at);
    const { last, left } = LEFT[block]!;
    if (data === toFunctionSelector("function last_offer_id()")) return word(last);
    const lot = left[Number(`0x${data.slice(10)}`)] ?? 0;
    return encodeAbiParameters(
      ["uint256", "address", "uint256", "address"].map((type) => ({ type })),
      [BigInt(lot) * UNIT, WETH, BigInt(lot) * 200n * UNIT, DAI],
    );
  };
  const settings = readIndexSettings({
    RPC_URL: "http://127.0.0.1",
    EXCHANGE: exchange,
  }) as IndexSettings;
  const options = {
    ...{ ...settings, databaseUrl: database.url, url: node.url, rpcUrls: [node.url] },
    ...{ finality: undefined, requestsPerSecond: 10_000 },
  };
  const indexing = startIndexing(options);
  await indexing.wrote(4);
  await indexing.heard((one) => one.event === "audit" && !one.isDue);
  const { rows } = await database.owner.query(
    `select
      coalesce(offer.ref, offer.id::text) as ref,
      offer.killed,
      offer.filled,
      trim_scale(trade.lot_amt)::text as lot,
      trade.maker,
      extract(epoch from trade.time)::integer as time
    from dex_offer as offer
    left join dex_trade as trade on trade.offer_id = offer.id
    order by offer.id, trade.id`,
  );
  const first = { ref: "1", killed: 0, filled: true, maker: getAddress(MAKER) };
  expect(rows).toEqual([
    { ...first, lot: "4", time: 1_600_000_024 },
    { ...first, lot: "6", time: 1_600_000_036 },
    { ref: "2", killed: 4, filled: false, lot: null, maker: null, time: null },
  ]);
  const { signal } = new AbortController();
  expect(await Array.fromAsync(verifyRange({ ...options, signal }, 0, 4))).toEqual([]);
  await indexing.stop();
  await node.stop();
});
