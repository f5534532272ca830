// Pages of allDexTrades: every argument alone and combined, and paging through the whole set.
import { makeTestApp } from "../../app.ts";
import { makeDatabase } from "../../database.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  DAI,
  hours,
  MKR,
  registerMarkets,
  WETH,
  write,
} from "../../factories.ts";
import { ask, dataOf, errorsOf, type TradesPage } from "../../graphql.ts";
import { serveDatabase } from "../../served.ts";

const SHRIMP = anAddress("an unregistered token");

/**
 * 60 trades, every seventh of no offer, in 20 blocks, three to a block with ties in block, second and transaction, by three
 * takers: 36 in WETHDAI, 12 in MKRWETH, and 12 of no market.
 */
const history = Array.from({ length: 60 }, (_, i) => {
  const block = Math.floor(i / 3);
  const inMkr = i % 5 === 3;
  const inNone = i % 5 === 4;
  return aTrade({
    id: i + 1,
    block,
    // Two blocks share a second.
    time: hours(Math.floor(block / 2)),
    tx: `0x${String(Math.floor(i / 2)).padStart(64, "0")}`,
    idx: i % 3,
    offer_id: i % 7 === 6 ? null : (i % 7) + 1,
    taker: anAddress(`taker ${i % 3}`),
    maker: anAddress(`maker ${i % 2}`),
    side: i % 2 === 0 ? "sell" : "buy",
    baseGem: inMkr ? MKR : inNone ? SHRIMP : WETH,
    quoteGem: inMkr ? WETH : DAI,
    base: "2",
    quote: String(i + 1),
  });
});

const { app, database } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, { offers: [anOffer({ id: 8 })], trades: history });
});

const PAGE =
  "nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount";

/** A walk names its place by a variable: its pages have one plan. */
type Place = Record<string, string | number | null>;

const DECLARED: Readonly<Record<string, string>> = {
  cursor: "query ($cursor: Cursor)",
  offset: "query ($offset: Int)",
};
const declaring = (place: Place): string =>
  Object.keys(place)
    .map((name) => DECLARED[name])
    .join();

async function page(args: string, place: Place = {}): Promise<TradesPage> {
  const query = `${declaring(place)} { allDexTrades${args && `(${args})`} { ${PAGE} } }`;
  return (await dataOf(app, query, place)).allDexTrades;
}

const ids = ({ nodes }: Pick<TradesPage, "nodes">): number[] => nodes.map(({ id }) => Number(id));

type Value = string | number | null;

