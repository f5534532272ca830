// A filter by an unordered pair of tokens returns the rows that the same SQL condition selects.
import { makeDatabase } from "../../database.ts";
import { makeTestApp } from "../../app.ts";
import { anAddress, aTrade, DAI, MKR, registerMarkets, WETH, write } from "../../factories.ts";
import { dataOf } from "../../graphql.ts";
import { serveDatabase } from "../../served.ts";

const SHRIMP = anAddress("a token of no market");

const { app, database } = serveDatabase(
  async (writer) => {
    await registerMarkets(writer);
    // Every pair of four tokens in both orders, four times.
    const tokens = [WETH, DAI, MKR, SHRIMP];
    const pairs = tokens.flatMap((base) =>
      tokens.filter((token) => token !== base).map((quote) => [base, quote] as const),
    );
    await write(writer, {
      trades: Array.from({ length: 48 }, (_, n) => {
        const [baseGem, quoteGem] = pairs[n % pairs.length]!;
        return aTrade({ hour: n % 5, side: "sell", baseGem, quoteGem, base: "1", quote: "1" });
      }),
    });
  },
  { cache: "off" },
);

const way = (lot: string, bid: string): string =>
  `{ lotGem: { equalTo: "${lot}" }, bidGem: { equalTo: "${bid}" } }`;
const inSql = (lot: string, bid: string): string => `(lot_gem = '${lot}' and bid_gem = '${bid}')`;
const either = (a: string, b: string): string => `or: [${way(a, b)}, ${way(b, a)}]`;
const eitherInSql = (a: string, b: string): string => `(${inSql(a, b)} or ${inSql(b, a)})`;

it.each([
  ["of a market", either(WETH, DAI), eitherInSql(WETH, DAI)],
  ["of a market, in the other order", either(DAI, WETH), eitherInSql(WETH, DAI)],
  ["of no market", either(SHRIMP, MKR), eitherInSql(SHRIMP, MKR)],
  ["of one token with itself", either(MKR, MKR), eitherInSql(MKR, MKR)],
  [
    "with bidGem before lotGem",
    `or: [
      { bidGem: { equalTo: "${DAI}" }, lotGem: { equalTo: "${WETH}" } }
      { bidGem: { equalTo: "${WETH}" }, lotGem: { equalTo: "${DAI}" } }
    ]`,
    eitherInSql(WETH, DAI),
  ],
  ["negated", `not: { ${either(WETH, DAI)} }`, `not ${eitherInSql(WETH, DAI)}`],
  [
    "of either of two pairs",
    `or: [{ ${either(WETH, DAI)} }, { ${either(MKR, SHRIMP)} }]`,
    `${eitherInSql(WETH, DAI)} or ${eitherInSql(MKR, SHRIMP)}`,
  ],
  [
    "of two pairs together",
    `and: [{ ${either(WETH, DAI)} }, { ${either(MKR, SHRIMP)} }]`,
    `${eitherInSql(WETH, DAI)} and ${eitherInSql(MKR, SHRIMP)}`,
  ],
  [
    "with other conditions",
    `${either(WETH, DAI)}, bidTkn: { equalTo: "DAI" }, id: { lessThan: "40" }`,
    `${eitherInSql(WETH, DAI)} and bid_tkn = 'DAI' and id < 40`,
  ],
])("returns the trades between two tokens: %s", async (_name, filter, where) => {
  await expectRows(filter, where);
});

it.each([
  ["one order twice", `or: [${way(WETH, DAI)}, ${way(WETH, DAI)}]`, inSql(WETH, DAI)],
  ["one order", `or: [${way(WETH, DAI)}]`, inSql(WETH, DAI)],
  [
    "one order of two pairs",
    `or: [${way(WETH, DAI)}, ${way(DAI, MKR)}]`,
    `${inSql(WETH, DAI)} or ${inSql(DAI, MKR)}`,
  ],
  [
    "three branches",
    `or: [${way(WETH, DAI)}, ${way(DAI, WETH)}, ${way(MKR, DAI)}]`,
    `${eitherInSql(WETH, DAI)} or ${inSql(MKR, DAI)}`,
  ],
  [
    "one column in each branch",
    `or: [{ lotGem: { equalTo: "${WETH}" } }, { bidGem: { equalTo: "${WETH}" } }]`,
    `lot_gem = '${WETH}' or bid_gem = '${WETH}'`,
  ],
  [
    "another condition in one branch",
    `or: [
      { lotGem: { equalTo: "${WETH}" }, bidGem: { equalTo: "${DAI}" }, id: { lessThan: "9" } }
      ${way(DAI, WETH)}
    ]`,
    `${inSql(WETH, DAI)} and id < 9 or ${inSql(DAI, WETH)}`,
  ],
  [
    "another operator on one column",
    `or: [
      { lotGem: { equalTo: "${WETH}", notEqualTo: "${WETH}" }, bidGem: { equalTo: "${DAI}" } }
      ${way(DAI, WETH)}
    ]`,
    inSql(DAI, WETH),
  ],
  [
    "operators other than equalTo",
    `or: [
      { lotGem: { equalToInsensitive: "${WETH}" }, bidGem: { equalTo: "${DAI}" } }
      { lotGem: { equalToInsensitive: "${DAI}" }, bidGem: { equalTo: "${WETH}" } }
    ]`,
    eitherInSql(WETH, DAI),
  ],
])("applies any other or unchanged: %s", async (_name, filter, where) => {
  await expectRows(filter, where);
});

it("accepts the pair in variables", async () => {
  const { allDexTrades } = await dataOf(
    app,
    "query ($filter: DexTradeFilter!) { allDexTrades(filter: $filter) { totalCount } }",
    {
      filter: {
        or: [
          { lotGem: { equalTo: WETH }, bidGem: { equalTo: DAI } },
          { lotGem: { equalTo: DAI }, bidGem: { equalTo: WETH } },
        ],
      },
    },
  );
  // Two of the 16 combinations of lot and bid, each with 64 / 16 trades.
  expect(allDexTrades.totalCount).toBe(8);
});

async function expectRows(filter: string, where: string): Promise<void> {
  const { allDexTrades } = await dataOf(
    app,
    `{ allDexTrades(orderBy: ID_ASC, filter: { ${filter} }) { totalCount nodes { id } } }`,
  );
  const { rows } = await database.owner.query<{ id: string }>(
    `select id::text from dex_trade where ${where} order by dex_trade.id`,
  );
  expect(allDexTrades.nodes).toEqual(rows);
  expect(allDexTrades.totalCount).toBe(rows.length);
}

it.each([
  "dex_private.no_function(lot_gem, bid_gem)",
  "dex_private.either_way_key(lot_gem, no_column)",
  "dex_private.either_way_key(lot_gem, market)",
  "dex_private.either_way_key(lot_gem, lot_amt)",
  "lot_gem, bid_gem",
])("logs and ignores an invalid tag: %s", async (tag) => {
  await using other = await makeDatabase();
  await other.owner.query(`comment on table dex_trade is '@eitherWay ${tag}'`);
  await using untagged = await makeTestApp(other.reader, { cache: "off" });
  const { allDexTrades } = await dataOf(
    untagged,
    `{ allDexTrades(filter: { ${either(WETH, DAI)} }) { nodes { id } } }`,
  );
  expect(allDexTrades.nodes).toEqual([]);
  expect(String(untagged.logged[0])).toBe(
    `Error: @eitherWay of dex_trade is ignored: it needs schema.function(column, column) with two text columns that are not null, not "${tag}".`,
  );
});
