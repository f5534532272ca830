// A page read in one step equals the page that PostGraphile reads value by value, for every selection.
import fc from "fast-check";
import { makeTestApp, type TestApp } from "../../../app.ts";
import { makeDatabase, type TestDatabase } from "../../../database.ts";
import { anOffer, aTrade, MKR, registerMarkets, WETH, write } from "../../../factories.ts";
import { ask } from "../../../graphql.ts";

let database: TestDatabase;
let app: TestApp;

beforeAll(async () => {
  database = await makeDatabase();
  app = await makeTestApp(database.reader, { cache: "off" });
  await registerMarkets(database.writer);
  await write(database.writer, {
    offers: [anOffer({ id: 1, baseGem: MKR, quoteGem: WETH }), anOffer({ id: 3 })],
    trades: Array.from({ length: 6 }, (_, n) =>
      aTrade({
        hour: n,
        side: n % 2 === 0 ? "sell" : "buy",
        offer_id: [1, 2, 3, 4, 3, 5][n]!,
        quote: `${n}.000000000000000001`,
        // The other trades are of no market: their market, act and price are null.
        ...(n % 3 === 0 ? { baseGem: MKR, quoteGem: WETH } : {}),
        ...(n === 5 ? { lot_gem: `0x${"ab".repeat(20)}` } : {}),
      }),
    ),
  });
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

/** PostGraphile reads a repeated field value by value: it is not rewritten. */
const byValue = (selection: string): string => `nodes { ${selection} } nodes { ${selection} }`;

async function expectSame(list: string, selection: string, beside = ""): Promise<void> {
  const whole = await ask(app, `{ ${list} { nodes { ${selection} } ${beside} } }`);
  const valueByValue = await ask(app, `{ ${list} { ${byValue(selection)} ${beside} } }`);
  expect(whole.errors).toBeUndefined();
  // As text: the order of the fields matters too.
  expect(JSON.stringify(whole)).toBe(JSON.stringify(valueByValue));
  expect(whole.status).toBe(200);
}

const TRADE =
  `id offerId market act pair maker taker lotGem lotTkn lotAmt bidGem bidTkn bidAmt price
  block time tx idx`.split(/\s+/);
const OFFER = `id block killed market act pair maker lotGem lotTkn lotAmt bidGem bidTkn bidAmt price
  time tx filled`.split(/\s+/);

it("returns every column of every list unchanged", async () => {
  await expectSame("allDexTrades", TRADE.join(" "));
  await expectSame("allDexOffers", OFFER.join(" "));
  await expectSame("allDexTokens", "address symbol name decimals");
  await expectSame("allDexPairs", "base quote basePrecision quotePrecision active");
  await expectSame("allDexMarkets", "pair base quote price last vol ask bid low high active");
  await expectSame("allDexPrices", "pair vwap24h vwap12h vwap6h vwap1h last");
  await expectSame("allDexVolumes", "pair base quote vol");
});

it("returns any columns in any order, under any alias, of any page", async () => {
  const column = fc.record({
    field: fc.constantFrom(...TRADE),
    alias: fc.option(fc.stringMatching(/^[a-z][A-Za-z_0-9]{0,6}$/), { nil: undefined }),
  });
  const columns = fc.uniqueArray(column, {
    minLength: 1,
    maxLength: 20,
    selector: ({ field, alias }) => alias ?? field,
  });
  const page = fc.constantFrom(
    "",
    "(first: 2)",
    "(first: 0)",
    "(last: 2)",
    "(first: 3, offset: 2)",
    "(orderBy: BLOCK_DESC)",
    "(orderBy: [MARKET_DESC, BLOCK_DESC], first: 4)",
    '(condition: { market: "WETHDAI" })',
    '(condition: { market: "none" })',
  );
  const beside = fc.constantFrom("", "totalCount", "pageInfo { endCursor hasNextPage }");
  await fc.assert(
    fc.asyncProperty(page, columns, beside, (args, selected, others) =>
      expectSame(
        `allDexTrades${args}`,
        selected.map(({ field, alias }) => (alias ? `${alias}: ${field}` : field)).join(" "),
        others,
      ),
    ),
    { numRuns: 30 },
  );
});

it.each([
  ["__typename", "id __typename"],
  ["a relation", "id offer { id filled }"],
  ["nested lists", "id offer { id trades(first: 2) { totalCount nodes { id price } } }"],
  ["an inline fragment", "id ... on DexTrade { market ... { price } }"],
  ["the same column twice", "id price id"],
  ["a directive", "id price @skip(if: true) market @include(if: true)"],
  ["aliases that Object.prototype has", "constructor: id toString: price hasOwnProperty: market"],
  ["the alias __proto__", "__proto__: id price"],
])("returns %s", async (_name, selection) => {
  await expectSame("allDexTrades(first: 4)", selection);
});

it("returns columns selected by fragments and variables", async () => {
  const query = (nodes: string): string => `
    query ($market: String!, $withPrice: Boolean!) {
      allDexTrades(condition: { market: $market }) { ${nodes} }
    }
    fragment amounts on DexTrade { lotAmt bidAmt ...price }
    fragment price on DexTrade { price id @include(if: $withPrice) }`;
  for (const withPrice of [true, false]) {
    const variables = { market: "WETHDAI", withPrice };
    const whole = await ask(app, query("nodes { market ...amounts }"), variables);
    const valueByValue = await ask(app, query(byValue("market ...amounts")), variables);
    expect(whole).toEqual(valueByValue);
    expect(whole.data?.allDexTrades.nodes.length).toBeGreaterThan(0);
  }
});

it("merges a field selected in several places", async () => {
  const { data } = await ask(
    app,
    `{ allDexTrades(first: 1) { nodes { id } ...more }
       allDexTrades(first: 1) { nodes { idx } } }
     fragment more on DexTradesConnection { nodes { block } }`,
  );
  expect(data?.allDexTrades.nodes.map((node) => Object.keys(node))).toEqual([
    ["id", "block", "idx"],
  ]);
});

it("returns several lists, each under its own alias", async () => {
  const { data } = await ask<Record<string, { nodes: object[] }>>(
    app,
    `{ one: allDexTrades(first: 1, orderBy: ID_ASC) { nodes { id } }
       two: allDexTrades(first: 1, orderBy: ID_DESC) { them: nodes { number: id } }
       offers: allDexOffers(first: 1, orderBy: ID_ASC) { nodes { id } } }`,
  );
  expect(data).toEqual({
    one: { nodes: [{ id: "1" }] },
    two: { them: [{ number: "6" }] },
    offers: { nodes: [{ id: 1 }] },
  });
});

it("hides the internal field from clients", async () => {
  const { data } = await ask<{ __type: { fields: { name: string }[] } }>(
    app,
    '{ __type(name: "DexTradesConnection") { fields { name } } }',
  );
  expect(data?.__type.fields.map(({ name }) => name).sort()).toEqual([
    "edges",
    "nodes",
    "pageInfo",
    "totalCount",
  ]);
  const { errors } = await ask(app, '{ allDexTrades { rows(of: "id:id") } }');
  expect(errors?.[0]?.message).toContain('Cannot query field "rows"');
});

it("names the client's field in errors", async () => {
  const bad = (nodes: string): string =>
    `{ allDexTrades(filter: { price: { lessThan: "1" } }, first: -1) { ${nodes} } }`;
  const whole = await ask(app, bad("nodes { id }"));
  const valueByValue = await ask(app, bad(byValue("id")));
  expect(whole.errors?.[0]?.message).toContain('"first"');
  expect(whole).toEqual(valueByValue);
});
