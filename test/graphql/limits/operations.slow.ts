// Operations that ask for more than they may: refused by name before anything of them is run.
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { makeTestApp } from "../../app.ts";
import { anOffer, aTrade, registerMarkets, write } from "../../factories.ts";
import { ask, dataOf } from "../../graphql.ts";
import { serveRecorded } from "../../served.ts";

const { app, database, statements } = serveRecorded(
  async (writer) => {
    await registerMarkets(writer);
    await write(writer, {
      offers: [anOffer({ id: 1 })],
      trades: Array.from({ length: 1001 }, (_, idx) =>
        aTrade({ offer_id: 1, tx: `0x${"0".repeat(64)}`, idx }),
      ),
    });
  },
  { cache: "off" },
);

/** The one error that this is refused with, of which the database hears nothing. */
async function refused(
  query: string,
  variables: Record<string, unknown> = {},
): Promise<{ code: unknown; message: string }> {
  const { data, errors } = await ask(app, query, variables);
  expect(data).toBeUndefined();
  expect(errors).toHaveLength(1);
  expect(statements).toEqual([]);
  const [error] = errors!;
  return { code: error!.extensions?.["code"], message: error!.message };
}

describe("a page", () => {
  it("has up to 1000 rows, with the offer of each", async () => {
    const { allDexTrades } = await dataOf(
      app,
      "{ allDexTrades(first: 1000) { totalCount nodes { id offer { id lotAmt } } pageInfo { hasNextPage } } }",
    );

    expect(allDexTrades.nodes).toHaveLength(1000);
    expect(allDexTrades.totalCount).toBe(1001);
    expect(allDexTrades.pageInfo.hasNextPage).toBe(true);
    expect(allDexTrades.nodes[0]!["offer"]).toMatchObject({ id: 1 });
  });

  it.each([
    ["first", "{ allDexTrades(first: 1001) { nodes { id } totalCount } }", {}],
    ["last", "{ allDexTrades(last: 1001) { edges { cursor } } }", {}],
    ["first", "query ($n: Int) { allDexTrades(first: $n) { nodes { id } } }", { n: 1001 }],
    ["first", "query ($n: Int = 1001) { allDexTrades(first: $n) { totalCount } }", {}],
    [
      "first",
      "query ($toString: Int = 1001) { allDexTrades(first: $toString) { totalCount } }",
      {},
    ],
    ["first", "{ ...f } fragment f on Query { allDexTrades(first: 1001) { nodes { id } } }", {}],
  ])("of more is refused by the name of %s: %s", async (name, query, variables) => {
    const onwards = name === "first" ? '"after": endCursor' : '"before": startCursor';
    expect(await refused(query, variables)).toEqual({
      code: "PAGE_TOO_LARGE",
      message: `Argument "${name}" of "allDexTrades" must be an integer from 0 to 1000, not 1001: page on with ${onwards}.`,
    });
  });

  it("of more is refused in a list within a list", async () => {
    const query = "{ dexOffer(id: 1) { trades(first: 1001) { nodes { id } } } }";
    expect(await refused(query)).toMatchObject({
      code: "PAGE_TOO_LARGE",
      message: expect.stringMatching(/^Argument "first" of "trades" must be/),
    });
  });

  it("of more is no matter in an operation that is not run", async () => {
    const query =
      "query A { allDexTrades(first: 1) { nodes { id } } } query B { allDexTrades(first: 1001) { nodes { id } } }";
    const answer = await app.request.post("/graphql").send({ query, operationName: "A" });
    expect(answer.body.errors).toBeUndefined();
    const other = await app.request.post("/graphql").send({ query, operationName: "B" });
    expect(other.body.errors[0].extensions).toEqual({ code: "PAGE_TOO_LARGE" });
  });
});

