// The pageInfo of pages of trades, against the whole set: at random, by cursors of rows that are in the set and that are
// not, now and as of a past block.
import fc from "fast-check";
import {
  anyPage,
  expectedPage,
  PAGE_ARGUMENTS,
  PAGE_VARIABLES,
} from "../../../packages/indexed-orders/test/any-page.ts";
import {
  anAddress,
  aTrade,
  DAI,
  hours,
  MKR,
  registerMarkets,
  WETH,
  write,
} from "../../factories.ts";
import { dataOf } from "../../graphql.ts";
import { serveDatabase } from "../../served.ts";

const TRADES = 24;
/** As of it there are three quarters of the trades. */
const PAST = 5;

/** Three trades to a block, by three takers, of three offers or none; every fifth in no market. */
const trades = Array.from({ length: TRADES }, (_, i) => {
  const block = Math.floor(i / 3);
  return aTrade({
    id: i + 1,
    block,
    time: hours(Math.floor(block / 2)),
    idx: i % 3,
    offer_id: i % 4 === 3 ? null : (i % 4) + 1,
    taker: anAddress(`taker ${i % 3}`),
    side: i % 2 === 0 ? "sell" : "buy",
    baseGem: i % 5 === 4 ? anAddress("an unregistered token") : i % 5 === 3 ? MKR : WETH,
    quoteGem: i % 5 === 3 ? WETH : DAI,
  });
});

const { app } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, { trades });
});

interface Row {
  id: string;
  market: string | null;
  act: string | null;
  taker: string;
  block: number;
  idx: number;
}

interface List {
  nodes: Row[];
  edges: { cursor: string }[];
  pageInfo: { hasPreviousPage: boolean; hasNextPage: boolean };
}

const ROW = "id market act taker block idx";
const FLAGS = "pageInfo { hasPreviousPage hasNextPage }";

/** Served by an index and not. */
const SETS: [string, (row: Row) => boolean][] = [
  ["", () => true],
  ['filter: { market: { equalTo: "NONE" } }', () => false],
  ['condition: { market: "WETHDAI" }', ({ market }) => market === "WETHDAI"],
  ["condition: { market: null }", ({ market }) => market === null],
  ['filter: { id: { greaterThan: "1" } }', ({ id }) => Number(id) > 1],
  [`filter: { id: { lessThan: "${TRADES}" } }`, ({ id }) => Number(id) < TRADES],
  ['filter: { id: { equalTo: "9" } }', ({ id }) => id === "9"],
  ["filter: { idx: { equalTo: 1 } }", ({ idx }) => idx === 1],
  [
    'filter: { act: { equalTo: "sell" }, block: { lessThan: 4 } }',
    ({ act, block }) => act === "sell" && block < 4,
  ],
  [
    `filter: { taker: { notEqualTo: "${anAddress("taker 1")}" } }`,
    ({ taker }) => taker !== anAddress("taker 1"),
  ],
];

const ORDERS = [
  "ID_ASC",
  "BLOCK_DESC",
  "[TIME_ASC, IDX_ASC]",
  "MARKET_DESC",
  "[TAKER_ASC, TIME_ASC]",
  "OFFER_ID_ASC",
  "null",
];

it.each(
  ORDERS.flatMap((orderBy) =>
    ["", `@asOf(block: ${PAST})`].map((directive) => [orderBy, directive]),
  ),
)("is right in the order %s %s, for cursors of any rows", async (orderBy, directive) => {
  const { whole } = await dataOf<Record<"whole", List>>(
    app,
    `query ${directive} { whole: allDexTrades(orderBy: ${orderBy}) { nodes { ${ROW} } edges { cursor } } }`,
  );
  const { nodes: all, edges } = whole;
  expect(all).toHaveLength(directive === "" ? TRADES : 3 * (PAST + 1));
  const cursorOf = (at: number | null) => (at === null ? null : edges[at]!.cursor);
  await fc.assert(
    fc.asyncProperty(anyPage(SETS.length, all.length), async (one) => {
      const [chosen, isIn] = SETS[one.set]!;
      const set = `${chosen}, orderBy: ${orderBy}`;
      const { page } = await dataOf<Record<"page", List>>(
        app,
        `${PAGE_VARIABLES} ${directive} { page: allDexTrades(${set}, ${PAGE_ARGUMENTS}) { nodes { id } ${FLAGS} } }`,
        { ...one, set: undefined, after: cursorOf(one.after), before: cursorOf(one.before) },
      );
      const ids = page.nodes.map(({ id }) => id);
      expect({ ids, ...page.pageInfo }).toEqual(expectedPage(all, (at) => isIn(all[at]!), one));
    }),
    { numRuns: 100 },
  );
});
