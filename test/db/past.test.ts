// What `set dex.as_of_block` names, and that what is published follows it.
import type { Database } from "../../db/connect.ts";
import { openClient } from "../database.ts";
import {
  aHash,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  MKR,
  registerMarkets,
  registerPair,
  WETH,
  write,
} from "../factories.ts";
import { useClient, useDatabase } from "../served.ts";

const database = useDatabase();
const client = useClient(database, "dex_reader");
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});

const writeBlock = (
  hour: number,
  { trades = [], db = database.writer }: { trades?: object[]; db?: Database } = {},
): Promise<unknown> =>
  db.query("select ingest.write_block($1, $2, $3, trades => $4)", [
    blockAt(hour),
    hours(hour),
    aHash(`block ${hour}`),
    JSON.stringify(trades),
  ]);

/** Blocks of the hours 1 to 3, each with a trade at 101, 102, 103, and the block of hour 4 without rows. */
async function writeHours(): Promise<void> {
  for (const hour of [1, 2, 3]) {
    await writeBlock(hour, { trades: [aTrade({ hour, quote: String(100 + hour) })] });
  }
  await writeBlock(4);
}

/** Reads as of what this names. */
async function readAt<Row extends object>(asOf: string, text: string): Promise<Row[]> {
  await client.query("begin");
  try {
    await client.query("select set_config('dex.as_of_block', $1, true)", [asOf]);
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.query("rollback");
  }
}

const LAST = `
  select head.block / 3600 as hour, trim_scale(market.last)::text as last
  from dex_head as head
  cross join dex_market as market
  where market.pair = 'WETH/DAI'`;

it.each([
  ["the number of a block", String(blockAt(2)), { hour: 2, last: "102" }],
  ["a number between two blocks", String(blockAt(3) - 1), { hour: 2, last: "102" }],
  ["the head", String(blockAt(4)), { hour: 4, last: "103" }],
  ["the time of a block", hours(3), { hour: 3, last: "103" }],
  ["a time between two blocks", hours(2.5), { hour: 2, last: "102" }],
  ["a time with an offset", "2026-01-01T03:00:00+02:00", { hour: 1, last: "101" }],
  ["a time with microseconds", "2026-01-01T01:59:59.999999Z", { hour: 1, last: "101" }],
  ["a hash", aHash("block 1"), { hour: 1, last: "101" }],
  ["a hash in capitals", aHash("block 1").toUpperCase(), { hour: 1, last: "101" }],
  ["nothing", "", { hour: 4, last: "103" }],
])("is of %s", async (_what, asOf, right) => {
  await writeHours();
  expect(await readAt(asOf, LAST)).toEqual([right]);
});

it.each([
  ["a number before the first block", String(blockAt(1) - 1)],
  ["a number after the head", String(blockAt(4) + 1)],
  ["the highest number", "2147483647"],
  ["block 0", "0"],
  ["a time before the first block", hours(0.5)],
  ["a time after the head", hours(4.5)],
  ["another hash", aHash("block 5")],
])("refuses %s, and says what there is", async (_what, asOf) => {
  await writeHours();
  await expect(readAt(asOf, LAST)).rejects.toMatchObject({
    code: "DX002",
    message: `no such block: ${asOf}`,
    detail:
      "there are the blocks from 3600, of 2026-01-01T01:00:00Z, to 14400, of 2026-01-01T04:00:00Z",
  });
});

it.each([
  "select pair from dex_market",
  "select count(*) from dex_market",
  "select count(*) from dex_private.as_of",
  "select count(*) from dex_candles('WETH', 'DAI', '1h')",
])("refuses a block that is not there where no figure is selected: %s", async (text) => {
  await writeHours();
  await expect(readAt(String(blockAt(4) + 1), text)).rejects.toMatchObject({ code: "DX002" });
});

it.each(["select pair from dex_market", "select count(*) from dex_market"])(
  "refuses figures that are not of the head where none is selected: %s",
  async (text) => {
    await writeHours();
    await database.owner.query("delete from dex_block where number = $1", [blockAt(4)]);
    await expect(client.query(text)).rejects.toMatchObject({ code: "DX001" });
  },
);