describe("paging arguments that make no sense", () => {
  it.each([
    ["a page with its total", "{ allDexTrades(first: -1) { totalCount nodes { id } } }", {}],
    ["a total alone", "{ allDexTrades(last: -1) { totalCount } }", {}],
    [
      "what a variable asks for",
      "query ($n: Int) { allDexTrades(offset: $n) { totalCount edges { node { id } } } }",
      { n: -1 },
    ],
    [
      "what is counted by another statement",
      "{ allDexOffers(first: 1, last: 1) { totalCount nodes { id } pageInfo { hasNextPage } } }",
      {},
    ],
    [
      "a function's rows",
      '{ dexBook(base: "weth", quote: "dai", first: -1) { totalCount nodes { act } } }',
      {},
    ],
    [
      "several lists",
      "{ allDexOffers(first: -1) { totalCount nodes { id } } allDexTrades(last: 1, offset: 1) { totalCount nodes { id } } }",
      {},
    ],
    [
      "an order that no index serves",
      "{ allDexTrades(first: 1, orderBy: [ID_ASC, TIME_DESC]) { totalCount nodes { id } } }",
      {},
    ],
  ])("ask nothing of the database for %s", async (_what, query, variables) => {
    const { errors } = await ask(app, query, variables);
    const codes = new Set(errors?.map(({ extensions }) => extensions?.["code"]));
    expect([...codes]).toEqual(["BAD_USER_INPUT"]);
    expect(statements).toEqual([]);
  });
});