/** BigInt values are compared as numbers; null sorts before every text. */
function compare(a: Value, b: Value): number {
  const [one, other] = [String(a ?? ""), String(b ?? "")];
  if (/^\d+$/.test(one)) return Number(one) - Number(other);
  return one === other ? 0 : one < other ? -1 : 1;
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

describe("first, last and offset", () => {
  it.each([
    ["", upTo(60), false, false],
    ["first: 3", [1, 2, 3], false, true],
    ["first: 60", upTo(60), false, false],
    ["first: 61", upTo(60), false, false],
    ["last: 2", [59, 60], true, false],
    ["offset: 57", [58, 59, 60], true, false],
    ["first: 2, offset: 4", [5, 6], true, true],
    ["offset: 60", [], true, false],
    ["first: null, last: null, offset: null", upTo(60), false, false],
  ])("(%s) returns that part of the set", async (args, expected, previous, next) => {
    const { nodes, pageInfo, totalCount } = await page(args);
    expect(ids({ nodes })).toEqual(expected);
    expect({ ...pageInfo, totalCount }).toMatchObject({
      hasPreviousPage: previous,
      hasNextPage: next,
      totalCount: 60,
    });
  });

  it.each([
    ["no trade at all", 'condition: { market: "NONE" }', false],
    ["fewer trades than are skipped", 'condition: { market: "WETHDAI" }', true],
  ])("has a page before it where the set has %s only if it has rows", async (_, set, previous) => {
    const { nodes, pageInfo } = await page(`first: 2, offset: 100, ${set}`);
    expect(nodes).toEqual([]);
    expect(pageInfo).toMatchObject({ hasPreviousPage: previous, hasNextPage: false });
  });

  it.each(["dexBook", "dexCandles"])("refuses to page %s backwards", async (name) => {
    const cursors = await dataOf(
      app,
      `{ ${name}(base: "weth", quote: "dai", first: 1) { pageInfo { endCursor } } }`,
    );
    expect(cursors).toHaveProperty(name);
    for (const [argument, value] of [
      ["last", "1"],
      ["before", '"WyJuYXR1cmFsIiwxXQ=="'],
    ]) {
      const [error] = await errorsOf(
        app,
        `{ ${name}(base: "weth", quote: "dai", ${argument}: ${value}) { totalCount nodes { __typename } } }`,
      );
      expect(error).toBe(
        `Argument "${argument}" is not served here: page forwards, with "first" and "after" or "offset".`,
      );
    }
  });

  it("counts offset from the after cursor", async () => {
    const { pageInfo } = await page("first: 10");
    expect(ids(await page(`first: 2, offset: 3, after: "${pageInfo.endCursor}"`))).toEqual([
      14, 15,
    ]);
  });

  it("returns the rows between two cursors", async () => {
    const tenth = (await page("first: 10")).pageInfo.endCursor;
    const fifteenth = (await page("first: 15")).pageInfo.endCursor;
    const between = await page(`after: "${tenth}", before: "${fifteenth}"`);
    expect(ids(between)).toEqual([11, 12, 13, 14]);
    expect(between.pageInfo).toMatchObject({ hasPreviousPage: true, hasNextPage: true });
    expect(ids(await page(`last: 2, after: "${tenth}", before: "${fifteenth}"`))).toEqual([13, 14]);
  });

  it.each([
    ["first: -1", 'Argument "first" must be an integer from 0, not -1.'],
    ["last: -5", 'Argument "last" must be an integer from 0, not -5.'],
    ["offset: -1", 'Argument "offset" must be an integer from 0, not -1.'],
    [
      "first: 1, last: 1",
      'Arguments "first" and "last" cannot be used together: give one of them.',
    ],
    [
      "last: 1, offset: 1",
      'Argument "offset" cannot be used together with "last": page back with "before".',
    ],
    ["first: 2147483648", "Int cannot represent non 32-bit signed integer value: 2147483648"],
    ['first: "1"', 'Int cannot represent non-integer value: "1"'],
    ['after: "x"', '"x" is not accepted as Cursor: expected a cursor that this service gave.'],
  ])("(%s) is an error that names the argument", async (args, message) => {
    expect(await errorsOf(app, `{ allDexTrades(${args}) { nodes { id } } }`)).toEqual([message]);
    expect(await errorsOf(app, `{ allDexTrades(${args}) { totalCount } }`)).toEqual([message]);
  });

  it("checks variables and nested connections as it checks literals", async () => {
    expect(
      await errorsOf(app, "query ($n: Int) { allDexTrades(last: $n) { nodes { id } } }", {
        n: -2,
      }),
    ).toEqual(['Argument "last" must be an integer from 0, not -2.']);
    expect(
      await errorsOf(app, "{ dexOffer(id: 8) { trades(first: -1) { nodes { id } } } }"),
    ).toEqual(['Argument "first" must be an integer from 0, not -1.']);
  });
});

describe("orderBy", () => {
  it("sorts by BLOCK_DESC from the highest block to the lowest, ties by id", async () => {
    expect(ids(await page("orderBy: BLOCK_DESC, first: 4"))).toEqual([60, 59, 58, 57]);
  });

  it("accepts one value or a list", async () => {
    expect(ids(await page("orderBy: [TIME_DESC, IDX_DESC], first: 6"))).toEqual([
      // Blocks 18 and 19 have the same time.
      60, 59, 58, 57, 56, 55,
    ]);
  });

  const COMBINATIONS = [
    ...["ID", "PRIMARY_KEY", "BLOCK", "TIME", "OFFER_ID", "MARKET", "MAKER", "TAKER"],
    ...["TIME IDX", "BLOCK IDX"],
    ...["MARKET BLOCK", "MAKER BLOCK", "TAKER BLOCK", "OFFER_ID BLOCK"],
    ...["MARKET TIME", "MAKER TIME", "TAKER TIME", "OFFER_ID TIME"],
  ];

  const WALKS = COMBINATIONS.flatMap((columns) =>
    ["ASC", "DESC"].map((direction) =>
      columns
        .split(" ")
        .map((column) => `${column}_${direction}`)
        .join(", "),
    ),
  );

  it.each(WALKS)(
    "[%s] pages through the whole set by cursor in both directions",
    async (orderBy) => {
      const all = ids(await page(`orderBy: [${orderBy}]`));
      expect([...all].sort((a, b) => a - b)).toEqual(upTo(60));

      const forwards: number[] = [];
      let cursor: string | null = null;
      for (let more = true; more;) {
        const { nodes, pageInfo }: TradesPage = await page(
          `orderBy: [${orderBy}], first: 7, after: $cursor`,
          { cursor },
        );
        expect(pageInfo.hasPreviousPage).toBe(forwards.length > 0);
        forwards.push(...ids({ nodes }));
        cursor = pageInfo.endCursor;
        more = pageInfo.hasNextPage;
      }
      expect(forwards).toEqual(all);

      const backwards: number[] = [];
      cursor = null;
      for (let more = true; more;) {
        const { nodes, pageInfo }: TradesPage = await page(
          `orderBy: [${orderBy}], last: 7, before: $cursor`,
          { cursor },
        );
        expect(pageInfo.hasNextPage).toBe(backwards.length > 0);
        backwards.unshift(...ids({ nodes }));
        cursor = pageInfo.startCursor;
        more = pageInfo.hasPreviousPage;
      }
      expect(backwards).toEqual(all);

      const byOffset: number[] = [];
      for (let offset = 0; offset < 60; offset += 7) {
        byOffset.push(
          ...ids(await page(`orderBy: [${orderBy}], first: 7, offset: $offset`, { offset })),
        );
      }
      expect(byOffset).toEqual(all);
    },
  );

  it.each(WALKS)("[%s] sorts by these columns, ties by id", async (orderBy) => {
    const columns = orderBy
      .replace("PRIMARY_KEY", "ID")
      .split(", ")
      .map((name) => name.replace(/_(ASC|DESC)$/, "").toLowerCase());
    const { allDexTrades } = await dataOf(
      app,
      `{ allDexTrades(orderBy: [${orderBy}]) {
        nodes { id block time idx offer_id: offerId market maker taker }
      } }`,
    );
    const sorted = [...allDexTrades.nodes].sort((a, b) => {
      // Two blocks may have the same time, and idx is only unique within a block.
      for (const column of [...columns.filter((name) => name !== "idx"), "id"]) {
        const order = compare(a[column] as Value, b[column] as Value);
        if (order !== 0) return orderBy.includes("DESC") ? -order : order;
      }
      return 0;
    });
    expect(ids(allDexTrades)).toEqual(ids({ nodes: sorted }));
  });

  it("orders untagged tables by any column, and skips no row that ties", async () => {
    const query = (after: string): string =>
      `{ allDexPairs(orderBy: ACTIVE_ASC, first: 1${after}) { nodes { market } pageInfo { endCursor } } }`;
    interface Pairs {
      allDexPairs: { nodes: { market: string }[]; pageInfo: { endCursor: string } };
    }
    const first = await dataOf<Pairs>(app, query(""));
    const second = await dataOf<Pairs>(
      app,
      query(`, after: "${first.allDexPairs.pageInfo.endCursor}"`),
    );
    expect([first, second].map((data) => data.allDexPairs.nodes[0]?.market)).toEqual([
      "MKRWETH",
      "WETHDAI",
    ]);
  });

  it.each(["VOL_ASC", "VOL_DESC"])(
    "pages through a view by %s in both directions, nulls included",
    async (orderBy) => {
      interface Markets {
        allDexMarkets: TradesPage;
      }
      const marketsOf = async (args: string): Promise<TradesPage> =>
        (
          await dataOf<Markets>(
            app,
            `{ allDexMarkets(orderBy: ${orderBy}${args}) {
              nodes { pair vol } pageInfo { startCursor endCursor }
            } }`,
          )
        ).allDexMarkets;
      const pairs = ({ nodes }: TradesPage): unknown[] => nodes.map(({ pair }) => pair);
      // Neither market has a trade in the 24 hours before now: both volumes are null.
      const all = await marketsOf("");
      expect(pairs(all)).toHaveLength(2);
      const { endCursor } = (await marketsOf(", first: 1")).pageInfo;
      expect(pairs(await marketsOf(`, first: 1, after: "${endCursor}"`))).toEqual(
        pairs(all).slice(1),
      );
      const { startCursor } = (await marketsOf(", last: 1")).pageInfo;
      expect(pairs(await marketsOf(`, last: 1, before: "${startCursor}"`))).toEqual(
        pairs(all).slice(0, 1),
      );
    },
  );

  it.each([
    ["IDX_DESC", "would sort the whole set"],
    ["MARKET_ASC, MAKER_ASC", "would sort the whole set"],
    ["IDX_DESC, BLOCK_DESC", "would sort the whole set"],
    ["BLOCK_DESC, IDX_ASC", "mixes ascending and descending"],
  ])("[%s] is an error that lists the served orders", async (orderBy, problem) => {
    const messages = await errorsOf(
      app,
      `{ allDexTrades(orderBy: [${orderBy}], first: 1) { nodes { id } } }`,
    );
    expect(messages).toHaveLength(1);
    expect(messages[0]).toContain(`Argument "orderBy": [${orderBy}] ${problem}`);
    expect(messages[0]).toContain("[BLOCK], [BLOCK, IDX], [ID]");
    expect(messages[0]).toContain("[TIME, IDX]");
    expect(messages[0]).not.toContain("MARKET_ID");
  });
});

describe("offers, whose ids are not sorted by block", () => {
  interface Offers {
    allDexOffers: TradesPage;
  }
  /** Three to a block, the higher ids in the lower blocks. */
  const offers = upTo(24).map((id) =>
    anOffer({
      id: 100 + id,
      block: 200 - Math.floor(id / 3),
      time: hours(200),
      maker: anAddress(`maker ${id % 2}`),
      baseGem: id % 4 === 0 ? SHRIMP : WETH,
    }),
  );
  beforeAll(async () => {
    await write(database.writer, { offers });
  });
  afterAll(async () => {
    await database.writer.query("select ingest.take_back(19)");
  });

  it.each(
    ["MAKER", "MARKET", "BLOCK", "TIME", "MAKER BLOCK", "MAKER TIME", "MARKET BLOCK", "MARKET TIME"]
      .flatMap((columns) => [`${columns}|ASC`, `${columns}|DESC`])
      .map((order) => {
        const [columns, direction] = order.split("|");
        return columns!
          .split(" ")
          .map((column) => `${column}_${direction!}`)
          .join(", ");
      }),
  )("[%s] sorts by these columns, ties by block and id, and pages by cursor", async (orderBy) => {
    const pageOf = async (args: string, place: Place = {}): Promise<TradesPage> =>
      (
        await dataOf<Offers>(
          app,
          `${declaring(place)} { allDexOffers(filter: { id: { greaterThan: 100 } }, orderBy: [${orderBy}]${args}) {
            nodes { id block maker market } pageInfo { endCursor hasNextPage }
          } }`,
          place,
        )
      ).allDexOffers;
    const all = await pageOf("");
    const [first = ""] = orderBy.toLowerCase().split(/_|, /);
    const sorted = [...all.nodes].sort((a, b) => {
      for (const column of [first, "block", "id"]) {
        const order = compare(a[column] as Value, b[column] as Value);
        if (order !== 0) return orderBy.includes("DESC") ? -order : order;
      }
      return 0;
    });
    expect(ids(all)).toEqual(ids({ nodes: sorted }));
    expect(all.nodes).toHaveLength(24);

    const walked: number[] = [];
    let cursor: string | null = null;
    for (let more = true; more;) {
      const { nodes, pageInfo }: TradesPage = await pageOf(", first: 5, after: $cursor", {
        cursor,
      });
      walked.push(...ids({ nodes }));
      cursor = pageInfo.endCursor;
      more = pageInfo.hasNextPage;
    }
    expect(walked).toEqual(ids(all));
  });
});

describe("a cursor", () => {
  const misuse =
    /^Invalid '(after|before)' cursor - a cursor is only valid within a specific ordering/;

  it.each([
    ["BLOCK_DESC", "BLOCK_ASC"],
    ["BLOCK_ASC", "BLOCK_DESC"],
    ["PRIMARY_KEY_ASC", "PRIMARY_KEY_DESC"],
    ["BLOCK_DESC", "TIME_DESC"],
    ["BLOCK_DESC", "ID_DESC"],
    ["MARKET_DESC", "[MARKET_DESC, TIME_DESC]"],
    ["[MARKET_DESC, BLOCK_DESC]", "[MARKET_DESC, TIME_DESC]"],
    ["[MARKET_ASC, BLOCK_ASC]", "BLOCK_ASC"],
    ["BLOCK_DESC", "[BLOCK_DESC, IDX_DESC]"],
    ["[TIME_DESC, IDX_DESC]", "[TIME_ASC, IDX_ASC]"],
  ])("of %s is rejected with %s", async (made, used) => {
    const { pageInfo } = await page(`orderBy: ${made}, first: 5`);
    for (const args of [`first: 5, after:`, `last: 5, before:`]) {
      const [message] = await errorsOf(
        app,
        `{ allDexTrades(orderBy: ${used}, ${args} "${pageInfo.endCursor}") { nodes { id } } }`,
      );
      expect(message).toMatch(misuse);
    }
  });

  it.each([
    ["NATURAL", "PRIMARY_KEY_ASC"],
    ["PRIMARY_KEY_ASC", "NATURAL"],
    ["ID_ASC", "PRIMARY_KEY_ASC"],
    ["PRIMARY_KEY_DESC", "ID_DESC"],
  ])("of %s is valid with %s, which is the same order", async (made, used) => {
    const { pageInfo } = await page(`orderBy: ${made}, first: 5`);
    const next = await page(`orderBy: ${used}, first: 5, after: "${pageInfo.endCursor}"`);
    const both = await page(`orderBy: ${made}, first: 10`);
    expect(next.nodes).toEqual(both.nodes.slice(5));
  });

  it("that the service did not create is rejected", async () => {
    const made = Buffer.from(JSON.stringify(["made up", 1, "1"])).toString("base64");
    const { errors } = await ask(
      app,
      `{ allDexTrades(after: "${made}", first: 1) { nodes { id } edges { cursor } totalCount } }`,
    );
    expect(errors).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(misuse) as string,
        extensions: { code: "BAD_USER_INPUT" },
      }),
    ]);
  });

  const withValue = (cursor: string, value: unknown): string => {
    const [digest, ...values] = JSON.parse(Buffer.from(cursor, "base64").toString()) as unknown[];
    return Buffer.from(JSON.stringify([digest, ...values.map(() => value)])).toString("base64");
  };

  it.each([
    ["ID_ASC", ["x", 1.5, true, null, {}, [1], "99999999999999999999", "\0"]],
    ["[TIME_DESC, IDX_DESC]", ["x", null]],
    ["OFFER_ID_ASC", ["x", 2 ** 31, null]],
    ["MARKET_ASC", [1, null, "\0"]],
    ["[MARKET_ASC, TIME_ASC]", [true, "x"]],
  ])("of %s with a value of another type is one clear error", async (orderBy, wrong) => {
    const { pageInfo } = await page(`orderBy: ${orderBy}, first: 1`);
    for (const value of wrong) {
      for (const argument of ["after", "before"]) {
        const { data, errors } = await ask(
          app,
          `query ($made: Cursor) {
            made: allDexTrades(orderBy: ${orderBy}, ${argument}: $made) {
              totalCount edges { cursor } nodes { id } pageInfo { startCursor hasNextPage }
            }
            other: allDexTrades(first: 1) { totalCount }
          }`,
          { made: withValue(pageInfo.endCursor!, value) },
        );
        expect(data).toEqual({ made: null, other: { totalCount: 60 } });
        expect(errors).toEqual([
          expect.objectContaining({
            message: `Argument "${argument}" is not a cursor that this service gave for this order.`,
            path: ["made"],
            extensions: { code: "BAD_USER_INPUT" },
          }),
        ]);
      }
    }
  });

  it("of an order without an index is checked alike, with its nulls", async () => {
    const query = (after: string): string =>
      `{ allDexPairs(orderBy: ACTIVE_ASC, first: 1${after}) { pageInfo { endCursor } } }`;
    const { allDexPairs } = await dataOf<{ allDexPairs: TradesPage }>(app, query(""));
    const made = withValue(allDexPairs.pageInfo.endCursor!, "x");
    expect(await errorsOf(app, query(`, after: "${made}"`))).toEqual([
      'Argument "after" is not a cursor that this service gave for this order.',
    ]);
  });

  it.each([1.5, 1e300, -1, "1"])("of a function's rows at %p is an error", async (position) => {
    const made = Buffer.from(JSON.stringify(["natural", position])).toString("base64");
    const query = `{ dexBook(base: "weth", quote: "dai", after: "${made}") { nodes { price } } }`;
    expect(await errorsOf(app, query)).toEqual([
      'Argument "after" is not a cursor that this service gave for this order.',
    ]);
  });

  it("repeats and skips no trade while trades are added", async () => {
    await using other = await makeDatabase();
    await using busyApp = await makeTestApp(other.reader);
    const add = (from: number, count: number): Promise<void> =>
      write(other.writer, {
        trades: Array.from({ length: count }, (_, i) =>
          aTrade({ block: from + Math.floor(i / 2), idx: i }),
        ),
      });
    await add(1, 40);

    const seen: number[] = [];
    let cursor: string | null = null;
    for (let more = true; more;) {
      const args: string = cursor === null ? "" : `, after: "${cursor}"`;
      const { allDexTrades } = await dataOf(
        busyApp,
        `{ allDexTrades(orderBy: BLOCK_DESC, first: 6${args}) { ${PAGE} } }`,
      );
      seen.push(...ids(allDexTrades));
      cursor = allDexTrades.pageInfo.endCursor;
      more = allDexTrades.pageInfo.hasNextPage;
      await add(100 + seen.length, 2);
    }
    // The 40 trades that existed at the first page, newest first.
    expect(seen).toEqual(upTo(40).reverse());
  });
});

