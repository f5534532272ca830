// DEX Screener's paths against its format and against the trades, computed without SQL.
import { makeTestApp } from "../../app.ts";
import { makeDatabase } from "../../database.ts";
import { units } from "../../brute-force.ts";
import { aHash, anAddress, blockAt, MKR, WETH } from "../../factories.ts";
import { wrongIn } from "./format-schemas.ts";
import {
  dealtIn,
  type Fields,
  fillListings,
  HEAD_HOUR,
  HEAD_MS,
  idOf,
  PAIRS,
  plain,
  TRADES,
} from "./listing-exchange.ts";
import { serveDatabase } from "../../served.ts";

const { app } = serveDatabase(fillListings, {
  listings: { exchangeName: "oasis", usdTokens: [] },
});

async function bodyOf(path: string, from = app) {
  const { body } = await from.request.get(path).expect(200);
  expect(wrongIn(path, body)).toEqual([]);
  return body;
}

const HEAD = blockAt(HEAD_HOUR);
const eventsOf = async (fromBlock: number, toBlock: number): Promise<Fields[]> =>
  (await bodyOf(`/dexscreener/events?fromBlock=${fromBlock}&toBlock=${toBlock}`)).events;

/** quote ÷ base, rounded half away from zero to 50 fractional digits. */
function priceOf(quote: string, base: string): string | undefined {
  const [numerator, denominator] = [units(quote) * 10n ** 50n, units(base)];
  if (denominator === 0n) return undefined;
  const rounded = (2n * numerator + denominator) / (2n * denominator);
  if (rounded === 0n) return undefined;
  const digits = rounded.toString().padStart(51, "0");
  return plain(`${digits.slice(0, -50)}.${digits.slice(-50)}`)!;
}

/** The swaps of blocks; a transaction's place is that of its first trade, of any market. */
function swapsOf(fromBlock: number, toBlock: number): object[] {
  return TRADES.filter(({ block }) => block >= fromBlock && block <= toBlock).flatMap((row) => {
    const ofBlock = TRADES.filter(({ block }) => block === row.block);
    const txs = [...new Set(ofBlock.map(({ tx }) => tx))];
    const found = PAIRS.map((pair) => ({ pair, dealt: dealtIn(pair, row) })).find(
      ({ dealt }) => dealt !== undefined,
    );
    if (found?.dealt === undefined) return [];
    const { base, quote, side } = found.dealt;
    const priceNative = priceOf(quote, base);
    if (priceNative === undefined) return [];
    return [
      {
        block: { blockNumber: row.block, blockTimestamp: Math.floor(Date.parse(row.time) / 1000) },
        eventType: "swap",
        txnId: row.tx,
        txnIndex: txs.indexOf(row.tx),
        eventIndex: row.idx,
        maker: row.taker,
        pairId: idOf(found.pair),
        ...(side === "buy"
          ? { asset1In: plain(quote), asset0Out: plain(base) }
          : { asset0In: plain(base), asset1Out: plain(quote) }),
        priceNative,
      },
    ];
  });
}

it("has the head as its latest block, and events of it", async () => {
  expect(await bodyOf("/dexscreener/latest-block")).toEqual({
    block: { blockNumber: HEAD, blockTimestamp: HEAD_MS / 1000 },
  });
  expect(await eventsOf(HEAD, HEAD)).toEqual([]);
});

it("has every trade with amounts once, however the blocks are cut", async () => {
  const found: object[] = [];
  for (let from = 0; from <= HEAD; from += 1000) {
    found.push(...(await eventsOf(from, Math.min(from + 999, HEAD))));
  }
  expect(found).toEqual(swapsOf(0, HEAD));
  expect(found).toHaveLength(TRADES.length - 3);
});

it("includes both blocks, and has indexes that are unique in a block", async () => {
  const block = blockAt(20);
  const events = await eventsOf(block, block);
  expect(events).toEqual(swapsOf(block, block));
  expect(events.map(({ txnId, txnIndex, eventIndex }) => [txnId, txnIndex, eventIndex])).toEqual([
    [aHash("one transaction"), 0, 7],
    [aHash("another transaction"), 1, 9],
    [aHash("another transaction"), 1, 11],
    // The third transaction is of no registered market.
    [aHash("a fourth"), 3, 13],
  ]);
  expect(await eventsOf(block - 2, block - 1)).toEqual([]);
  expect(await eventsOf(block + 1, block + 2)).toEqual([]);
});