describe("the cost of a query", () => {
  it("is the rows that it may read, nested ones for each row around them", async () => {
    const query =
      "{ allDexTrades(first: 1000) { nodes { offer { trades(first: 1000) { nodes { id } } } } } }";
    expect(await refused(query)).toEqual({
      code: "TOO_EXPENSIVE",
      message:
        'The operation costs 1002000, 1 for each row that it may read, nested ones counted for each row around them, and 1 more for each 2000 characters of a row: at most 50000 is accepted. Ask for smaller pages by "first", the smallest for what is nested.',
    });
  });

  it.each([
    // 1000 offers, and 49 trades of each.
    [
      "rows of lists",
      "{ allDexOffers(first: 1000) { nodes { trades(first: N) { nodes { id } } } } }",
      49,
    ],
    [
      "edges",
      "{ allDexOffers(first: 1000) { edges { node { trades(first: N) { edges { cursor } } } } } }",
      49,
    ],
    [
      "what fragments ask for",
      "{ allDexOffers(first: 1000) { ...o } } fragment o on DexOffersConnection { nodes { ...t } } fragment t on DexOffer { trades(first: N) { nodes { id } } }",
      49,
    ],
    [
      "a page that is asked for by its pageInfo",
      "{ allDexOffers(first: 1000) { nodes { trades(first: N) { pageInfo { hasNextPage } } } } }",
      49,
    ],
    // Each of the 1000 with its offer, its N trades, and the offer of each of these.
    [
      "records within rows",
      "{ allDexTrades(first: 1000) { nodes { offer { trades(first: N) { nodes { offer { id } } } } } } }",
      24,
    ],
    // An offset of 100 costs as much as a row.
    [
      "what is skipped",
      "{ allDexOffers(first: 1000) { nodes { trades(first: 9, offset: N00) { nodes { id } } } } }",
      40,
    ],
  ])("counts %s, up to the limit", async (_what, query, n) => {
    const { errors } = await ask(app, query.replace("N", String(n)));
    expect(errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(query.replace("N", String(n + 1)))).toMatchObject({
      code: "TOO_EXPENSIVE",
    });
  });

  // Each alias has 186 characters and 64 of its value. 8 have 2,000, and each row of 1,000 has one more for each 8:
  // with 392 it costs 1 + 49, with 400 1 + 50.
  it.each([
    ["nodes", "nodes { FIELDS }"],
    ["records", "nodes { offer { FIELDS } }", 384],
    ["edges", "edges { node { FIELDS } }"],
    ["cursors of edges", "edges { FIELDS }", 392, "cursor"],
    [
      "the pageInfo of lists",
      "nodes { trades(first: 0) { pageInfo { FIELDS } } }",
      392,
      "endCursor",
    ],
  ])("counts the characters of %s", async (_what, selection, most = 392, of = "tx") => {
    const root = selection.includes("trades(") ? "allDexOffers" : "allDexTrades";
    const query = (count: number): string => {
      const fields = Array.from({ length: count }, (_, n) => `${`a${n}`.padEnd(186, "_")}: ${of}`);
      return `{ ${root}(first: 1000) { ${selection.replace("FIELDS", fields.join(" "))} } }`;
    };
    expect((await ask(app, query(most))).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(query(most + 8))).toMatchObject({ code: "TOO_EXPENSIVE" });
  });

  // Each part has 7 * 250 = 1,750 characters: 57 have 99,750, which is 49 * 2,000 and some, and 58 have 101,500.
  it("counts the characters of all parts of a row together", async () => {
    const fields = Array.from({ length: 7 }, (_, n) => `${`a${n}`.padEnd(186, "_")}: tx`).join(" ");
    const query = (parts: number): string =>
      `{ allDexTrades(first: 1000) { ${Array.from({ length: parts }, (_, n) => `n${n}: nodes { ${fields} }`).join(" ")} } }`;
    expect((await ask(app, query(57))).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(query(58))).toMatchObject({ code: "TOO_EXPENSIVE" });
  });

  it("counts a field once that several fragments ask for", async () => {
    const { errors } = await ask(
      app,
      `{ allDexOffers(first: 1000) { nodes { ...a ...b } } }
      fragment a on DexOffer { trades(first: 49) { nodes { id } } }
      fragment b on DexOffer { trades(first: 49) { nodes { price } } }`,
    );
    expect(errors).toBeUndefined();
  });

  it("counts a field as often as it is asked for by other names", async () => {
    const query = `{ allDexOffers(first: 1000) { nodes {
      a: trades(first: 25) { nodes { id } }
      b: trades(first: 25) { nodes { id } }
    } } }`;
    expect(await refused(query)).toMatchObject({ code: "TOO_EXPENSIVE" });
  });

  it("counts each count of a set", async () => {
    const counts = "{ allDexOffers(first: 1000) { nodes { trades { totalCount } } } }";
    expect((await ask(app, counts)).errors).toBeUndefined();

    const many = `{ allDexOffers(first: 1000) { nodes { ${[1, 2, 3, 4, 5]
      .map((n) => `n${n}: trades(condition: { block: ${n} }) { totalCount }`)
      .join(" ")} } } }`;
    statements.length = 0;
    expect(await refused(many)).toMatchObject({ code: "TOO_EXPENSIVE" });
  });

  it("counts the rows that pageInfo reads beside each page", async () => {
    const declared = "query ($after: Cursor, $before: Cursor)";
    const beside = `trades(first: 23, after: $after, before: $before) {
      pageInfo { hasPreviousPage a: hasPreviousPage hasNextPage }
    }`;
    const query = `${declared} { allDexOffers(first: 1000) { nodes { a: ${beside} b: ${beside} } } }`;
    const { allDexTrades } = await dataOf(
      app,
      "{ allDexTrades(first: 1) { pageInfo { endCursor } } }",
    );
    const cursor = allDexTrades.pageInfo.endCursor;
    expect((await ask(app, query, { after: cursor })).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(query, { after: cursor, before: cursor })).toMatchObject({
      code: "TOO_EXPENSIVE",
    });
  });

  it("is that of the variables given", async () => {
    const query =
      "query ($n: Int!) { allDexOffers(first: 1000) { nodes { trades(first: $n) { nodes { id } } } } }";
    expect((await ask(app, query, { n: 49 })).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(query, { n: 50 })).toMatchObject({ code: "TOO_EXPENSIVE" });
  });

  it("is that of a variable's default where the variable has a name that every object has", async () => {
    const query =
      "query ($constructor: Int = 50) { allDexOffers(first: 1000) { nodes { trades(first: $constructor) { nodes { id } } } } }";
    expect(await refused(query)).toMatchObject({ code: "TOO_EXPENSIVE" });
    expect((await ask(app, query, { constructor: 49 })).errors).toBeUndefined();
  });
});

