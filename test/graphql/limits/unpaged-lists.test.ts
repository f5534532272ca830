// Lists that are asked for without first and last: they come whole, or are an error that says how to
// page; never cut.
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { makeTestApp } from "../../app.ts";
import { anOffer, aTrade, registerMarkets, write } from "../../factories.ts";
import { ask, dataOf, type TradesPage } from "../../graphql.ts";
import { serveRecorded, useDatabase } from "../../served.ts";

/** Lists of up to 20 rows come whole. */
const BOUND = 20;

const { app, database, statements } = serveRecorded(
  async (writer) => {
    await registerMarkets(writer);
    // Offer 1 has 20 trades, offer 2 has 21, and offer 3 none.
    await write(writer, {
      offers: [1, 2, 3].map((id) => anOffer({ id })),
      trades: Array.from({ length: 41 }, (_, n) =>
        aTrade({ offer_id: n < 20 ? 1 : 2, tx: `0x${"0".repeat(64)}`, idx: n }),
      ),
    });
  },
  {
    cache: "off",
    limits: { ...GRAPHQL_LIMITS, rows: BOUND, page: 100 },
  },
);

const MESSAGE = (name: string, bound = BOUND): string =>
  `"${name}" has more than ${bound} rows, which is the most that a list without "first" and "last" may have: ask for pages by "first", up to 100, and page on with "after": endCursor.`;

const OF_OFFER = (id: number): string => `condition: { offerId: ${id} }`;

it.each([
  ["nodes", "nodes { id }"],
  ["edges", "edges { cursor node { id } }"],
  ["nodes and whether there are more", "nodes { id } pageInfo { hasNextPage hasPreviousPage }"],
  ["nodes and their number", "totalCount nodes { id }"],
])("a list that fits comes whole, asked for by its %s", async (_what, selection) => {
  const { allDexTrades } = await dataOf(app, `{ allDexTrades(${OF_OFFER(1)}) { ${selection} } }`);

  const { nodes, edges } = allDexTrades as Partial<TradesPage>;
  expect(nodes ?? edges).toHaveLength(BOUND);
  if ("pageInfo" in allDexTrades) {
    expect(allDexTrades.pageInfo).toEqual({ hasNextPage: false, hasPreviousPage: false });
  }
});

it.each([
  ["nodes", `(${OF_OFFER(2)}) { nodes { id } }`, {}],
  ["edges", `(${OF_OFFER(2)}) { edges { cursor } }`, {}],
  ["its pageInfo", `(${OF_OFFER(2)}) { pageInfo { hasNextPage } }`, {}],
  ["endCursor", `(${OF_OFFER(2)}) { pageInfo { endCursor } }`, {}],
  ["nodes in another order", `(${OF_OFFER(2)}, orderBy: BLOCK_DESC) { nodes { id } }`, {}],
  ["a first that is null", `(${OF_OFFER(2)}, first: null) { nodes { id } }`, {}],
  ["a variable that is null", `(${OF_OFFER(2)}, first: $n) { nodes { id } }`, { n: null }],
  ["a variable that is not given", `(${OF_OFFER(2)}, last: $n) { nodes { id } }`, {}],
  ["offset alone", "(offset: 20) { nodes { id } }", {}],
])("a list that is longer is an error, asked for by %s", async (_what, list, variables) => {
  const { data, errors } = await ask(
    app,
    `query ($n: Int) { unused: allDexTrades(first: $n, last: $n) { __typename } allDexTrades${list} }`,
    variables,
  );

  expect(data).toMatchObject({ allDexTrades: null });
  expect(errors).toEqual([
    expect.objectContaining({
      message: MESSAGE("allDexTrades"),
      path: ["allDexTrades"],
      extensions: { code: "LIST_TOO_LONG" },
    }),
  ]);
});

it("a list that is longer is read no further than one row behind the bound", async () => {
  await ask(app, "{ allDexTrades { nodes { id } } }");

  expect(statements.map(({ rows }) => rows)).toEqual([BOUND + 1]);
});

it("a page may be asked for its cursors alone", async () => {
  for (const page of ["", ", first: 20", ", last: 20"]) {
    const { allDexTrades } = await dataOf(
      app,
      `{ allDexTrades(${OF_OFFER(1)}${page}) { pageInfo { startCursor endCursor } } }`,
    );
    expect(allDexTrades.pageInfo).toEqual({
      startCursor: expect.any(String),
      endCursor: expect.any(String),
    });
  }
});

it("a cursor alone bounds nothing", async () => {
  const { allDexTrades } = await dataOf(
    app,
    "{ allDexTrades(first: 20) { pageInfo { endCursor } } }",
  );
  const after = `after: "${allDexTrades.pageInfo.endCursor}"`;

  expect((await ask(app, `{ allDexTrades(${after}) { nodes { id } } }`)).errors).toEqual([
    expect.objectContaining({ message: MESSAGE("allDexTrades") }),
  ]);
  const before = `before: "${allDexTrades.pageInfo.endCursor}"`;
  const page = await dataOf(
    app,
    `{ allDexTrades(${before}) { nodes { id } pageInfo { hasNextPage hasPreviousPage } } }`,
  );
  expect(page.allDexTrades.nodes).toHaveLength(19);
  expect(page.allDexTrades.pageInfo).toEqual({ hasNextPage: true, hasPreviousPage: false });
});