it("has prices of 50 digits, so that none is 0", async () => {
  const events = await eventsOf(blockAt(20), blockAt(20));
  expect(events.map(({ priceNative }) => priceNative)).toEqual([
    "130",
    // 900 ÷ 7
    "128.57142857142857142857142857142857142857142857142857",
    // 10^-18 ÷ 10^20
    "0.00000000000000000000000000000000000001",
    "100000000000000000000000000000000000000",
  ]);
});

it("has the prices of 50 digits that GraphQL shows", async () => {
  const { body } = await app.request.post("/graphql").send({
    query: `{
      allDexTrades(orderBy: ID_ASC, condition: { block: ${blockAt(20)} }) { nodes { price50 } }
    }`,
  });
  const prices = body.data.allDexTrades.nodes.map((node: Fields) => plain(node["price50"] ?? null));
  const events = await eventsOf(blockAt(20), blockAt(20));
  // A trade without a price is in no event.
  expect(prices.filter((price: string | null) => price !== null)).toEqual(
    events.map(({ priceNative }) => priceNative),
  );
  expect(prices).toContain(null);
});

it("has what a pair and its assets are, for each event", async () => {
  for (const pair of PAIRS) {
    expect(await bodyOf(`/dexscreener/pair?id=${idOf(pair)}`)).toEqual({
      pair: {
        id: idOf(pair),
        dexKey: "oasis",
        asset0Id: pair.base_gem,
        asset1Id: pair.quote_gem,
      },
    });
    for (const gem of [pair.base_gem, pair.quote_gem]) {
      const { asset } = await bodyOf(`/dexscreener/asset?id=${gem}`);
      expect(asset.id).toBe(gem);
    }
  }
});

it("has the symbol for a name that is not known, or empty", async () => {
  expect(await bodyOf(`/dexscreener/asset?id=${WETH}`)).toEqual({
    asset: { id: WETH, name: "Wrapped Ether", symbol: "WETH" },
  });
  expect(await bodyOf(`/dexscreener/asset?id=${MKR}`)).toEqual({
    asset: { id: MKR, name: "MKR", symbol: "MKR" },
  });
  const { asset } = await bodyOf(`/dexscreener/asset?id=${PAIRS[3]!.base_gem}`);
  expect(asset).toMatchObject({ name: "A_B", symbol: "A_B" });
});

it.each([
  ["/asset", "id must be an address: 0x and 40 hex digits, given once"],
  ["/asset?id=WETH", "id must be an address: 0x and 40 hex digits, given once"],
  [`/asset?id=${anAddress("nobody")}`, "Unknown asset"],
  ["/pair?id=WETH/DAI", "id must be the addresses of base and quote token in hex"],
  [`/pair?id=${anAddress("a")}_${anAddress("b")}`, "Unknown pair"],
  ["/events", "fromBlock must be an integer from 0"],
  ["/events?fromBlock=1", "toBlock must be an integer from 0"],
  ["/events?fromBlock=-1&toBlock=1", "fromBlock must be an integer from 0"],
  ["/events?fromBlock=10&toBlock=9", "toBlock must be an integer from fromBlock, 10, to 1009"],
  ["/events?fromBlock=10&toBlock=1010", "to 1009: at most 1000 blocks"],
  [
    `/events?fromBlock=${HEAD}&toBlock=${HEAD + 1}`,
    `toBlock must be at most the head, block ${HEAD}`,
  ],
  ["/events?fromBlock=2147483646&toBlock=2147483646", "toBlock must be at most the head"],
  ["/events?fromBlock=2147483647&toBlock=2147483647", "fromBlock must be an integer from 0"],
])("refuses %s", async (path, message) => {
  const { status, body } = await app.request.get(`/dexscreener${path}`);
  expect(status).toBe(400);
  expect(body).toEqual({ time: expect.any(String), message: expect.stringContaining(message) });
});

it("is 503 before the first block, as there is none to name", async () => {
  await using empty = await makeDatabase();
  await using service = await makeTestApp(empty.reader);
  for (const path of ["/latest-block", "/events?fromBlock=0&toBlock=0"]) {
    const { status, body, headers } = await service.request.get(`/dexscreener${path}`);
    expect(status).toBe(503);
    expect(body.message).toBe("No block has been written yet");
    expect(headers["retry-after"]).toBe("5");
  }
});