describe("a condition that no index serves", () => {
  const pages = (count: number, argument: string): string =>
    `{ ${Array.from(
      { length: count },
      (_, n) => `a${n}: allDexTrades(first: 1, ${argument}) { nodes { id } }`,
    ).join(" ")} }`;

  it.each([
    ['condition: { act: "sell" }'],
    ['condition: { market: "WETHDAI", act: "sell" }'],
    ['filter: { lotTkn: { equalTo: "0x" } }'],
    ['filter: { market: { notEqualTo: "WETHDAI" } }'],
    ['filter: { and: [{ id: { greaterThan: "1" } }, { lotAmt: { greaterThan: "1" } }] }'],
    ['filter: { or: [{ id: { equalTo: "1" } }, { id: { equalTo: "2" } }] }'],
    ['filter: { not: { id: { equalTo: "1" } } }'],
  ])("is accepted for one page of any size, and refused for dozens: %s", async (argument) => {
    expect((await ask(app, pages(20, argument))).errors).toBeUndefined();
    const largest = pages(1, argument).replace("first: 1,", "first: 1000,");
    expect((await ask(app, largest)).errors).toBeUndefined();
    statements.length = 0;
    const { code, message } = await refused(pages(26, argument));
    expect(code).toBe("TOO_EXPENSIVE");
    expect(message).toContain(
      "26 of its lists have a condition or filter that no index serves, and each after the first counts as 2000.",
    );
  });

  it("counts twice where pageInfo reads rows before the page and after it", async () => {
    const { allDexTrades } = await dataOf(
      app,
      "{ allDexTrades(first: 1) { pageInfo { endCursor } } }",
    );
    const cursor = allDexTrades.pageInfo.endCursor;
    const query = (count: number, fields: string): string =>
      `query ($after: Cursor, $before: Cursor) ${pages(
        count,
        'condition: { act: "sell" }, after: $after, before: $before',
      ).replaceAll("{ id }", `{ id } pageInfo { ${fields} }`)}`;
    const [one, both] = ["hasPreviousPage", "hasPreviousPage hasNextPage"];
    const between = { after: cursor, before: cursor };
    expect((await ask(app, query(12, both), between)).errors).toBeUndefined();
    expect((await ask(app, query(13, one), between)).errors).toBeUndefined();
    expect((await ask(app, query(13, both), { after: cursor })).errors).toBeUndefined();
    statements.length = 0;
    expect((await refused(query(13, both), between)).code).toBe("TOO_EXPENSIVE");
  });

  it("is priced where it is the default of a variable", async () => {
    const query = `query ($f: DexTradeFilter = { act: { equalTo: "sell" } }) ${pages(26, "filter: $f")}`;
    expect((await refused(query)).code).toBe("TOO_EXPENSIVE");
    const byMarket = { f: { market: { equalTo: "WETHDAI" } } };
    expect((await ask(app, query, byMarket)).errors).toBeUndefined();
  });

  it.each([
    ['condition: { market: "WETHDAI" }'],
    ['condition: { taker: "0x" }'],
    ['filter: { taker: { in: ["0x", "0y"] } }'],
    ['filter: { id: { greaterThan: "1" } }'],
    ['filter: { time: { lessThan: "2026-01-01T00:00:00Z" } }'],
    ["condition: {}"],
  ])("costs nothing where one does: %s", async (argument) => {
    expect((await ask(app, pages(26, argument))).errors).toBeUndefined();
  });

  it.each([
    ["condition: { tx: $tx, idx: 1 }"],
    ['filter: { tx: { equalTo: $tx, lessThan: "z" }, idx: { equalTo: 1 } }'],
  ])("is not helped by a variable without a value: %s", async (argument) => {
    const query = `query ($tx: String) ${pages(26, argument)}`;
    expect((await refused(query)).code).toBe("TOO_EXPENSIVE");
    expect((await ask(app, query, { tx: "0x" })).errors).toBeUndefined();
  });

  it("is found in variables, and for a total alone", async () => {
    const lists = Array.from(
      { length: 26 },
      (_, n) => `a${n}: allDexTrades(condition: $condition) { totalCount }`,
    );
    const query = `query ($condition: DexTradeCondition) { ${lists.slice(0, 23).join(" ")} }`;
    expect((await ask(app, query, { condition: { market: "x" } })).errors).toBeUndefined();
    expect((await ask(app, query, { condition: { act: "sell" } })).errors).toBeUndefined();
    await using few = await makeTestApp(database.reader, {
      cache: "off",
      limits: { ...GRAPHQL_LIMITS, cost: 1000 },
    });
    expect((await ask(few, query, { condition: { market: "x" } })).errors).toBeUndefined();
    const { errors } = await ask(few, query, { condition: { act: "sell" } });
    expect(errors?.[0]?.extensions).toEqual({ code: "TOO_EXPENSIVE" });
  });
});