it("refuses a block that is not there, and figures that are not of the head, where there is no market", async () => {
  await writeHours();
  await database.owner.query("delete from dex_private.market_figure");
  for (const text of ["select pair from dex_market", "select last from dex_price"]) {
    await expect(readAt(String(blockAt(4) + 1), text)).rejects.toMatchObject({ code: "DX002" });
  }
  await database.owner.query("delete from dex_block where number = $1", [blockAt(4)]);
  await expect(client.query("select last from dex_price")).rejects.toMatchObject({ code: "DX001" });
});

it("refuses every block of a database without blocks", async () => {
  await expect(readAt("1", LAST)).rejects.toMatchObject({
    code: "DX002",
    detail: "no block was ever written",
  });
});

it("refuses what names no block, and says what is accepted, after 80 characters of it", async () => {
  const asOfs = [
    ...["head", "-1", "1.5", "yesterday", "2147483648", "07200", " 7200", "0x12", `${aHash("1")}0`],
    ...["2026-01-01", "2026-01-01T02:00:00", "2026-01-01T02:00Z", "2026-01-01 02:00:00Z"],
    ...[
      "2026-01-00T02:00:00Z",
      "2026-02-29T02:00:00Z",
      "2026-13-01T02:00:00Z",
      "0000-01-01T02:00:00Z",
    ],
    ...["2025-12-31T24:00:00Z", "2026-01-01T01:59:60Z", "2026-01-01T02:00:00+15:00"],
    ...["2026-01-01T02:00:00.0000001Z", "x".repeat(80)],
  ];
  await writeHours();
  for (const [asOf, shown] of [
    ...asOfs.map((one) => [one, one] as const),
    [`${"0".repeat(50_000)}1`, `${"0".repeat(80)}...`],
    ["é".repeat(81), `${"é".repeat(80)}...`],
  ] as const) {
    await expect(readAt(asOf, LAST)).rejects.toMatchObject({
      code: "22023",
      message:
        "dex.as_of_block must be the number of a block, from 0 to 2147483647 without a leading zero, its hash, " +
        `0x and 64 hexadecimal digits, or a time in ISO 8601 with seconds and an offset such as 2026-01-31T12:00:00Z, not ${shown}`,
    });
  }
});

// Before version 17, PostgreSQL begins no subtransaction in one.
it("handles no error in a function of a parallel query", async () => {
  const { rows } = await client.query(`
    select oid::regprocedure as name
    from pg_proc
    where proparallel = 's'
      and prosrc ~* '\\mexception\\s+when\\M'
      and pronamespace = any ('{public,dex_private,ingest}'::regnamespace[])`);
  expect(rows).toEqual([]);
});

it("finds the offers that were open after a block in few cells, of whatever blocks they were open in", async () => {
  const { rows } = await database.owner.query<{ ranges: number; nodes: number; missed: number }>(`
    with open_in as (
      select
        first.block as first,
        least(first.block + lasted.blocks - 1, 2147483646) as last
      from unnest('{0,1,2,3,7,8,1000,1023,1024,20000001,1073741823,2147483645}'::integer[]) as first (block)
      cross join unnest('{1,2,3,4,5,16,17,1000,1024,1025,1000000,1073741824}'::bigint[]) as lasted (blocks)
    )
    select
      count(*)::integer as ranges,
      max(found.nodes)::integer as nodes,
      count(*) filter (where not found.is_found)::integer as missed
    from open_in
    cross join lateral unnest(array[first, (first + last) / 2, last]::integer[]) as block
    cross join lateral (
      select
        count(*) as nodes,
        bool_or(node = dex_private.block_node(first, last::integer)) as is_found
      from dex_private.block_nodes(block) as node
    ) as found`);
  // Of 31 powers of two, at most the cell of the block and the one before.
  expect(rows).toEqual([{ ranges: 12 * 12 * 3, nodes: 61, missed: 0 }]);
});