describe("condition and filter", () => {
  const count = async (args: string): Promise<number> => (await page(args)).totalCount;
  const expected = (matches: (trade: (typeof history)[number], i: number) => boolean): number =>
    history.filter(matches).length;

  it("counts and returns only trades of the market and taker", async () => {
    const { nodes, totalCount } = await page(
      `condition: { market: "WETHDAI", taker: "${anAddress("taker 0")}" }, first: 2, orderBy: BLOCK_DESC`,
    );
    // Every third trade, except those of MKRWETH (i % 5 = 3) and of no market (i % 5 = 4).
    const matching = upTo(60).filter((id) => (id - 1) % 3 === 0 && (id - 1) % 5 < 3);
    expect(totalCount).toBe(matching.length);
    expect(ids({ nodes })).toEqual(matching.reverse().slice(0, 2));
  });

  it("finds trades of no market by a null condition", async () => {
    expect(await count("condition: { market: null }")).toBe(12);
    expect(await count("filter: { market: { isNull: true } }")).toBe(12);
  });

  it.each([
    ['{ act: { equalTo: "buy" } }', (_: unknown, i: number) => i % 2 === 1 && i % 5 < 4],
    ['{ lotTkn: { in: ["MKR"] } }', (_: unknown, i: number) => i % 5 === 3 && i % 2 === 0],
    [
      "{ block: { greaterThan: 10, lessThanOrEqualTo: 12 } }",
      (_: unknown, i: number) => i >= 33 && i < 39,
    ],
    [
      '{ price: { greaterThanOrEqualTo: "29.5" } }',
      (_: unknown, i: number) => i >= 58 && i % 5 < 4,
    ],
    [`{ time: { lessThan: "${hours(1)}" } }`, (_: unknown, i: number) => i < 6],
    // A null is neither in a list nor out of it.
    ["{ not: { offerId: { in: [1, 2, 3] } } }", (_: unknown, i: number) => i % 7 > 2 && i % 7 < 6],
    [
      "{ offerId: { notIn: [1] }, idx: { equalTo: 0 } }",
      (_: unknown, i: number) => i % 7 > 0 && i % 7 < 6 && i % 3 === 0,
    ],
    ['{ market: { notEqualTo: "WETHDAI" } }', (_: unknown, i: number) => i % 5 === 3],
    [
      '{ lotTkn: { equalToInsensitive: "weth" } }',
      (_: unknown, i: number) => (i % 5 < 3 && i % 2 === 0) || (i % 5 === 3 && i % 2 === 1),
    ],
    [
      `{ taker: { inInsensitive: ["${anAddress("taker 1").toUpperCase().replace("0X", "0x")}"] } }`,
      (_: unknown, i: number) => i % 3 === 1,
    ],
  ])("filter: %s", async (filter, matches) => {
    expect(await count(`filter: ${filter}`)).toBe(expected(matches));
  });

  it("combines the conditions beside an or with and", async () => {
    const either = `or: [
      { lotGem: { equalTo: "${WETH}" }, bidGem: { equalTo: "${DAI}" } },
      { lotGem: { equalTo: "${DAI}" }, bidGem: { equalTo: "${WETH}" } }
    ]`;
    expect(await count(`filter: { ${either} }`)).toBe(36);
    expect(
      await count(
        `filter: { ${either}, time: { greaterThanOrEqualTo: "${hours(2)}", lessThan: "${hours(3)}" } }`,
      ),
    ).toBe(expected((_, i) => i >= 12 && i < 18 && i % 5 < 3));
  });

  it("compares every digit of an amount given as text", async () => {
    await write(database.writer, {
      trades: [aTrade({ hour: 100, base: "6243.744408617758000001", quote: "1" })],
    });
    expect(await count('condition: { lotAmt: "6243.744408617758000001" }')).toBe(1);
    expect(await count('condition: { lotAmt: "6243.744408617758" }')).toBe(0);
    expect(await count("condition: { lotAmt: 6243.744408617758000001 }")).toBe(1);
    await database.writer.query("select ingest.take_back(19)");
  });

  it.each([
    [
      '{ price: { equalTo: "1,5" } }',
      '"1,5" is not accepted as BigFloat: expected a decimal number',
    ],
    [
      '{ time: { equalTo: "yesterday" } }',
      '"yesterday" is not accepted as Datetime: expected a time',
    ],
    ['{ time: { equalTo: "2026-02-30" } }', '"2026-02-30" is not accepted as Datetime'],
    [
      '{ time: { equalTo: "2026-01-31T00:00:00+15:60" } }',
      '"2026-01-31T00:00:00+15:60" is not accepted as Datetime',
    ],
    [
      '{ time: { equalTo: "0000-01-01T00:00:00Z" } }',
      '"0000-01-01T00:00:00Z" is not accepted as Datetime: expected a time from year 1 to 9999',
    ],
    [
      "{ price: { equalTo: NaN } }",
      "NaN is not accepted as BigFloat: expected a decimal number, as a string",
    ],
    [
      "{ price: { equalTo: [true] } }",
      "A list is not accepted as BigFloat: expected a decimal number",
    ],
    [
      '{ id: { equalTo: "9223372036854775808" } }',
      '"9223372036854775808" is not accepted as BigInt',
    ],
    ["{}", 'An empty object in "filter" says nothing'],
    ["{ market: {} }", 'An empty object in "filter" says nothing'],
    ["{ market: { equalTo: null } }", 'A null in "filter" says nothing'],
    ["{ not: {} }", 'An empty object in "filter" says nothing'],
    ["{ or: [{ market: {} }] }", 'An empty object in "filter" says nothing'],
    ["{ or: [] }", 'An empty list in "or" of "filter" says nothing'],
    ["{ and: [] }", 'An empty list in "and" of "filter" says nothing'],
    ['{ market: { equalTo: "WETHDAI" }, or: [] }', 'An empty list in "or" of "filter"'],
    ["{ not: { or: [{ and: [] }] } }", 'An empty list in "and" of "filter" says nothing'],
    ['{ market: { includes: "W" } }', 'Field "includes" is not defined by type "StringFilter"'],
    ["{ offer: { id: { equalTo: 1 } } }", 'Field "offer" is not defined by type "DexTradeFilter"'],
  ])("filter: %s is an error that names the accepted input", async (filter, message) => {
    const [first] = await errorsOf(app, `{ allDexTrades(filter: ${filter}) { totalCount } }`);
    expect(first).toContain(message);
  });

  it.each(["filter: null", "filter: $null", "filter: $unset"])(
    "takes %s for no filter",
    async (argument) => {
      const { allDexTrades } = await dataOf(
        app,
        `query ($null: DexTradeFilter, $unset: DexTradeFilter) {
          allDexTrades(${argument}) { totalCount nodes { id } }
          null: allDexTrades(filter: $null) { totalCount }
          unset: allDexTrades(filter: $unset) { totalCount }
        }`,
        { null: null },
      );
      expect(allDexTrades.totalCount).toBe(60);
      expect(allDexTrades.nodes).toHaveLength(60);
    },
  );

  it("rejects an empty list of conditions in a variable, before the database is asked", async () => {
    const query = `query ($f: DexTradeFilter) {
      allDexTrades(filter: $f) { totalCount nodes { id } pageInfo { hasNextPage } }
    }`;
    const { data, errors } = await ask(app, query, { f: { or: [] } });
    expect(data).toEqual({ allDexTrades: null });
    expect(errors).toEqual([
      {
        message:
          'An empty list in "or" of "filter" says nothing: leave it out, or give it a condition.',
        locations: [{ line: 2, column: 7 }],
        path: ["allDexTrades"],
        extensions: { code: "BAD_USER_INPUT" },
      },
    ]);
  });

  it("finds no row in an empty list of values", async () => {
    const { allDexTrades } = await dataOf(
      app,
      "{ allDexTrades(filter: { market: { in: [] } }) { totalCount } }",
    );
    expect(allDexTrades.totalCount).toBe(0);
  });

  it("takes a JSON number by all its digits", async () => {
    const query =
      "query ($n: BigFloat) { allDexTrades(condition: { lotAmt: $n }) { totalCount nodes { lotAmt } } }";
    const { allDexTrades } = await dataOf(app, "{ allDexTrades(first: 1) { nodes { lotAmt } } }");
    const lotAmt = String(allDexTrades.nodes[0]!["lotAmt"]);
    const countOf = async (text: string): Promise<number> => {
      const body = `{"query": ${JSON.stringify(query)}, "variables": {"n": ${text}}}`;
      const answer = await app.request.post("/graphql").type("json").send(body);
      return answer.body.data.allDexTrades.totalCount;
    };
    // A double of both is the same.
    const whole = lotAmt.includes(".") ? lotAmt : `${lotAmt}.0`;
    expect(await countOf(whole)).toBeGreaterThan(0);
    expect(await countOf(`${whole}000000000000000000001`)).toBe(0);
    expect(await errorsOf(app, query, { n: { a: [true] } })).toEqual([
      expect.stringContaining("An object is not accepted as BigFloat: expected a decimal"),
    ]);
  });
});

it("ignores variables that the query does not declare", async () => {
  const { allDexTrades } = await dataOf(
    app,
    "query ($first: Int) { allDexTrades(first: $first) { totalCount } }",
    { first: 1, unused: "by old clients" },
  );
  expect(allDexTrades.totalCount).toBe(60);
});