describe("what @skip and @include leave out", () => {
  // 1000 offers with 50 trades each: 51,000 rows.
  const DEAR = "allDexOffers(first: 1000) { nodes { trades(first: 50) { nodes { id } } } }";
  const withinList = (directives: string): string =>
    `allDexOffers(first: 1000) { nodes { id trades(first: 50) ${directives} { nodes { id } } } }`;

  it.each([
    ["a field", `{ dexHead { block } ${DEAR.replace(" {", " @skip(if: true) {")} }`, {}],
    ["a field within a list", `{ ${withinList("@include(if: false)")} }`, {}],
    ["an inline fragment", `{ dexHead { block } ... @include(if: false) { ${DEAR} } }`, {}],
    [
      "a fragment where it is spread",
      `{ dexHead { block } ...f @skip(if: true) } fragment f on Query { ${DEAR} }`,
      {},
    ],
    [
      "what one of both directives leaves out",
      `{ ${withinList("@skip(if: false) @include(if: false)")} }`,
      {},
    ],
    ["what the other leaves out", `{ ${withinList("@include(if: true) @skip(if: true)")} }`, {}],
    [
      "what a variable leaves out",
      `query ($no: Boolean!) { ${withinList("@include(if: $no)")} }`,
      { no: false },
    ],
    [
      "what a variable's default leaves out",
      `query ($no: Boolean = true) { ${withinList("@skip(if: $no)")} }`,
      {},
    ],
    [
      "what a variable leaves out whose default would not",
      `query ($no: Boolean = false) { ${withinList("@skip(if: $no)")} }`,
      { no: true },
    ],
    [
      "rows of a page",
      "{ allDexOffers(first: 1000) { nodes { trades(first: 50) { __typename nodes @skip(if: true) { id } } } } }",
      {},
    ],
    [
      "a page that is too large",
      "{ dexHead { block } allDexTrades(first: 1001) @skip(if: true) { totalCount } }",
      {},
    ],
  ])("costs nothing: %s", async (_what, query, variables) => {
    const { errors } = await ask(app, query, variables);
    expect(errors).toBeUndefined();
    // The offers alone, of which there is one, or the head.
    expect(statements.filter(({ text }) => text.includes("dex_trade"))).toEqual([]);
  });

  it.each([
    ["a field", `{ ${withinList("@skip(if: false) @include(if: true)")} }`, {}],
    [
      "what a variable includes",
      `query ($yes: Boolean!) { ${withinList("@include(if: $yes)")} }`,
      { yes: true },
    ],
    [
      "what a variable's default includes",
      `query ($yes: Boolean = true) { ${withinList("@include(if: $yes)")} }`,
      {},
    ],
    [
      "what a variable includes whose default would not",
      `query ($yes: Boolean = false) { ${withinList("@include(if: $yes)")} }`,
      { yes: true },
    ],
    [
      "what the default of a variable of a name that every object has includes",
      `query ($toString: Boolean = false) { ${withinList("@skip(if: $toString)")} }`,
      {},
    ],
    [
      "a fragment that is spread twice and once left out",
      `{ ...f @skip(if: true) ...f } fragment f on Query { ${DEAR} }`,
      {},
    ],
    [
      "a field that is asked for twice and once left out",
      `{ ${DEAR.replace(" {", " @skip(if: true) {")} ${DEAR} }`,
      {},
    ],
    [
      "what a fragment asks for that is spread within one that another leaves out",
      `{ ...a @skip(if: true) ...b } fragment a on Query { ...b } fragment b on Query { ${DEAR} }`,
      {},
    ],
  ])("counts else: %s", async (_what, query, variables) => {
    expect(await refused(query, variables)).toMatchObject({ code: "TOO_EXPENSIVE" });
  });

  it("is found anew whenever the variables are others", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const query = `query (${names.map((name) => `$${name}: Boolean!`).join(" ")}) {
      ${names.map((name) => `${name}: ${withinList(`@include(if: $${name})`)}`).join("\n")}
    }`;
    const asked = async (wanted: number): Promise<unknown> => {
      const variables = Object.fromEntries(names.map((name, n) => [name, (wanted >> n) % 2 === 1]));
      const { errors } = await ask(app, query, variables);
      return errors?.[0]?.extensions?.["code"];
    };
    const codes = [];
    for (let wanted = 0; wanted < 32; wanted += 1) codes.push(await asked(wanted));
    // Without any of the five it is 5 × 1000 offers.
    expect(codes).toEqual([undefined, ...Array.from({ length: 31 }, () => "TOO_EXPENSIVE")]);
    expect(await asked(0)).toBeUndefined();
  });

  it("leaves its share to a list that is asked for whole", async () => {
    const whole = (directives: string): string =>
      `{ allDexTrades { nodes { id } } allDexOffers(first: 1000) ${directives} { nodes { trades(first: 48) { nodes { id } } } } }`;
    // 49,000 of 50,000 leave 1,000 to the 1,001 trades.
    const { errors } = await ask(app, whole("@skip(if: false)"));
    expect(errors?.[0]?.extensions).toEqual({ code: "LIST_TOO_LONG" });
    const { allDexTrades } = await dataOf(app, whole("@skip(if: true)"));
    expect(allDexTrades.nodes).toHaveLength(1001);
  });
});