it("a page by first or last may be longer than a list without them", async () => {
  for (const page of ["first: 41", "last: 41"]) {
    const { allDexTrades } = await dataOf(app, `{ allDexTrades(${page}) { nodes { id } } }`);
    expect(allDexTrades.nodes).toHaveLength(41);
  }
});

it("a count of a longer list is no error", async () => {
  const { allDexTrades } = await dataOf(app, "{ allDexTrades { totalCount } }");
  expect(allDexTrades.totalCount).toBe(41);
});

it("a count reads no rows, with a page or without", async () => {
  for (const page of ["", "(first: 5)"]) {
    statements.length = 0;
    await ask(app, `{ allDexTrades${page} { totalCount } }`);
    expect(statements.map(({ text }) => text.includes("count(*)"))).toEqual([true]);
  }
});

interface Offers {
  allDexOffers: { nodes: ({ id: number; trades: { nodes: unknown[] } } | null)[] };
}

describe("a list within a list", () => {
  it("comes whole where it fits, and is an error of its row where it does not", async () => {
    const { data, errors } = await ask<Offers>(
      app,
      "{ allDexOffers(first: 3) { nodes { id trades { nodes { id } } } } }",
    );

    expect(data?.allDexOffers.nodes.map((offer) => offer?.trades.nodes.length)).toEqual([
      BOUND,
      undefined,
      0,
    ]);
    expect(errors).toEqual([
      expect.objectContaining({
        message: MESSAGE("trades"),
        path: ["allDexOffers", "nodes", 1, "trades"],
        extensions: { code: "LIST_TOO_LONG" },
      }),
    ]);
  });

  it("is read no further than one row behind the bound", async () => {
    await ask(app, "{ allDexOffers(first: 3) { nodes { trades { nodes { id } } } } }");

    expect(statements).toHaveLength(1);
    expect(statements[0]!.text).toMatch(new RegExp(`limit ${BOUND + 1}\\b`));
  });

  it("comes whole where everything around it comes whole too", async () => {
    const data = await dataOf<Offers>(
      app,
      "{ allDexOffers(condition: { id: 1 }) { nodes { id trades { nodes { id } } } } }",
    );
    expect(data.allDexOffers.nodes.map((offer) => offer?.trades.nodes.length)).toEqual([BOUND]);
  });

  it("may be of one record alone", async () => {
    const fits = await dataOf<{ dexOffer: { trades: { nodes: unknown[] } } }>(
      app,
      "{ dexOffer(id: 1) { trades { nodes { id } } } }",
    );
    expect(fits.dexOffer.trades.nodes).toHaveLength(BOUND);
    const { errors } = await ask(app, "{ dexOffer(id: 2) { trades { nodes { id } } } }");
    expect(errors).toEqual([expect.objectContaining({ message: MESSAGE("trades") })]);
  });
});

it("the bound is as much as the cost of the query leaves", async () => {
  // A list and what it nests: 4 rows of each fit in a cost of 20, as 4 + 4 × 4.
  await using dear = await makeTestApp(database.reader, {
    cache: "off",
    limits: { ...GRAPHQL_LIMITS, rows: BOUND, page: 100, cost: 20 },
  });

  const { errors } = await ask(dear, "{ allDexOffers { nodes { id trades { nodes { id } } } } }");
  const alone = await ask(dear, `{ allDexTrades(${OF_OFFER(1)}) { nodes { id } } }`);

  expect(errors?.map(({ message, path }) => [path?.[2], message])).toEqual(
    [0, 1].map((row) => [
      row,
      '"trades" has more than 4 rows, which is the most that a list without "first" and "last" may have (20 where the query asks for one list alone, and little of each row): ask for pages by "first", up to 100, and page on with "after": endCursor.',
    ]),
  );
  expect(alone.errors).toBeUndefined();
});

describe("without a setting", () => {
  const long = useDatabase(async (writer) => {
    await registerMarkets(writer);
    await write(writer, {
      offers: [anOffer({ id: 3 })],
      trades: Array.from({ length: 10_001 }, (_, n) =>
        aTrade({ hour: 2, offer_id: n < 10_000 ? 3 : 4, tx: `0x${"1".repeat(64)}`, idx: n }),
      ),
    });
  });

  it("it is ten thousand, with the record that each row refers to", async () => {
    await using standard = await makeTestApp(long.reader, { cache: "off" });
    const ofOffer3 = (extra: string): string =>
      `{ allDexTrades(filter: { offerId: { equalTo: 3 } ${extra} }) { nodes { id offer { id } } } }`;

    const whole = await ask(standard, ofOffer3(""));
    const { errors } = await ask(standard, "{ allDexTrades { nodes { id } } }");

    expect(whole.errors).toBeUndefined();
    expect(whole.data?.allDexTrades.nodes).toHaveLength(10_000);
    expect(errors?.[0]?.message).toMatch(/^"allDexTrades" has more than 10000 rows/);
  });
});
