// What ingest writes, refuses and takes back of pools.
import { verify } from "../../db/verify/verify-database.ts";
import { openClient } from "../database.ts";
import { compareDigests } from "../digests.ts";
import { anAddress, blockAt, DAI, hours, registerMarkets, WETH } from "../factories.ts";
import { useDatabase } from "../served.ts";
import { writeStaged } from "./staged-pools.ts";

const database = useDatabase();
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

const POOL = anAddress("pool");
const aPool = (given: object = {}) => ({
  ...{ venue: POOL, gem0: DAI, reserve0: "2000", gem1: WETH, reserve1: "1", fee: 3000, ...given },
});

const RANGED = anAddress("ranged");
/** At the price 1, with 5 from tick -60 to 60. */
const aRangedPool = (given: object = {}) => ({
  ...{ venue: RANGED, gem0: DAI, gem1: WETH, fee: 3000, tick_spacing: 60 },
  ...{ sqrt_price: String(2n ** 96n), tick: 0, liquidity: "5", nets: "-60:5 60:-5", ...given },
});

const writePools = (hour: number, pools: unknown): Promise<unknown> =>
  database.writer.query("select ingest.write_block($1, $2, pools => $3)", [
    ...[blockAt(hour), hours(hour), JSON.stringify(pools)],
  ]);

const stagePools = (given: { hour: number; pool: object }[]): Promise<void> =>
  writeStaged(database, given);

const states = async (): Promise<string[]> => {
  const { rows } = await database.owner.query<{ row: string }>(
    `select concat_ws(' ', state.block / 3600, trim_scale(state.reserve0), trim_scale(state.reserve1)) as row
    from dex_pool_state as state
    join dex_pool using (venue)
    order by state.block, venue`,
  );
  return rows.map(({ row }) => row);
};

it("has what a pool has after each block, one by one or at once, and takes it back with its block", async () => {
  await writePools(1, [aPool()]);
  await stagePools([
    { hour: 2, pool: aPool({ reserve0: "2100" }) },
    { hour: 3, pool: aPool({ venue: POOL.toLowerCase(), reserve1: "0.5" }) },
  ]);
  expect(await states()).toEqual(["1 2000 1", "2 2100 1", "3 2000 0.5"]);
  const owner = await database.connect("dex_owner");
  expect(await verify(owner)).toEqual([]);
  await compareDigests(owner);
  await database.writer.query("select ingest.take_back($1)", [blockAt(2)]);
  expect(await states()).toEqual(["1 2000 1", "2 2100 1"]);
  await database.writer.query("select ingest.take_back(-1)");
  expect(await states()).toEqual([]);
  expect(await verify(owner)).toEqual([]);
});

it("has the price, liquidity and ticks of a pool after each block, and takes them back with it", async () => {
  await writePools(1, [aRangedPool()]);
  // The price has risen through the end of that range into one of 7 from 60 to 120, and back to tick 0.
  await stagePools([
    { hour: 2, pool: aRangedPool({ liquidity: "5", nets: "60:2:12 120:-7" }) },
    { hour: 3, pool: aRangedPool({ tick: 60, liquidity: "7", nets: "" }) },
  ]);
  await writePools(4, [aRangedPool({ tick: 120, liquidity: "0", nets: "" })]);
  await writePools(5, [aRangedPool({ tick: -1, liquidity: "5", nets: "" })]);
  const ticks = async () =>
    (
      await database.owner.query<{ row: string }>(
        "select concat_ws(' ', tick, block / 3600, net, gross) as row from dex_private.pool_tick order by tick, block",
      )
    ).rows.map(({ row }) => row);
  const first = ["-60 1 5 5", "60 1 -5 5"];
  expect(await ticks()).toEqual(["-60 1 5 5", "60 1 -5 5", "60 2 2 12", "120 2 -7 7"]);
  const owner = await database.connect("dex_owner");
  expect(await verify(owner)).toEqual([]);
  await compareDigests(owner);
  // A change of liquidity that is missing is noticed where the price crosses it.
  await expect(
    writePools(6, [aRangedPool({ tick: 60, liquidity: "6", nets: "" })]),
  ).rejects.toThrow(
    "has the liquidity 6 at tick 60 after block 21600, and 7 by its ticks: a change of its liquidity is missing",
  );
  await owner.query("delete from dex_private.pool_tick");
  expect((await verify(owner)).map(({ row }) => row)).toContain(
    `dex_private.pool_tick ${RANGED} -60 3600`,
  );
  await owner.query("select ingest.rebuild()");
  expect(await verify(owner)).toEqual([]);
  await database.writer.query("select ingest.take_back($1)", [blockAt(1)]);
  expect(await ticks()).toEqual(first);
  expect(await verify(owner)).toEqual([]);
  await owner.query("update dex_pool_state set liquidity = 4");
  expect((await verify(owner)).map(({ row }) => row)).toContain(`dex_pool_state ${RANGED}`);
  await database.writer.query("select ingest.take_back(-1)");
  expect(await ticks()).toEqual([]);
});

it.each([
  ["sqrt_price", "2 ^ 95"],
  ["tick", "1"],
  ["liquidity", "liquidity + 1"],
  ["nets", "nets || ' 180:0'"],
  ["gross liquidity", "nets || ':7'", "nets"],
])("another digest follows from another %s of ranges", async (what, value, column = what) => {
  await writePools(1, [aRangedPool()]);
  await database.owner.query(`update dex_pool_state set ${column} = ${value}`);
  await expect(compareDigests(database.owner)).rejects.toThrow(`block ${blockAt(1)} has the`);
});