describe("values given as variables", () => {
  const query =
    "query ($filter: DexTradeFilter) { allDexTrades(first: 1, filter: $filter) { nodes { id } } }";
  const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n + 1));

  it.each(["in", "notIn"])("are up to 1000 in the list of %s", async (operator) => {
    const filter = (count: number) => ({ filter: { id: { [operator]: ids(count) } } });
    expect((await ask(app, query, filter(1000))).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(query, filter(1001))).toEqual({
      code: "TOO_MANY_VALUES",
      message: `The list $filter.id.${operator} has 1001 values: at most 1000 are accepted, ask for them in several requests.`,
    });
  });

  it("are up to 1000 in the list of inInsensitive, and in a list deeper within", async () => {
    const filter = { or: [{ taker: { inInsensitive: ids(1001) } }] };
    expect((await refused(query, { filter })).message).toMatch(
      /^The list \$filter\.or\.0\.taker\.inInsensitive has 1001 values/,
    );
  });

  it("nest up to 12 deep", async () => {
    let filter: object = { id: { equalTo: "1" } };
    for (let depth = 2; depth < 12; depth += 1) filter = { not: filter };
    expect((await ask(app, query, { filter })).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(query, { filter: { not: filter } })).toEqual({
      code: "INPUT_TOO_DEEP",
      message:
        'The variable $filter.not.not.not.not.not.not.not.not.not.not.not.id nests objects and lists more than 12 deep: conditions are joined flatter by "and", "or" and "not".',
    });
  });

  it("nest up to 12 deep together with the literal that they stand in", async () => {
    const within = (literal: number, declared: string): string => {
      const [before, after] = ["{ not: ".repeat(literal), " }".repeat(literal)];
      return `query (${declared}) { ...f } fragment f on Query { allDexTrades(first: 1, filter: ${before}$filter${after}) { nodes { id } } }`;
    };
    // 5 objects.
    const given = { filter: { not: { not: { not: { id: { equalTo: "1" } } } } } };
    const typed = "$filter: DexTradeFilter!";
    const defaulted = `${typed} = { not: { not: { not: { id: { equalTo: "1" } } } } }`;
    expect((await ask(app, within(7, typed), given)).errors).toBeUndefined();
    expect((await ask(app, within(7, defaulted))).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(within(8, typed), given)).toMatchObject({ code: "INPUT_TOO_DEEP" });
    expect(await refused(within(8, defaulted))).toMatchObject({ code: "INPUT_TOO_DEEP" });
  });

  // $c has 101 members: id, in, and 99 values. In 100 places they are 99 * 101 = 9,999 more than in one.
  it.each([
    ["in one list", 100, ""],
    ["in a fragment that is spread four times", 25, "...g ...g"],
  ])("come to at most 10,000 values more than one use of each, %s", async (_, most, spread) => {
    const repeated = (times: number): string => {
      const root = spread === "" ? "...f" : spread;
      const g = spread === "" ? "" : "fragment g on Query { ...f ...f }";
      return `query ($c: DexTradeFilter!) { ${root} } ${g} fragment f on Query { allDexTrades(first: 1, filter: { or: [${"$c ".repeat(times)}] }) { nodes { id } } }`;
    };
    const given = { c: { id: { in: ids(99) } } };
    expect((await ask(app, repeated(most), given)).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(repeated(most + 1), given)).toEqual({
      code: "TOO_MANY_VALUES",
      message: expect.stringMatching(
        /^The variable \$c stands in \d+ places: beyond one place for each variable, at most 10000 values are accepted in all, where 100 characters of a text count as one\.$/,
      ),
    });
  });

  // Each condition has two members, its column and its operator, and `or` is one. So 499 have 999, and in two places 249 have
  // 2 × 499.
  it.each([
    ["in one place", 499, "$f"],
    ["in two places", 249, "{ or: [$f, { not: $f }] }"],
  ])("have up to 1000 members of objects, %s", async (_, most, filter) => {
    const asked = `query ($f: DexTradeFilter!) { allDexTrades(first: 1, filter: ${filter}) { nodes { id } } }`;
    const given = (count: number) => ({
      f: { or: Array.from({ length: count }, (_unused, block) => ({ block: { equalTo: block } })) },
    });
    expect((await ask(app, asked, given(most))).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(asked, given(most + 1))).toEqual({
      code: "TOO_MANY_VALUES",
      message: expect.stringMatching(
        /^The objects of the variables have 100[0-9] members, each counted wherever it stands: at most 1000 are accepted/,
      ),
    });
  });

  // 20,099 characters count as 200. In 51 places they are 50 * 200 = 10,000 more than in one.
  it.each([
    ["given", "$t: String!", { t: "t".repeat(20_099) }],
    ["a default", `$t: String! = "${"t".repeat(20_099)}"`, {}],
  ])("count a text by its length, %s", async (_, declared, given) => {
    const repeated = (times: number): string =>
      `query (${declared}) { allDexTrades(first: 1, filter: { market: { in: [${"$t ".repeat(times)}] } }) { nodes { id } } }`;
    expect((await ask(app, repeated(51), given)).errors).toBeUndefined();
    statements.length = 0;
    expect(await refused(repeated(52), given)).toMatchObject({ code: "TOO_MANY_VALUES" });
  });

  it("are not looked at where no variable of that name is declared", async () => {
    expect((await ask(app, query, { ids: ids(2000) })).errors).toBeUndefined();
  });
});

