// Implied conditions do not change the result: each filter returns the rows of the same SQL condition.
import {
  anAddress,
  anOffer,
  aTrade,
  DAI,
  hours,
  MKR,
  registerMarkets,
  setHead,
  WETH,
  write,
} from "../../factories.ts";
import { dataOf, type TradesPage } from "../../graphql.ts";
import { serveDatabase } from "../../served.ts";

const SHRIMP = anAddress("a token of no market");
/** Blocks two hours apart, except two with the same time; the block at hour 6 has no rows. */
const BLOCKS = [
  { block: 0, time: hours(0) },
  { block: 7200, time: hours(2) },
  { block: 14_400, time: "2026-01-01T04:00:00.123456Z" },
  { block: 14_401, time: "2026-01-01T04:00:00.123456Z" },
  { block: 28_800, time: hours(8) },
  { block: 36_000, time: hours(10) },
];

const { app, database } = serveDatabase(
  async (writer) => {
    await registerMarkets(writer);
    const rows = BLOCKS.slice(0, 4).map((at, n) => ({ at, n }));
    const later = BLOCKS.slice(4).map((at, n) => ({ at, n: n + 4 }));
    const of = (blocks: typeof rows) => ({
      offers: blocks.map(({ at, n }) =>
        anOffer({ ...at, id: 100 - n, baseGem: [WETH, MKR, SHRIMP][n % 3]!, quoteGem: DAI }),
      ),
      trades: blocks.flatMap(({ at, n }) =>
        [0, 1, 2, 3].map((idx) =>
          aTrade({
            ...at,
            idx,
            side: idx % 2 === 0 ? "sell" : "buy",
            baseGem: [WETH, MKR, SHRIMP][(n + idx) % 3]!,
            quoteGem: (n + idx) % 3 === 1 ? WETH : DAI,
          }),
        ),
      ),
    });
    await write(writer, of(rows));
    await setHead(writer, 6);
    await write(writer, of(later));
  },
  { cache: "off" },
);

const OPERATORS = {
  equalTo: "=",
  lessThan: "<",
  lessThanOrEqualTo: "<=",
  greaterThan: ">",
  greaterThanOrEqualTo: ">=",
  notEqualTo: "<>",
};
const MOMENTS = [
  ...BLOCKS.map(({ time }) => time),
  ...[hours(-1), hours(5), hours(6), hours(11), "2026-01-01T04:00:00.123455Z"],
  ...["2026-01-01T04:00:00.123457Z", "0001-01-01", "9999-12-31T23:59:59.999999-15:00"],
];
const HEIGHTS = [...BLOCKS.map(({ block }) => block), -(2 ** 31), -1, 1, 21_600, 2 ** 31 - 1];

const comparisons: [filter: string, where: string][] = Object.entries(OPERATORS).flatMap(
  ([name, operator]): [string, string][] => [
    ...MOMENTS.map((moment): [string, string] => [
      `time: { ${name}: "${moment}" }`,
      `time ${operator} '${moment}'`,
    ]),
    ...HEIGHTS.map((height): [string, string] => [
      `block: { ${name}: ${height} }`,
      `block ${operator} ${height}`,
    ]),
  ],
);
const lists: [filter: string, where: string][] = [
  ["block: { in: [] }", "false"],
  ["block: { in: [7200, 0, 36000] }", "block in (7200, 0, 36000)"],
  ["block: { in: [2147483647, 14400] }", "block in (2147483647, 14400)"],
  ["block: { notIn: [7200] }", "block not in (7200)"],
  [`time: { in: ["${hours(8)}", "${hours(2)}"] }`, `time in ('${hours(8)}', '${hours(2)}')`],
  ["time: { in: [] }", "false"],
  ["time: { isNull: true }", "false"],
];
const MARKETS: [filter: string, where: string][] = [
  ['market: { equalTo: "WETHDAI" }', "market = 'WETHDAI'"],
  ['market: { equalTo: "" }', "market = ''"],
  ['market: { in: ["WETHDAI", "MKRWETH"] }', "market in ('WETHDAI', 'MKRWETH')"],
  ['market: { in: [""] }', "market in ('')"],
  ['market: { notEqualTo: "WETHDAI" }', "market <> 'WETHDAI'"],
  ["market: { isNull: true }", "market is null"],
  ["market: { isNull: false }", "market is not null"],
  [
    `lotGem: { equalTo: "${WETH}" }, bidGem: { equalTo: "${DAI}" }`,
    `lot_gem = '${WETH}' and bid_gem = '${DAI}'`,
  ],
  [
    `and: [{ bidGem: { equalTo: "${SHRIMP}" } }, { lotGem: { equalTo: "${DAI}" } }]`,
    `lot_gem = '${DAI}' and bid_gem = '${SHRIMP}'`,
  ],
  [
    `or: [{ lotGem: { equalTo: "${WETH}" } }, { bidGem: { equalTo: "${DAI}" } }]`,
    `lot_gem = '${WETH}' or bid_gem = '${DAI}'`,
  ],
];
const FILTERS = [...comparisons, ...lists, ...MARKETS];

interface Lists {
  allDexTrades: TradesPage;
  allDexOffers: TradesPage;
}

async function expectRows(args: string, where: string): Promise<void> {
  const answer = await dataOf<Lists>(
    app,
    `{
      allDexTrades(orderBy: ID_ASC, ${args}) { nodes { id } }
      allDexOffers(orderBy: ID_ASC, ${args}) { nodes { id } }
    }`,
  );
  const idsOf = async (table: string): Promise<string[]> => {
    const { rows } = await database.owner.query<{ id: string }>(
      `select id::text from ${table} where ${where} order by ${table}.id`,
    );
    return rows.map(({ id }) => id);
  };
  expect(answer.allDexTrades.nodes.map(({ id }) => String(id))).toEqual(await idsOf("dex_trade"));
  expect(answer.allDexOffers.nodes.map(({ id }) => String(id))).toEqual(await idsOf("dex_offer"));
}

it.each(FILTERS)("filter { %s } returns the rows of the same SQL", async (filter, where) => {
  await expectRows(`filter: { ${filter} }`, where);
  await expectRows(`filter: { not: { ${filter} } }`, `not (${where})`);
  await expectRows(
    `filter: { or: [{ ${filter} }, { market: { equalTo: "MKRWETH" } }] }`,
    `(${where}) or market = 'MKRWETH'`,
  );
  await expectRows(
    `filter: { not: { or: [{ ${filter} }, { not: { market: { equalTo: "MKRWETH" } } }] } }`,
    `not ((${where}) or not market = 'MKRWETH')`,
  );
});

it.each([
  ['market: "WETHDAI"', "market = 'WETHDAI'"],
  ['market: ""', "market = ''"],
  ["market: null", "market is null"],
  [`lotGem: "${WETH}", bidGem: "${DAI}"`, `lot_gem = '${WETH}' and bid_gem = '${DAI}'`],
  ["block: 14401", "block = 14401"],
  ["block: 2147483647", "false"],
  ['time: "2026-01-01T06:00:00.123456+02:00"', "time = '2026-01-01T04:00:00.123456Z'"],
])("condition { %s } returns the rows of the same SQL", async (condition, where) => {
  await expectRows(`condition: { ${condition} }`, where);
});

it("returns the rows between a time and a block, for every combination of bounds", async () => {
  for (const from of BLOCKS) {
    for (const before of BLOCKS) {
      await expectRows(
        `filter: { time: { greaterThan: "${from.time}" }, block: { lessThanOrEqualTo: ${before.block} } }`,
        `time > '${from.time}' and block <= ${before.block}`,
      );
    }
  }
});