it.each([
  ["dex_pool_state", "reserve0 = reserve0 + 0.000000000000000001"],
  ["dex_pool_state", "reserve1 = reserve1 + 0.000000000000000001"],
  ["dex_pool", "fee = 2999"],
  ["dex_pool", "gem0 = venue"],
  ["dex_pool", "gem1 = venue"],
])("is a fact of its block: another digest follows from %s with %s", async (table, change) => {
  await writePools(1, [aPool()]);
  await using owner = await openClient(database.url);
  await owner.query(`update ${table} set ${change}`);
  await expect(compareDigests(owner)).rejects.toThrow(`block ${blockAt(1)} has the digest`);
  const found = await verify(owner);
  expect(found.map(({ row }) => row)).toContain(`dex_block ${blockAt(1)}`);
});

it.each([
  ["no array", {}, "pools is {}: it must be a JSON array"],
  ["no object", [7], "pools[0] is 7: it must be an object"],
  ["an unknown column", [aPool({ maker: POOL })], "pools[0] has the unknown columns maker"],
  ["no reserve", [aPool({ reserve0: null })], "is given in part: it has either reserve0 and"],
  ["a part of ranges", [aPool({ tick: 1 })], "is given in part: it has either reserve0 and"],
  ["ranges without nets", [aRangedPool({ nets: undefined })], "is given in part"],
  ["a tick beyond", [aRangedPool({ tick: -887_273 })], "is -887273: it must be an integer from"],
  ["no tick spacing", [aRangedPool({ tick_spacing: 0 })], "both must be above 0"],
  ["2^160", [aRangedPool({ sqrt_price: String(2n ** 160n) })], "an integer from 0 to below 2^160"],
  ["a fraction", [aRangedPool({ liquidity: "1.5" })], 'liquidity is "1.5": it must be'],
  ["another text", [aRangedPool({ nets: "60,1" })], 'nets is "60,1": it must be ticks in their'],
  // A mirror would not take it.
  [
    "a net of 51 digits",
    [aRangedPool({ nets: `-60:${"5".repeat(51)} 60:-5` })],
    "of up to 50 digits",
  ],
  ["a tick twice", [aRangedPool({ nets: "60:1 60:2" })], "must be ticks from -887272 to 887272"],
  ["another order", [aRangedPool({ nets: "60:-5 -60:5" })], "in their order, each once"],
  ...["-60:5:5", "-60:5:3", "-60:5:-7", "-60:5:6", "-60:5:", "-60:5:07", "-60:5:7:7"].map(
    (tick): [string, unknown, string] => [
      `the tick ${tick}`,
      [aRangedPool({ nets: `${tick} 60:-5` })],
      "ticks",
    ],
  ),
  ["a far tick", [aRangedPool({ nets: "-60:5 887273:-5" })], "in their order, each once"],
  [
    "liquidity that its ticks do not have",
    [aRangedPool({ liquidity: "6" })],
    `the pool ${RANGED} has the liquidity 6 at tick 0 after block 7200, and 5 by its ticks`,
  ],
  ["19 digits", [aPool({ reserve1: "1.0000000000000000001" })], "pools[0].reserve1 is"],
  [
    "no address",
    [aPool({ venue: "0x1" })],
    'pools[0].venue is "0x1": it must be 0x and 40 hex digits',
  ],
  [
    "a fee of all",
    [aPool({ fee: 1_000_000 })],
    "is 1000000: it must be an integer from 0 to 999999",
  ],
  ["one token", [aPool({ gem1: DAI.toLowerCase() })], "it is of two tokens"],
  ["a pool twice", [aPool(), aPool({ venue: POOL.toLowerCase() })], "is given twice in block 7200"],
  ["another fee", [aPool({ fee: 500 })], "and the fee 500, and recorded with"],
  [
    "other tokens",
    [aPool({ gem0: WETH, gem1: DAI })],
    `is given with ${WETH}, ${DAI} and the fee 3000`,
  ],
  ["another block", [aPool({ block: 1 })], "pools[0].block is 1: it must be 7200"],
])("refuses %s, with nothing written", async (_what, pools, message) => {
  await writePools(1, [aPool()]);
  await expect(writePools(2, pools)).rejects.toThrow(message);
  expect(await states()).toEqual(["1 2000 1"]);
});

it.each([
  ["sqrt_price", "NaN"],
  ["sqrt_price", "Infinity"],
  ["sqrt_price", String(2n ** 160n)],
  ["liquidity", "NaN"],
  ["liquidity", "Infinity"],
  ["reserve0", "NaN"],
])("refuses a staged pool whose %s is %s", async (column, value) => {
  const pool =
    column === "reserve0" ? aPool({ reserve0: value }) : aRangedPool({ [column]: value });
  await expect(stagePools([{ hour: 1, pool }])).rejects.toThrow(
    `pools[0].${column} is "${value}": it must be a decimal string`,
  );
});

it("names the row where staged pools cannot be written", async () => {
  await expect(
    stagePools([
      { hour: 1, pool: aPool() },
      { hour: 2, pool: aPool({ reserve0: "-1" }) },
    ]),
  ).rejects.toThrow('pools[1].reserve0 is "-1": it must be a decimal string');
  expect(await states()).toEqual([]);
});
