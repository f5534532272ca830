// An operation with @asOf is answered as it was when its block was the head.
import { makeTestApp, OF_ONE_VERSION } from "../../app.ts";
import {
  aHash,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  registerMarkets,
  registerPair,
  WETH,
} from "../../factories.ts";
import { ask, dataOf, errorsOf, type Trades } from "../../graphql.ts";
import { serveRecorded } from "../../served.ts";
import { failStatements } from "../../statements.ts";
import { operationOf, SELECTIONS, withoutMarks } from "./past-answers.ts";

/** Hours after genesis of the blocks. */
const HOURS = [1, 2, 9, 26, 27];
const NAMED = { trade: "2", offer: 10, base: "WETH", quote: "DAI" };

// An answer from the cache would send no statement.
const {
  app,
  database,
  statements: sent,
} = serveRecorded((writer) => registerMarkets(writer), { cache: "off" });
/** By name of the selection, behind each block. */
const heads: Record<string, unknown>[] = [];
beforeAll(async () => {
  for (const n of HOURS.keys()) {
    await writeBlock(n);
    heads.push(await answers());
    await registerPair(database.writer, WETH, DAI, n % 2 === 1);
  }
});

/** In the last block but one, offer 12 is cancelled, and in the last one offer 11 is filled. */
const writeBlock = (n: number, price = 200 + n): Promise<unknown> => {
  const hour = HOURS[n]!;
  const isLast = n === HOURS.length - 1;
  const offers = [
    anOffer({ id: 10 + n, hour, base: "10", quote: String(1000 + n) }),
    anOffer({ id: 20 + n, hour, side: "buy", base: "10", quote: String(900 - n) }),
  ].map((offer) => ({ ...offer, killed: undefined }));
  const trades = [
    aTrade({ hour, offer_id: 10, base: "2", quote: String(price) }),
    aTrade({ hour, offer_id: 21, side: "buy", base: "1", quote: "90", idx: 1 }),
    ...(isLast ? [aTrade({ hour, offer_id: 11, base: "10", idx: 2 })] : []),
  ];
  return database.writer.query(
    "select ingest.write_block($1, $2, $3, offers => $4, trades => $5, killed => $6)",
    [
      ...[blockAt(hour), hours(hour), aHash(`${price} in ${hour}`)],
      ...[JSON.stringify(offers), JSON.stringify(trades), n === 3 ? [12, 20 + n - 1] : []],
    ],
  );
};

async function answers(directive = ""): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [name, selection] of Object.entries(SELECTIONS)) {
    const { query, variables } = operationOf(selection, NAMED, directive);
    const { data, errors } = await ask<object>(app, query, variables);
    expect(errors).toBeUndefined();
    found[name] = data;
  }
  return found;
}

it("answers everything as it was when the block was the head", async () => {
  for (const [n, hour] of HOURS.entries()) {
    expect(withoutMarks(await answers(`@asOf(block: ${blockAt(hour)})`))).toEqual(heads[n]);
  }
});

it("has offers as they were: neither filled nor cancelled before the block", async () => {
  const offersAt = async (hour: number) => {
    const offers = "allDexOffers(filter: { id: { in: [11, 12] } }) { nodes { id filled killed } }";
    const { allDexOffers } = await dataOf<{ allDexOffers: { nodes: object[] } }>(
      app,
      `query @asOf(block: ${blockAt(hour)}) { ${offers} }`,
    );
    return allDexOffers.nodes;
  };
  const [open, cancelled] = [
    { filled: false, killed: 0 },
    { filled: false, killed: blockAt(26) },
  ];
  expect(await offersAt(2)).toEqual([{ id: 11, ...open }]);
  for (const [hour, one, other] of [
    [9, open, open],
    [26, open, cancelled],
    [27, { filled: true, killed: 0 }, cancelled],
  ] as const) {
    expect(await offersAt(hour)).toEqual([
      { id: 11, ...one },
      { id: 12, ...other },
    ]);
  }
});

