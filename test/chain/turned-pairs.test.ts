// Two tokens that have each had the other as quote: an order is on the side that its own event says.
import { encodeAbiParameters, getAddress, type Hex } from "viem";
import { verifyRange } from "../../chain/comparing.ts";
import { tempo } from "../../chain/exchanges/tempo.ts";
import { makeDatabase } from "../database.ts";
import { startIndexing } from "./indexing.ts";
import * as invented from "./invented-chain.ts";
import * as events from "./tempo-events.ts";

const { BASE, QUOTE, MAKER, KEY } = events;
const WHOLE = 100n * 10n ** 18n;
const PART = WHOLE / 4n;

interface Step {
  log: { topics: Hex[]; data: Hex };
  /** What it leaves of an order. */
  left?: { id: number; isBid: boolean; remaining: bigint };
}
const sides = new Map<number, boolean>();
const place = (id: number, isBid: boolean, tick: number, token = BASE): Step => {
  sides.set(id, isBid);
  const log = events.placed(id, WHOLE, isBid, tick, token);
  return { log, left: { id, isBid, remaining: WHOLE } };
};
const fill = (id: number, amount: bigint, remaining: bigint): Step => ({
  log: events.filled(id, amount, remaining > 0n),
  left: { id, isBid: sides.get(id) === true, remaining },
});
const flip = (id: number, isBid: boolean, tick: number, token = BASE): Step => {
  sides.set(id, isBid);
  const log = events.flipped(id, WHOLE, isBid, tick, token);
  return { log, left: { id, isBid, remaining: WHOLE } };
};

/** The first six orders are before the second pair, in its block, and after it; one flips that was made before it, and one after it. */
const HISTORY: Step[][] = [
  [],
  [{ log: events.created }, place(1, true, -2000), place(2, false, 10), place(3, true, -10)],
  [{ log: events.turned }, place(4, true, 10, QUOTE)],
  [place(5, false, -2000, QUOTE), place(6, true, 0), place(7, false, 20)],
  [fill(1, PART, WHOLE - PART), fill(2, PART, WHOLE - PART)],
  [fill(3, WHOLE, 0n), flip(3, false, 10), fill(4, PART, WHOLE - PART)],
  [fill(5, WHOLE, 0n), flip(5, true, -2010, QUOTE), fill(6, PART, WHOLE - PART)],
  [fill(7, WHOLE, 0n), fill(3, PART, WHOLE - PART), fill(5, PART, WHOLE - PART)],
  [fill(3, WHOLE - PART, 0n), flip(3, true, -10), { log: events.cancelled(4) }],
  [fill(3, PART, WHOLE - PART), { log: events.cancelled(2) }],
];
const ACTS = Array.from({ length: 50 }, (_, block): invented.Act[] => {
  const logs = (HISTORY[block] ?? []).map(({ log }) => log);
  return logs.length === 0 ? [] : [{ do: "emit all", events: logs }];
});
const BLOCKS = invented.chainOf(ACTS);

/** What is left of an order after a block, by the contract. */
function orderAt(block: number, id: number): Hex | Error {
  const steps = HISTORY.slice(0, block + 1).flat();
  const left = steps.findLast((step) => step.left?.id === id)?.left;
  const isCancelled = (id === 4 && block >= 8) || (id === 2 && block >= 9);
  if (left === undefined || left.remaining === 0n || isCancelled) {
    return new Error("execution reverted");
  }
  const { isBid, remaining } = left;
  const integers = Array.from({ length: 5 }, () => "uint128");
  return encodeAbiParameters(
    ["uint128", "address", "bytes32", "bool", ...integers, "bool", "int16"].map((type) => ({
      type,
    })),
    [BigInt(id), MAKER, KEY, isBid, 0n, WHOLE, remaining, 0n, 0n, false, 0],
  );
}

let node: invented.InventedNode;
beforeEach(async () => {
  node = await invented.startInventedNode(BLOCKS, 45);
  node.lie = ({ method, params }, truth) => {
    const [asked, at] = params as unknown[];
    const { to, data = "" } = (asked ?? {}) as { to?: string; data?: string };
    if (method !== "eth_call" || to !== getAddress(invented.EXCHANGE)) return truth;
    const { blockHash } = at as { blockHash?: Hex };
    const block = blockHash
      ? BLOCKS.findIndex(({ header }) => header.hash === blockHash)
      : Number(at);
    if (data !== tempo.state?.lastOffer.data) return orderAt(block, Number(`0x${data.slice(10)}`));
    const made = HISTORY.slice(0, block + 1).flat();
    return events.word(1 + Math.max(0, ...made.flatMap(({ left }) => left?.id ?? [])));
  };
});
afterEach(() => node.stop());

const [ETH, DAI] = ["weth", "dai"];
/** Where the quotes of a fill are given by a bid they are rounded down: here all are whole. */
const TRADES = [
  [1, DAI, "24.5", ETH, "25"],
  [2, ETH, "25", DAI, "25.0025"],
  [3, DAI, "99.99", ETH, "100"],
  [4, ETH, "25.0025", DAI, "25"],
  [5, DAI, "100", ETH, "98"],
  [6, DAI, "25", ETH, "25"],
  [7, ETH, "100", DAI, "100.02"],
  [3, ETH, "25", DAI, "25.0025"],
  [5, ETH, "24.4975", DAI, "25"],
  [3, ETH, "75", DAI, "75.0075"],
  [3, DAI, "24.9975", ETH, "25"],
];

it.each([
  ["of final blocks", []],
  ["of each block by a new start", HISTORY.map((_, block) => block)],
])("has the right side of each order, %s", async (_, stops) => {
  await using database = await makeDatabase();
  const options = {
    ...{ databaseUrl: database.url, url: node.url, rpcUrls: [node.url] },
    ...{ exchange: getAddress(invented.EXCHANGE), decoder: tempo, taker: "event" as const },
    ...{ fromBlock: 0, finality: undefined, requestsPerSecond: 10_000 },
  };
  for (const head of stops) {
    [node.blocks, node.finalized] = [BLOCKS.slice(0, head + 1), Math.max(0, head - 2)];
    const indexing = startIndexing(options);
    await indexing.wrote(head);
    await indexing.stop();
  }
  [node.blocks, node.finalized] = [BLOCKS, 45];
  const indexing = startIndexing(options);
  await indexing.heard((one) => one.event === "audit" && !one.isDue);
  await indexing.wrote(49);
  await indexing.stop();
  const { rows } = await database.owner.query<{ trade: unknown[] }>(
    `select json_build_array(
      split_part(known.ref, ':', 1)::integer,
      lower(trade.lot_tkn),
      trim_scale(trade.lot_amt)::text,
      lower(trade.bid_tkn),
      trim_scale(trade.bid_amt)::text
    ) as trade
    from dex_trade as trade
    join dex_private.offer_ref as known on known.offer_id = trade.offer_id
    order by trade.id`,
  );
  expect(rows.map(({ trade }) => trade)).toEqual(TRADES);
  const { signal } = new AbortController();
  expect(await Array.fromAsync(verifyRange({ ...options, signal }, 0, 49))).toEqual([]);
  expect(await Array.fromAsync(verifyRange({ ...options, signal }, 5, 9))).toEqual([]);
});