it("holds all limits to what the service is given", async () => {
  await using strict = await makeTestApp(database.reader, {
    cache: "off",
    limits: { ...GRAPHQL_LIMITS, page: 5, cost: 10, depth: 3 },
  });
  const codes = [];
  for (const query of [
    "{ allDexTrades(first: 6) { nodes { id } } }",
    "{ allDexTrades(first: 5) { nodes { offer { id } } } }",
    "{ a: allDexTrades(first: 5) { nodes { id } } b: allDexTrades(first: 6) { totalCount } }",
    "{ a: allDexTrades(first: 5) { nodes { id } } b: allDexTrades(first: 5) { nodes { id } } c: dexHead { block } }",
  ]) {
    const { errors } = await ask(strict, query);
    codes.push(errors?.[0]?.extensions?.["code"]);
  }
  expect(codes).toEqual(["PAGE_TOO_LARGE", "TOO_DEEP", "PAGE_TOO_LARGE", "TOO_EXPENSIVE"]);
});

// graphql quotes the whole value in the error of each of 50 fields that it does not know.
it("quotes at most 1,000 characters of what it refuses in a message", async () => {
  const unknown = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`z${n}`, 1]));
  const { errors } = await ask(
    app,
    "query ($f: DexTradeFilter) { allDexTrades(filter: $f) { totalCount } }",
    {
      f: { ...unknown, maker: "m".repeat(20_000) },
    },
  );
  const messages = errors!.map(({ message }) => message);
  expect(messages[0]).toMatch(
    /^Variable "\$f" got invalid value .{900,}… \(\d+ more characters\)$/s,
  );
  expect(Math.max(...messages.map(({ length }) => length))).toBeLessThan(1100);
});

describe("a variable that is not given", () => {
  it.each([
    ["String", "condition: { taker: $NAME }"],
    ["String", "filter: { taker: { equalTo: $NAME } }"],
    ["[DexTradesOrderBy!]", "orderBy: $NAME"],
    ["Cursor", "after: $NAME"],
    ["DexTradeCondition", "condition: $NAME"],
    ["Int", "offset: $NAME"],
  ])("is unset by any name: %s, %s", async (type, argument) => {
    const query = `query ($NAME: ${type}) { allDexTrades(first: 1, ${argument}) { nodes { id } } }`;
    const asked = async (name: string): Promise<unknown> => {
      const { data, errors } = await ask(app, query.replaceAll("NAME", name));
      return { data, messages: errors?.map(({ message }) => message) };
    };
    const usual = await asked("unset");

    for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
      expect(await asked(name)).toEqual(usual);
    }
  });
});