it("reads no table of a past block as it is now", async () => {
  await answers(`@asOf(block: ${blockAt(9)})`);
  const reads = sent.map(({ text }) => text).filter((text) => text.includes("from"));
  expect(reads.length).toBeGreaterThan(20);
  for (const text of reads) {
    expect(text).not.toMatch(/"public"\."dex_(trade|offer|pair)"(?!\()/);
  }
});

it("sends the statements of before without the directive", async () => {
  await app.request.post("/graphql").send({ query: "{ __typename }" });
  sent.length = 0;
  for (const selection of Object.values(SELECTIONS)) {
    const { query, variables } = operationOf(selection, NAMED);
    await dataOf(app, query.replace("query", "query another"), variables);
  }
  expect(sent.length).toBeGreaterThan(20);
  for (const { text } of sent) expect(text).not.toMatch(/as_of/);
});

const BLOCK = "{ dexHead { block } }";
const blockOf = async (directive: string, variables = {}, declared = ""): Promise<number> =>
  (
    await dataOf<{ dexHead: { block: number } }>(
      app,
      `query ${declared} ${directive} ${BLOCK}`,
      variables,
    )
  ).dexHead.block;

it.each([
  ["a number", `block: ${blockAt(2)}`],
  ["a number between two blocks", `block: ${blockAt(9) - 1}`],
  ["a time", `time: "${hours(2)}"`],
  ["a time between two blocks", `time: "${hours(3)}"`],
  ["a time in small letters with an offset", 'time: "2026-01-01t04:00+02"'],
  ["a hash", `hash: "${aHash("201 in 2")}"`],
  ["a hash in capitals", `hash: "0x${aHash("201 in 2").slice(2).toUpperCase()}"`],
])("takes %s", async (_what, args) => {
  expect(await blockOf(`@asOf(${args})`)).toBe(blockAt(2));
});

it("takes variables, and no argument from one that is not given", async () => {
  const declared = "($block: Int, $time: Datetime, $hash: String)";
  const directive = "@asOf(block: $block, time: $time, hash: $hash)";
  expect(await blockOf(directive, { block: blockAt(9) }, declared)).toBe(blockAt(9));
  expect(await blockOf(directive, { time: hours(2) }, declared)).toBe(blockAt(2));
  expect(await blockOf("@asOf(block: $n)", {}, `($n: Int! = ${blockAt(2)})`)).toBe(blockAt(2));
});

const AVAILABLE = `No such block: there are the blocks from ${blockAt(1)}, of 2026-01-01T01:00:00Z, to ${blockAt(27)}, of 2026-01-02T03:00:00Z`;
const NEITHER = "give one of block, time and hash.";

it.each([
  [`block: ${blockAt(1) - 1}`, AVAILABLE],
  [`block: ${blockAt(27) + 1}`, AVAILABLE],
  [`time: "${hours(28)}"`, AVAILABLE],
  [`hash: "${aHash("another")}"`, AVAILABLE],
  ["block: -1", '"block" of @asOf must be an integer from 0 to 2147483647, not -1.'],
  ["block: null", '"block" of @asOf must be an integer from 0 to 2147483647, not null.'],
  ["time: null", /^"time" of @asOf must be a time in ISO 8601/],
  ['time: "2026-01-01T20:00:00+15:00"', /with an offset of less than 15 hours\.$/],
  ['hash: "0x12"', '"hash" of @asOf must be the hash of a block: 0x and 64 hexadecimal digits.'],
  [`block: 1, time: "${hours(1)}"`, `@asOf has block and time: ${NEITHER}`],
  ['time: "yesterday"', /is not accepted as Datetime/],
  ['block: "head"', /^Int cannot represent/],
])("refuses %s", async (args, message) => {
  const [found, ...others] = await errorsOf(app, `query @asOf(${args}) ${BLOCK}`);
  expect(others).toEqual([]);
  expect(found).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
});

it("refuses a missing block before it reads, also where nothing is read", async () => {
  const { data, errors } = await ask(app, "query @asOf(block: 1) { __typename }");
  expect(data).toBeUndefined();
  expect(errors).toEqual([{ message: AVAILABLE, extensions: { code: "NO_SUCH_BLOCK" } }]);
  expect(sent.at(-1)?.text).toBe("rollback");
});

it.each([
  ["query ($n: Int) @asOf(block: $n)", { n: null }, /"block" of @asOf must be .*, not null\.$/],
  ["query ($n: Int) @asOf(block: $n)", {}, `@asOf names no block: ${NEITHER}`],
  ["query @asOf", {}, `@asOf names no block: ${NEITHER}`],
  ["query ($n: Int!) @asOf(block: $n)", { n: "head" }, /^Variable "\$n" got invalid value/],
  ["query @asOf(block: 1) @asOf(block: 2)", {}, /can only be used once/],
  ["subscription @asOf(block: 1)", {}, /may not be used on SUBSCRIPTION/],
])("refuses %s with %j", async (operation, variables, message) => {
  const [found] = await errorsOf(app, `${operation} ${BLOCK}`, variables);
  expect(found).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
});

it("refuses the directive in any other place", async () => {
  const [field] = await errorsOf(app, "{ dexHead @asOf(block: 1) { block } }");
  expect(field).toMatch(/may not be used on FIELD/);
  const [fragment] = await errorsOf(
    app,
    "{ ...head } fragment head on Query @asOf(block: 1) { dexHead { block } }",
  );
  expect(fragment).toMatch(/may not be used on FRAGMENT_DEFINITION/);
});

it("reads the same block after a field that fails", async () => {
  const { data, errors } = await ask<Trades & { dexHead: object }>(
    app,
    `query @asOf(block: ${blockAt(2)}) {
      dexBook(base: "weth", quote: "dai", depth: 0) { nodes { price } }
      dexHead { block }
      allDexTrades { totalCount }
    }`,
  );
  expect(errors).toMatchObject([{ path: ["dexBook"] }]);
  expect(data).toMatchObject({ dexHead: { block: blockAt(2) }, allDexTrades: { totalCount: 4 } });
});

it("gives back each connection without its block, however the operation ends", async () => {
  // More operations than the pool has connections: one that is not given back would be missed.
  for (let n = 0; n <= database.reader.options.max; n += 1) {
    await ask(app, `query @asOf(block: ${n % 2 === 0 ? 1 : blockAt(2)}) ${BLOCK}`);
    expect(await blockOf("")).toBe(blockAt(27));
  }
});

const soldAt = async (directive: string): Promise<number> => {
  const selection = `allDexTrades(filter: { act: { equalTo: "buy" } }) { nodes { id } totalCount }`;
  const { allDexTrades } = await dataOf(app, `query ${directive} { ${selection} }`);
  expect(allDexTrades.nodes).toHaveLength(allDexTrades.totalCount);
  return allDexTrades.totalCount;
};

it("keeps no count of a past block in place of the head's", async () => {
  expect(await soldAt("")).toBe(5);
  expect(await soldAt(`@asOf(block: ${blockAt(9)})`)).toBe(3);
  expect(await soldAt(`@asOf(block: ${blockAt(2)})`)).toBe(2);
  sent.length = 0;
  expect(await soldAt("")).toBe(5);
  // A connection that the pool opens meanwhile begins with a setting.
  expect(sent.filter(({ text }) => !text.startsWith("set "))).toHaveLength(1);
});

const refusalOf = async (selection: string): Promise<unknown> => {
  const { errors = [] } = await ask(app, `query ${selection}`);
  return errors.map(({ extensions }) => extensions?.["code"]);
};

it("costs more where figures are computed and rows are counted for the block", async () => {
  const at = `@asOf(block: ${blockAt(9)})`;
  const markets = "{ allDexMarkets(first: 1000) { nodes { dexPair { dexPrice { last } } } } }";
  expect(await refusalOf(markets)).toEqual([]);
  expect(await refusalOf(`${at} ${markets}`)).toEqual(["TOO_EXPENSIVE"]);
  const totals = Array.from(
    { length: 20 },
    (_, n) => `t${n}: allDexTrades(condition: { taker: "${n}" }) { totalCount }`,
  );
  const counted = `{ ${totals.join(" ")} allDexTrades(first: 1000) { nodes { offer { id } trades: offer { trades(first: 12) { nodes { id } } } } } }`;
  expect(await refusalOf(counted)).toEqual([]);
  const { errors } = await ask(app, `query ${at} ${counted}`);
  expect(errors?.[0]?.message).toMatch(
    /20 have a total of chosen rows as of a past block, and each after the first counts as 2000\.$/,
  );
});

const PAGE = `allDexTrades(first: 2, orderBy: BLOCK_DESC, after: $after) {
  nodes { id }
  edges { cursor }
  pageInfo { endCursor hasNextPage }
}`;
const pageOf = (directive: string, after?: string | null) =>
  ask(app, `query ($after: Cursor) ${directive} { ${PAGE} }`, { after });

it("pages by cursors that carry the block", async () => {
  const ids: unknown[] = [];
  const at = `@asOf(block: ${blockAt(9)})`;
  let after: string | null = null;
  for (let pages = 0; pages < 3; pages += 1) {
    const { data } = await pageOf(at, after);
    const { nodes, edges, pageInfo } = data!.allDexTrades;
    ids.push(...nodes.map(({ id }) => id));
    expect(pageInfo.hasNextPage).toBe(pages < 2);
    expect(edges.at(-1)?.cursor).toBe(pageInfo.endCursor);
    after = pageInfo.endCursor;
  }
  expect(ids).toEqual(["6", "5", "4", "3", "2", "1"]);
});

it("refuses a cursor of another block, and one of a past block at the head", async () => {
  const { data } = await pageOf(`@asOf(block: ${blockAt(9)})`);
  const cursor = data!.allDexTrades.pageInfo.endCursor;
  sent.length = 0;
  const other = await pageOf(`@asOf(block: ${blockAt(2)})`, cursor);
  expect(other).toMatchObject({
    data: { allDexTrades: null },
    errors: [
      {
        message: `Argument "after" is a cursor as of block ${blockAt(9)}, and the operation is as of block ${blockAt(2)}: page on with @asOf(block: ${blockAt(9)}).`,
        extensions: { code: "BAD_USER_INPUT" },
      },
    ],
  });
  const head = await pageOf("", cursor);
  expect(head).toMatchObject({
    data: { allDexTrades: null },
    errors: [
      {
        message: `Argument "after" is a cursor as of block ${blockAt(9)}: page on with @asOf(block: ${blockAt(9)}).`,
        extensions: { code: "BAD_USER_INPUT" },
      },
    ],
  });
  expect(sent.some(({ text }) => text.includes("dex_trade"))).toBe(false);
  // The same block by another name, and by a later number without a block.
  for (const directive of [`@asOf(time: "${hours(9)}")`, `@asOf(block: ${blockAt(9) + 5})`]) {
    expect((await pageOf(directive, cursor)).data?.allDexTrades.nodes).toHaveLength(2);
  }
  const { message } = (
    await ask(
      app,
      `query ($before: Cursor) @asOf(block: ${blockAt(2)}) { dexOffer(id: 10) { trades(last: 1, before: $before) { nodes { id } } } }`,
      { before: cursor },
    )
  ).errors![0]!;
  expect(message).toMatch(/^Argument "before" is a cursor as of block/);
});

it.each(["2147483648", "9".repeat(40), "007"])(
  "does not repeat the block of a forged cursor, which @asOf would not take: %s",
  async (block) => {
    const mark = `as of block ${block} 0123abcd`;
    const cursor = Buffer.from(JSON.stringify([mark, "digest", "1"])).toString("base64");
    for (const directive of ["", `@asOf(block: ${blockAt(9)})`]) {
      const { errors } = await pageOf(directive, cursor);
      expect(errors?.[0]?.extensions).toEqual({ code: "BAD_USER_INPUT" });
      expect(errors?.[0]?.message).not.toContain(block);
      expect(errors?.[0]?.message).toMatch(/cursor/);
    }
  },
);

it("takes a cursor of the head, which is a place in the order alone", async () => {
  const { data } = await pageOf("");
  const after = data!.allDexTrades.pageInfo.endCursor;
  const page = await pageOf(`@asOf(block: ${blockAt(9)})`, after);
  expect(page.data?.allDexTrades.nodes).toEqual([{ id: "6" }, { id: "5" }]);
});

it("names its block in X-Head-Block, and has X-Min-Block mean the database", async () => {
  const query = `query @asOf(block: ${blockAt(3)}) ${BLOCK}`;
  const post = app.request.post("/graphql").send({ query });
  expect((await post).headers["x-head-block"]).toBe(String(blockAt(2)));
  const since = app.request.post("/graphql").set("X-Min-Block", String(blockAt(27)));
  const { status, headers } = await since.send({ query });
  expect([status, headers["x-head-block"]]).toEqual([200, String(blockAt(2))]);
});

it("leaves the answers of the head in the cache, and finds its answer there", async () => {
  const small = await makeTestApp(database.reader, {
    cache: { ...OF_ONE_VERSION, bytes: 200_000 },
  });
  const from = async (directive: string): Promise<unknown> => {
    const query = `query ${directive} ${BLOCK}`;
    const { headers } = await small.request.post("/graphql").send({ query });
    return headers["server-timing"];
  };
  await from("");
  for (let n = 0; n < 30; n += 1) await from(`@asOf(block: ${blockAt(9) + n})`);
  expect(await from("")).toBe("cache;desc=hit");
  expect(await from(`@asOf(block: ${blockAt(9) + 29})`)).toBe("cache;desc=hit");
  expect(await from(`@asOf(block: ${blockAt(9)})`)).toMatch(/^cache;desc=miss/);
  await small.close();
});

it("refuses a cursor of a block that a reorganisation has replaced", async () => {
  const at = `@asOf(block: ${blockAt(27)})`;
  const { data } = await pageOf(at);
  const cursor = data!.allDexTrades.pageInfo.endCursor;
  await database.writer.query("select ingest.take_back($1)", [blockAt(26)]);
  expect((await pageOf(at, cursor)).errors).toMatchObject([
    { extensions: { code: "NO_SUCH_BLOCK" } },
  ]);
  await writeBlock(4, 555);
  expect((await pageOf(at, cursor)).errors).toMatchObject([
    {
      message: `Argument "after" is a cursor as of block ${blockAt(27)} as it was before a reorganisation: begin with the first page.`,
    },
  ]);
});

it("says that a deleted block without rows is no longer there, in place of asking for it", async () => {
  const quiet = blockAt(27) + 12;
  await database.writer.query("select ingest.write_block($1, $2, $3)", [
    ...[quiet, hours(27.01), aHash("quiet")],
  ]);
  const directive = `@asOf(block: ${quiet})`;
  const { endCursor } = (await pageOf(directive)).data!.allDexTrades.pageInfo;
  expect((await pageOf(directive, endCursor)).data?.allDexTrades.nodes).toHaveLength(2);
  await database.writer.query("select ingest.write_block($1, $2, $3, trades => $4)", [
    ...[blockAt(28), hours(28), aHash("28"), JSON.stringify([aTrade({ hour: 28 })])],
  ]);
  // Its rolling windows ended at another moment than those of the block before, so pages of both do not go together.
  expect(await blockOf(directive)).toBe(blockAt(27));
  expect((await pageOf(directive, endCursor)).errors).toMatchObject([
    { message: expect.stringContaining("which is no longer there: begin with the first page") },
  ]);
});

it("refuses a cursor of a block without rows that another one has replaced", async () => {
  const quiet = blockAt(28) + 12;
  const writeAt = (hour: number, hash: string): Promise<unknown> =>
    database.writer.query("select ingest.write_block($1, $2, $3)", [
      ...[quiet, hours(hour), aHash(hash)],
    ]);
  await writeAt(28.01, "a");
  const directive = `@asOf(block: ${quiet})`;
  const { endCursor } = (await pageOf(directive)).data!.allDexTrades.pageInfo;
  await database.writer.query("select ingest.take_back($1)", [blockAt(28)]);
  await writeAt(28.02, "b");
  expect((await pageOf(directive, endCursor)).errors).toMatchObject([
    { message: expect.stringContaining("as it was before a reorganisation") },
  ]);
});

it("refuses a cursor of a replaced block without a hash, and says what can be done", async () => {
  const at = `@asOf(block: ${blockAt(30)})`;
  const writeAt = (hour: number, quote: string): Promise<unknown> =>
    database.writer.query("select ingest.write_block($1, $2, trades => $3)", [
      ...[blockAt(hour), hours(hour), JSON.stringify([aTrade({ hour, quote })])],
    ]);
  await database.empty();
  await registerMarkets(database.writer);
  for (const hour of [28, 29, 30]) await writeAt(hour, "8");
  const cursor = (await pageOf(at)).data!.allDexTrades.pageInfo.endCursor;
  const refusal = async (): Promise<string | undefined> =>
    (await pageOf(at, cursor)).errors?.[0]?.message;
  await database.writer.query("select ingest.take_back($1)", [blockAt(29)]);
  await writeAt(30, "9");
  expect(await refusal()).toBe(
    `Argument "after" is a cursor as of block ${blockAt(30)} as it was before a reorganisation: begin with the first page.`,
  );
  await database.writer.query("select ingest.take_back($1)", [blockAt(29)]);
  await writeAt(31, "8");
  expect(await refusal()).toBe(
    `Argument "after" is a cursor as of block ${blockAt(30)}, which is no longer there: begin with the first page.`,
  );
});

it.each([
  ["whose connection is lost", { code: "57P01" }, "UNAVAILABLE"],
  ["that took too long", { code: "57014" }, "TIMEOUT"],
])("has a code for a beginning %s after the block is known", async (_, error, code) => {
  const other = database.pool({ role: "dex_reader" });
  failStatements(other, "savepoint", error);
  await using failing = await makeTestApp(other, { cache: "off" });
  const { dexHead } = await dataOf<{ dexHead: { block: number } }>(app, "{ dexHead { block } }");
  const query = `query @asOf(block: ${dexHead.block}) { dexHead { block } }`;
  const { body } = await failing.request.post("/graphql").send({ query });
  expect(body).toEqual({
    errors: [{ message: expect.any(String), extensions: expect.objectContaining({ code }) }],
  });
  expect(body.errors[0].message).not.toContain("the statement failed");
});
