// GraphQL over HTTP: statuses, media types, errors without insides, and GraphiQL.
import { makeTestApp } from "../app.ts";
import { makeDatabase, openPool } from "../database.ts";
import { aTrade, registerMarkets, setHead, write } from "../factories.ts";
import { ask, dataOf } from "../graphql.ts";
import { serveDatabase } from "../served.ts";

const { app, database } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade({ hour: 1 })] });
});

const post = (body: object | string, headers: Record<string, string> = {}) =>
  app.request
    .post("/graphql")
    .set({ "content-type": "application/json", accept: "application/json", ...headers })
    .send(body);

/** Operation A has a variable of a list in a fragment, and B a variable of the same name elsewhere. */
const listsOf = (directive: string): string => `
  query A($a: String = "WETHDAI", $b: Boolean = true) {
    __typename
    ...Lists ${directive}
    ... @include(if: $b) @skip(if: $b) { __typename }
  }
  query B($a: Int = 1) {
    __typename
    allDexTrades(first: $a) @skip(if: true) { totalCount }
  }
  fragment Lists on Query {
    allDexTrades(filter: { market: { in: [$a] } }) { totalCount }
  }`;

describe("the head", () => {
  it("is null where no block was ever written", async () => {
    await using empty = await makeDatabase();
    await using ofEmpty = await makeTestApp(empty.reader);
    expect(await dataOf(ofEmpty, "{ dexHead { block time } }")).toEqual({ dexHead: null });
  });

  it("is the last block written", async () => {
    await setHead(database.writer, 2);
    expect(await dataOf(app, "{ dexHead { block time } }")).toEqual({
      dexHead: { block: 7200, time: "2026-01-01T02:00:00.000000+00:00" },
    });
  });
});