it("has candles up to the block: cut within a minute or an hour, and without later hours of their interval", async () => {
  const hoursAndPrices = [
    [1, 101],
    [2, 102],
    [2.005, 90],
    [2.5, 95],
    [3, 103],
  ] as const;
  for (const [hour, price] of hoursAndPrices) {
    await writeBlock(hour, { trades: [aTrade({ hour, quote: String(price) })] });
  }
  const candlesAt = async (hour: number) =>
    (
      await readAt<{ candles: string }>(
        String(blockAt(hour)),
        `select string_agg(trim_scale(close) || ' of ' || trades, ', ' order by time) as candles
         from unnest('{1m,1h,4h}'::text[]) as asked (length)
         cross join lateral dex_candles('WETH', 'DAI', asked.length)
         group by asked.length
         order by asked.length desc`,
      )
    ).map(({ candles }) => candles);
  // Of 4 hours, of minutes, and of hours.
  expect(await candlesAt(2)).toEqual(["102 of 2", "101 of 1, 102 of 1", "101 of 1, 102 of 1"]);
  expect(await candlesAt(2.005)).toEqual(["90 of 3", "101 of 1, 90 of 2", "101 of 1, 90 of 2"]);
  expect(await candlesAt(2.5)).toEqual([
    "95 of 4",
    "101 of 1, 90 of 2, 95 of 1",
    "101 of 1, 95 of 3",
  ]);
});

it("has no block that was taken back", async () => {
  await writeHours();
  await database.writer.query("select ingest.take_back($1)", [blockAt(2)]);
  expect(await readAt(String(blockAt(2)), LAST)).toEqual([{ hour: 2, last: "102" }]);
  for (const asOf of [String(blockAt(3)), hours(3), aHash("block 3")]) {
    await expect(readAt(asOf, LAST)).rejects.toMatchObject({ code: "DX002" });
  }
});

it("has `active` as it was: a change holds from the block after the head at which it was made", async () => {
  await writeHours();
  const activeAt = async (hour: number) =>
    (
      await readAt<{ active: boolean }>(
        String(blockAt(hour)),
        "select active from dex_market where pair = 'WETH/DAI'",
      )
    )[0]?.active;
  await registerPair(database.writer, WETH, DAI, false);
  // Within one head, only the first change ends what was.
  await registerPair(database.writer, WETH, DAI, true);
  await registerPair(database.writer, WETH, DAI, false);
  await writeBlock(5, { trades: [aTrade({ hour: 5 })] });
  await registerPair(database.writer, WETH, DAI, true);
  await writeBlock(6, { trades: [aTrade({ hour: 6 })] });
  expect(await activeAt(1)).toBe(true);
  expect(await activeAt(4)).toBe(true);
  expect(await activeAt(5)).toBe(false);
  expect(await activeAt(6)).toBe(true);
  // What is written in their place is written after both changes.
  await database.writer.query("select ingest.take_back($1)", [blockAt(2)]);
  await writeBlock(3);
  expect(await activeAt(2)).toBe(true);
  expect(await activeAt(3)).toBe(true);
});

const DAY = `
  select
    trim_scale(market.low)::text as low,
    trim_scale(market.high)::text as high
  from dex_market as market
  where market.pair = 'WETH/DAI'`;

it("has the lowest and highest price of a day of which trades have left the window since the last one", async () => {
  for (const [hour, quote] of [
    [1, "100"],
    [2, "150"],
    [3, "120"],
  ] as const) {
    await writeBlock(hour, { trades: [aTrade({ hour, quote })] });
  }
  for (const hour of [25, 26, 27, 28]) {
    await writeBlock(hour, { trades: [aTrade({ hour, baseGem: MKR, quoteGem: WETH })] });
  }

  const found = [];
  for (const hour of [3, 25, 26, 27]) found.push(...(await readAt(String(blockAt(hour)), DAY)));
  expect(found).toEqual([
    { low: "100", high: "150" },
    // (1, 25] hours: the trade at 100 is out. (2, 26]: that at 150 too. (3, 27]: none is left.
    { low: "120", high: "150" },
    { low: "120", high: "120" },
    { low: null, high: null },
  ]);
});

