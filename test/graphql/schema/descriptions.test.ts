// The service does what the schema's descriptions of nulls, orders and comparisons say.
import { anAddress, aTrade, registerMarkets, write } from "../../factories.ts";
import { dataOf } from "../../graphql.ts";
import { serveDatabase } from "../../served.ts";

const { app } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  // WETH/DAI has a price and MKR/WETH has none; the second trade is of no market and has no price.
  await write(writer, {
    trades: [
      aTrade({ hour: 1, block: 1 }),
      aTrade({ hour: 2, block: 2, baseGem: anAddress("unknown") }),
    ],
  });
});

const blocks = async (args: string): Promise<unknown[]> => {
  const { allDexTrades } = await dataOf(app, `{ allDexTrades(${args}) { nodes { block } } }`);
  return allDexTrades.nodes.map(({ block }) => block);
};

interface Prices {
  allDexPrices: { nodes: { last: string | null }[] };
}

const lasts = async (orderBy: string): Promise<(string | null)[]> => {
  const query = `{ allDexPrices(orderBy: ${orderBy}) { nodes { last } } }`;
  const { allDexPrices } = await dataOf<Prices>(app, query);
  return allDexPrices.nodes.map(({ last }) => last);
};

it("sorts nulls as each orderBy value documents", async () => {
  expect(await blocks("orderBy: MARKET_ASC")).toEqual([2, 1]);
  expect(await blocks("orderBy: MARKET_DESC")).toEqual([1, 2]);
  expect(await lasts("LAST_ASC")).toEqual(["100.000000000000000000", null]);
  expect(await lasts("LAST_DESC")).toEqual([null, "100.000000000000000000"]);
});

it("sorts NATURAL by the primary key", async () => {
  expect(await blocks("orderBy: NATURAL")).toEqual(await blocks("orderBy: PRIMARY_KEY_ASC"));
});

it("matches a null only with isNull: true and with null in a condition", async () => {
  expect(await blocks("filter: { price: { isNull: true } }")).toEqual([2]);
  expect(await blocks("condition: { price: null }")).toEqual([2]);
  for (const comparison of [
    ...['equalTo: "1"', 'notEqualTo: "1"', 'in: ["1"]', 'notIn: ["1"]', "isNull: false"],
    ...['lessThan: "1"', 'lessThanOrEqualTo: "1"', 'greaterThan: "1"', 'greaterThanOrEqualTo: "1"'],
  ]) {
    expect(await blocks(`filter: { price: { ${comparison} } }`)).not.toContain(2);
    if (comparison === "isNull: false") continue;
    expect(await blocks(`filter: { not: { price: { ${comparison} } } }`)).not.toContain(2);
  }
});

it("ignores case only with the insensitive operators", async () => {
  expect(await blocks('filter: { market: { equalTo: "wethdai" } }')).toEqual([]);
  expect(await blocks('filter: { market: { equalToInsensitive: "wethdai" } }')).toEqual([1]);
  expect(await blocks('filter: { market: { inInsensitive: ["x", "wethdai"] } }')).toEqual([1]);
});