describe("a request", () => {
  it("takes query, variables and operationName", async () => {
    const { body } = await post({
      query:
        "query A { __typename } query B($n: Int) { allDexTrades(first: $n) { nodes { market } } }",
      operationName: "B",
      variables: { n: 1, undeclared: true },
    });
    expect(body).toEqual({ data: { allDexTrades: { nodes: [{ market: "WETHDAI" }] } } });
  });

  it.each([
    ["String!", "filter: { market: { in: [$a, $a] } }", "WETHDAI"],
    ["String!", 'filter: { market: { in: [$a, "other", $a, $b, $b] } }', "WETHDAI"],
    ["DexTradeFilter!", "filter: { or: [$a, $a] }", { market: { equalTo: "WETHDAI" } }],
    [
      "String!",
      "filter: { or: [{ market: { in: [$a, $a] } }, { market: { in: [$a, $a] } }] }",
      "WETHDAI",
    ],
    ["StringFilter!", "filter: { and: [{ market: $a }, { market: $a }] }", { equalTo: "WETHDAI" }],
  ])("takes one variable of type %s several times in a list: %s", async (type, argument, a) => {
    const second = argument.includes("$b") ? `, $b: ${type}` : "";
    const query = `query ($a: ${type}${second}) { allDexTrades(${argument}) { nodes { market } } }`;
    const { body } = await post({ query, variables: { a, b: a } });
    expect(body).toEqual({ data: { allDexTrades: { nodes: [{ market: "WETHDAI" }] } } });
  });

  it("refuses one variable twice in orderBy as it refuses the value twice", async () => {
    const query = (given: string, values: string) =>
      `query ${given} { allDexTrades(orderBy: ${values}) { totalCount } }`;
    const [byVariable, byValue] = [
      await post({
        query: query("($a: DexTradesOrderBy!)", "[$a, $a]"),
        variables: { a: "ID_ASC" },
      }),
      await post({ query: query("", "[ID_ASC, ID_ASC]") }),
    ];
    expect(byVariable.body.errors[0]).toMatchObject({
      message: byValue.body.errors[0].message,
      extensions: { code: "BAD_USER_INPUT" },
    });
  });

  // By the specification, a nullable variable with a default may stand where no null is accepted.
  it.each([
    ["", { a: null }],
    ["@skip(if: $b)", { a: null, b: false }],
    ["@include(if: $b)", { a: null, b: true }],
  ])("refuses null for a variable in a list that holds none %s", async (directive, variables) => {
    const { body } = await post({ query: listsOf(directive), operationName: "A", variables });
    expect(body.errors).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/^Variable "\$a" must not be null/),
        extensions: { code: "BAD_USER_INPUT" },
      }),
    ]);
  });

  it.each(["dexHead @skip(if: $b) { block }", "__schema @include(if: $b) { queryType { name } }"])(
    "refuses null for a variable of a condition: %s",
    async (field) => {
      const query = `query ($b: Boolean = true) { ${field} }`;
      const { body } = await post({ query, variables: { b: null } });
      expect(body.errors).toEqual([
        expect.objectContaining({
          message: expect.stringMatching(/^Variable "\$b" must not be null/),
          extensions: { code: "BAD_USER_INPUT" },
        }),
      ]);
    },
  );

  it.each([
    ["@skip(if: $b)", { a: null, b: true }, "A"],
    ["@include(if: $b)", { a: null, b: false }, "A"],
    ["", { a: null }, "B"],
  ])("takes it where nothing executed needs it: %s %j", async (directive, variables, operation) => {
    const asked = { query: listsOf(directive), operationName: operation, variables };
    const { body } = await post(asked);
    expect(body).toEqual({ data: { __typename: "Query" } });
  });

  it("refuses a variable named __proto__, whose value would be dropped", async () => {
    const { body } = await post(
      '{ "query": "query ($__proto__: Int) { allDexTrades(first: $__proto__) { totalCount } }", "variables": { "__proto__": 1 } }',
    );
    expect(body.errors).toEqual([
      expect.objectContaining({
        message: 'A variable must not be named "__proto__": choose another name.',
        extensions: { code: "BAD_USER_INPUT" },
      }),
    ]);
  });

  it.each(["constructor", "toString", "hasOwnProperty"])(
    "takes %s as the name of a variable, an alias, a fragment and an operation",
    async (name) => {
      const query = `query ${name}($${name}: Int) { ...${name} } fragment ${name} on Query { ${name}: allDexTrades(first: $${name}) { nodes { market } } }`;
      const { body } = await post({ query, operationName: name, variables: { [name]: 0 } });
      expect(body).toEqual({ data: { [name]: { nodes: [] } } });
    },
  );

  it.each([
    ["a syntax error", "{ "],
    ["an unknown field", "{ nope }"],
    ["a bad argument value", "{ allDexTrades(first: 1.5) { totalCount } }"],
  ])("with %s is 200 in application/json and 400 in graphql-response+json", async (_, query) => {
    const json = await post({ query });
    expect(json.status).toBe(200);
    expect(json.type).toBe("application/json");
    const response = await post({ query }, { accept: "application/graphql-response+json" });
    expect(response.status).toBe(400);
    expect(response.type).toBe("application/graphql-response+json");
    expect(response.body).toEqual(json.body);
    expect(json.body).toEqual({
      errors: [expect.objectContaining({ message: expect.any(String) })],
    });
  });

  it.each([
    ["nothing", "", "The body must be JSON"],
    ["no JSON", "{", "The body must be JSON"],
    ["null", "null", "body: Invalid input: expected object, received null"],
    ["a text", '"{ __typename }"', "body: Invalid input: expected object, received string"],
    ["a list", [{ query: "{ a }" }], "body: Invalid input: expected object, received array"],
    ["no query", {}, "body.query: Invalid input: expected string, received undefined"],
    [
      "a number as query",
      { query: 1 },
      "body.query: Invalid input: expected string, received number",
    ],
    [
      "a number as operationName",
      { query: "", operationName: 1 },
      "body.operationName: Invalid input: expected string, received number",
    ],
    [
      "a list as variables",
      { query: "", variables: [] },
      "body.variables: Invalid input: expected record, received array",
    ],
    [
      "a text as extensions",
      { query: "", extensions: "" },
      "body.extensions: Invalid input: expected record, received string",
    ],
    [
      "an unknown onError",
      { query: "", onError: "x" },
      'body.onError: Invalid option: expected one of "PROPAGATE"|"NULL"|"HALT"',
    ],
  ])("of %s is refused with a code", async (_, body, message) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(response.body).toEqual({ errors: [{ message, extensions: { code: "BAD_REQUEST" } }] });
  });

  it("with a variable nested deeper than the stack is refused by the limit on its depth", async () => {
    const lists = `${"[".repeat(40_000)}${"]".repeat(40_000)}`;
    const query = "query ($f: DexTradeFilter) { allDexTrades(filter: $f) { totalCount } }";
    const { body } = await post(`{"query":"${query}","variables":{"f":${lists}}}`);
    expect(body).toEqual({
      errors: [expect.objectContaining({ extensions: { code: "INPUT_TOO_DEEP" } })],
    });
  });

  it.each([
    ["mutation", "mutation { createDexTrade { id } }", undefined],
    ["mutation", "query A { __typename } mutation B { __typename }", "B"],
  ])(
    "for a %s is answered with what is accepted, and nothing is printed",
    async (kind, query, name) => {
      const printed = [jest.spyOn(console, "error"), jest.spyOn(console, "dir")];
      const response = await post({ query, operationName: name });
      const calls = printed.flatMap((spy) => spy.mock.calls);
      for (const spy of printed) spy.mockRestore();

      expect(response.status).toBe(200);
      expect(response.body).toEqual({
        errors: [
          expect.objectContaining({
            message: `There is no ${kind} here: the service only reads, and accepts operations of the kinds "query" and "subscription".`,
            locations: [{ line: 1, column: query.indexOf(kind) + 1 }],
          }),
        ],
      });
      expect(calls).toEqual([]);
    },
  );

  it.each([
    ["", "application/graphql-response+json"],
    [",", "application/graphql-response+json"],
    ["garbage", "application/graphql-response+json"],
    ["*/*;q=2", "application/graphql-response+json"],
    ["application/json,", "application/json"],
    [",application/json", "application/json"],
    ["a/b;, application/json;q=0.1", "application/json"],
    ["APPLICATION/JSON", "application/json"],
    ["application/json, text/plain, */*", "application/graphql-response+json"],
  ])("with Accept %j is answered in %s", async (accept, type) => {
    const response = await post({ query: "{ __typename }" }, { accept });
    expect(response.status).toBe(200);
    expect(response.type).toBe(type);
    expect(JSON.parse(response.text)).toEqual({ data: { __typename: "Query" } });
  });

  it.each(["a/b;", "text/html"])("that accepts only %s is 406", async (accept) => {
    const response = await post({ query: "{ __typename }" }, { accept });
    expect(response.status).toBe(406);
  });

  it("may come from a page of any origin", async () => {
    const response = await post({ query: "{ __typename }" }, { origin: "https://example.org" });
    expect(response.headers["access-control-allow-origin"]).toBe("*");
  });

  it("is answered compressed to who accepts it", async () => {
    const query = "{ __schema { types { name description } } }";
    const response = await post({ query }, { "accept-encoding": "gzip" });
    expect(response.headers["content-encoding"]).toBe("gzip");
    expect(response.headers["vary"]).toMatch(/Accept-Encoding/);
    const plain = await post({ query }, { "accept-encoding": "identity" });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.body).toEqual(response.body);
  });
});