it("values what was left of the offers that were open", async () => {
  await write(database.writer, {
    offers: [
      anOffer({ id: 1, hour: 1, base: "10", quote: "1000" }),
      anOffer({ id: 2, hour: 2, side: "buy", base: "1", quote: "50" }),
    ],
    trades: [aTrade({ offer_id: 1, hour: 2, base: "4", quote: "400" })],
    head: 3,
  });
  await database.writer.query("select ingest.write_block($1, $2, killed => '{1,2}')", [
    blockAt(4),
    hours(4),
  ]);
  const liquidityAt = async (hour: number) =>
    readAt(
      String(blockAt(hour)),
      "select trim_scale(liquidity_in_usd)::text as usd from dex_liquidity('{DAI}') where pair = 'WETH/DAI'",
    );
  expect(await liquidityAt(2)).toEqual([{ usd: "650" }]);
  expect(await liquidityAt(4)).toEqual([{ usd: "0" }]);
});

it("has an offer of block 0 that block 1 cancelled", async () => {
  const offers = [anOffer({ id: 1, hour: 0, base: "10", quote: "25" })];
  await write(database.writer, { offers });
  const bookAt0 = () =>
    readAt("0", "select trim_scale(price)::text as price from dex_book('WETH', 'DAI', 10)");
  expect(await bookAt0()).toEqual([{ price: "2.5" }]);
  await database.writer.query("select ingest.write_block(1, $1, killed => '{1}')", [hours(0)]);
  expect(await bookAt0()).toEqual([{ price: "2.5" }]);
  expect(await readAt("1", "select price from dex_book('WETH', 'DAI', 10)")).toEqual([]);
});

it("takes a moment that the transaction has found only for the block that it was found for", async () => {
  await writeHours();
  await client.query("begin");
  const set = (name: string, value: string): Promise<unknown> =>
    client.query("select set_config($1, $2, true)", [name, value]);
  await set("dex.as_of_block", String(blockAt(1)));
  const { rows } = await client.query<{ moment: string }>(
    "select dex_private.named_moment()::text as moment",
  );
  // A later moment under the name of the first block shows which of the two is read.
  const [found] = rows;
  const later = found?.moment.replace(String(blockAt(1)), String(blockAt(3)));
  await set("dex.as_of_moment", `${blockAt(1)} ${later}`);
  const head = async () => (await client.query("select block from dex_head")).rows;
  expect(await head()).toEqual([{ block: blockAt(3) }]);
  await set("dex.as_of_block", String(blockAt(2)));
  expect(await head()).toEqual([{ block: blockAt(2) }]);
  await set("dex.as_of_block", "");
  expect(await head()).toEqual([{ block: blockAt(4) }]);
  await client.query("rollback");
});

it("changes nothing for a writer", async () => {
  await writeHours();
  const writer = await database.writer.connect();
  await writer.query("begin");
  await writer.query("set local dex.as_of_block = '1'");
  await writeBlock(5, { trades: [aTrade({ hour: 5, quote: "105" })], db: writer });
  await writer.query("commit");
  writer.release();
  expect(await readAt("", LAST)).toEqual([{ hour: 5, last: "105" }]);
});

it("is named by the session alone: a setting of the database changes no figure of the service", async () => {
  await writeHours();
  const name = new URL(database.url).pathname.slice(1);
  await using owner = await openClient(database.url);
  const set = (setting: string, value: string): Promise<unknown> =>
    owner.query(`alter database ${name} ${value === "" ? "reset" : "set"} ${setting}${value}`);
  await set("dex.as_of_block", ` = '${blockAt(1)}'`);
  await set("standard_conforming_strings", " = off");
  try {
    await using reader = await openClient(database.url, { role: "dex_reader" });
    const { rows } = await reader.query("select block from dex_head");
    expect(rows).toEqual([{ block: blockAt(4) }]);
    await reader.query("select set_config('dex.as_of_block', $1, false)", [hours(2)]);
    expect((await reader.query("select block from dex_head")).rows).toEqual([
      { block: blockAt(2) },
    ]);
  } finally {
    await set("dex.as_of_block", "");
    await set("standard_conforming_strings", "");
  }
});
