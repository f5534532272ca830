// What the database has of a contract is found in whatever letter case its writer gave the address.
import type { RangesFact, TradeFact, UpdateFact } from "../../chain/exchange-facts.ts";
import { withMakers, withOfferIds } from "../../chain/offer-refs.ts";
import { changedPools, keptStates, withRanges } from "../../chain/pool-states.ts";
import { tickedPools } from "../../chain/tick-audit.ts";
import { withUpdates } from "../../chain/updates.ts";
import { blocksOf, openOffers, pairsSince } from "../../chain/written-blocks.ts";
import {
  aHash,
  anAddress,
  anOffer,
  blockAt,
  DAI,
  hours,
  registerMarkets,
  WETH,
  write,
} from "../factories.ts";
import { useClient, useDatabase } from "../served.ts";

const BOOK = anAddress("book");
const POOL = anAddress("pool");
const ORDER = 2 ** 30;
const NETS = "-60:5 60:-5";

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await writer.query("select ingest.offer_ids($1, $2, $3)", [
    ...[[BOOK.toLowerCase()], ["7"], [blockAt(1)]],
  ]);
  await write(writer, {
    offers: [anOffer({ id: ORDER, hour: 1, venue: BOOK.toLowerCase() })],
    head: 2,
  });
  const [venue = "", gem0, gem1] = [POOL, DAI, WETH].map((address) => address.toLowerCase());
  const pool = { venue, gem0, gem1, fee: 3000, tick_spacing: 60 };
  const reserves = { venue: DAI, gem0, gem1, fee: 3000, reserve0: "2", reserve1: "1" };
  const state = { sqrt_price: String(2n ** 96n), tick: 0, liquidity: "5", nets: NETS };
  await writer.query("select ingest.write_block($1, $2, pools => $3)", [
    ...[blockAt(3), hours(3), JSON.stringify([{ ...pool, ...state }, reserves])],
  ]);
});
const client = useClient(database, "dex_writer");

const PLACE = { block: blockAt(4), hash: aHash("block"), tx: aHash("tx"), idx: 0, time: 0 };
const SWAP = { ...PLACE, lotGem: WETH, lotAmt: 1n, bidGem: DAI, bidAmt: 1n };
const decimalsOf = (): number => 18;

it("finds the open offers of a contract, and their blocks", async () => {
  const book = { exchange: BOOK, keepsIds: false };
  const lotAmt = 10n ** 19n;
  expect(await openOffers(client, book)).toMatchObject([{ id: 7, block: blockAt(1), lotAmt }]);
  expect(await blocksOf(client, book, [7])).toEqual(new Map([[7, blockAt(1)]]));
  const other = { exchange: anAddress("another book"), keepsIds: false };
  expect(await openOffers(client, other)).toEqual([]);
  expect(await blocksOf(client, other, [7])).toEqual(new Map());
});

it("gives a trade the id and the maker of its order", async () => {
  const own = { offerId: 7, ref: "7", maker: WETH, taker: DAI, makerIsOffers: true } as const;
  const trade: TradeFact = { ...SWAP, ...own, kind: "trade", venue: BOOK };
  expect(await withMakers(client, [trade])).toMatchObject([{ maker: anOffer().maker }]);
  await client.query("begin");
  expect(await withOfferIds(client, [trade], decimalsOf)).toMatchObject([{ offerId: ORDER }]);
  await client.query("rollback");
});

it("finds what is left of an order", async () => {
  const factsOf = jest.fn<[], unknown[]>(() => []);
  const update = { ...PLACE, factsOf, offerId: 7, kind: "update", venue: BOOK } as UpdateFact;
  await withUpdates(client, [update]);
  expect(factsOf).toHaveBeenCalledWith(expect.objectContaining({ ref: "7", block: blockAt(1) }));
});

it("reads the tokens of a pool with their checksum", async () => {
  const pairs = await pairsSince(client, blockAt(3));
  expect(pairs.map(({ lotGem, bidGem }) => [lotGem, bidGem])).toEqual([[DAI, WETH]]);
});

it("finds the state and the ticks of a pool", async () => {
  expect((await keptStates(client, [POOL])).get(POOL)).toMatchObject({ block: blockAt(3) });
  expect((await keptStates(client, [DAI])).get(DAI)?.has).toEqual([2n * 10n ** 18n, 10n ** 18n]);
  const changes = new Map([
    [-60, { net: -5n, gross: -5n }],
    [60, { net: 6n, gross: 6n }],
  ]);
  const own = { changes, fee: 3000, tickSpacing: 60, price: undefined };
  const fact: RangesFact = { ...SWAP, ...own, kind: "ranges", venue: POOL };
  expect(await withRanges(client, [fact], decimalsOf)).toMatchObject([
    { nets: "-60:0 60:1:11", price: { liquidity: 0n } },
  ]);
  expect((await changedPools(client, 0)).sort()).toEqual([DAI, POOL].sort());
  const span = { after: 0, upTo: blockAt(3) };
  expect(await tickedPools(client, [{ venue: POOL, tick: 1 }], span)).toMatchObject([
    {
      ...{ venue: POOL, changed: [60, -60] },
      ends: new Map([
        [-60, { net: 5n, gross: 5n }],
        [60, { net: -5n, gross: 5n }],
      ]),
    },
  ]);
});