it("answers the standard introspection query", async () => {
  const data = await dataOf<{ __schema: { queryType: { name: string }; mutationType: null } }>(
    app,
    "{ __schema { queryType { name } mutationType { name } types { name fields { name } } } }",
  );
  expect(data.__schema).toMatchObject({ queryType: { name: "Query" }, mutationType: null });
});

it("serves GraphiQL with its own files", async () => {
  const page = await app.request.get("/graphiql").set("accept", "text/html");
  expect(page.status).toBe(200);
  expect(page.type).toBe("text/html");
  const files = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)]
    .map(([, file]) => file!)
    .filter((file) => file !== "data:,");
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) {
    expect(file).toMatch(/^\/ruru-static\//);
    expect((await app.request.get(file)).status).toBe(200);
  }
  expect(page.text).not.toMatch(/https?:\/\//);
});

describe("a fault of the service's own", () => {
  it("is reported without its insides, and logged with them", async () => {
    const { rows } = await database.owner.query<{ definition: string }>(
      "select pg_get_viewdef('dex_head'::regclass) as definition",
    );
    await database.owner.query(`
      create function fail_inside() returns boolean language plpgsql as
        $$ begin raise 'the insides of dex_head'; end $$;
      grant execute on function fail_inside() to dex_reader;
      create or replace view dex_head as
      select number as block, time, null::text as digest
      from dex_block
      where fail_inside()
    `);
    const { errors } = await ask(app, "{ dexHead { time block } }");
    await database.owner.query(`
      create or replace view dex_head as ${rows[0]!.definition};
      drop function fail_inside
    `);
    expect(errors).toEqual([
      {
        message: "The service has failed to answer this.",
        path: ["dexHead"],
        locations: expect.any(Array),
        extensions: { code: "INTERNAL_SERVER_ERROR" },
      },
    ]);
    expect(String(app.logged.at(-1))).toMatch(/dex_head/);
  });

  it("is distinguished from a database whose schema is another one", async () => {
    await database.owner.query("revoke select on dex_head from dex_reader");
    const { errors } = await ask(app, "{ dexHead { time block } }");
    await database.owner.query("grant select on dex_head to dex_reader");
    expect(errors).toEqual([
      expect.objectContaining({
        message: "The database is not ready to be served",
        extensions: { code: "UNAVAILABLE", retryAfter: 5 },
      }),
    ]);
    expect(String(app.logged.at(-1))).toMatch(/dex_head/);
  });

  it("is distinguished from a database that cannot be reached", async () => {
    await using pool = openPool(database.url, { role: "dex_reader" });
    await using lone = await makeTestApp(pool);
    await dataOf(lone, "{ dexHead { block } }");
    await pool.end();
    const { errors } = await ask(lone, "{ dexHead { block } }");
    expect(errors).toEqual([
      expect.objectContaining({
        message: "The database cannot be reached",
        extensions: { code: "UNAVAILABLE", retryAfter: 5 },
      }),
    ]);
  });
});

it("serves no source maps of GraphiQL, which it would hold in memory", async () => {
  expect((await app.request.get("/ruru-static/ruru.js.map")).status).toBe(404);
});

it.each(["/graphiql", "/ruru-static/ruru.js"])(
  "lets caches tell the encodings of %s apart",
  async (path) => {
    const answers = [];
    for (const encoding of ["identity", "br"]) {
      const { status, headers } = await app.request.head(path).set("Accept-Encoding", encoding);
      expect(status).toBe(200);
      expect(headers["vary"]).toBe("Accept-Encoding");
      expect(headers["content-encoding"]).toBe(encoding === "br" ? "br" : undefined);
      answers.push({ encoding, etag: headers["etag"] });
    }
    if (path === "/graphiql") return;
    expect(answers[0]!.etag).not.toBe(answers[1]!.etag);
    for (const { encoding } of answers) {
      const statuses = [];
      for (const { etag } of answers) {
        const asked = { "Accept-Encoding": encoding, "If-None-Match": etag! };
        statuses.push((await app.request.get(path).set(asked)).status);
      }
      expect(statuses).toEqual(encoding === "br" ? [200, 304] : [304, 200]);
    }
  },
);

it("finds single records by their keys", async () => {
  const data = await dataOf(
    app,
    `query ($tx: String!) {
      dexTrade(id: "1") { id idx offerId offer { id } }
      dexTradeByTxAndIdx(tx: $tx, idx: 0) { id }
      none: dexTrade(id: "999") { id }
      dexOffer(id: 5) { id }
      dexMarket(pair: "WETH/DAI") { pair active dexPair { basePrecision quoteToken { name } } }
    }`,
    {
      tx: (await database.reader.query<{ tx: string }>("select tx from dex_trade")).rows[0]!.tx,
    },
  );
  expect(data).toEqual({
    dexTrade: { id: "1", idx: 0, offerId: 1, offer: null },
    dexTradeByTxAndIdx: { id: "1" },
    none: null,
    dexOffer: null,
    dexMarket: {
      pair: "WETH/DAI",
      active: true,
      dexPair: { basePrecision: 18, quoteToken: { name: "Dai Stablecoin" } },
    },
  });
});
