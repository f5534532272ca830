// GraphQL over HTTP: statuses, media types, errors without insides, and GraphiQL.
import { makePool } from "../../../db/connect.ts";
import { makeTestApp, type TestApp } from "../../app.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { aTrade, registerMarkets, setHead, write } from "../../factories.ts";
import { ask, dataOf } from "../../graphql.ts";

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await makeDatabase();
  await registerMarkets(database.writer);
  await write(database.writer, { trades: [aTrade({ hour: 1 })] });
  app = await makeTestApp(database.reader);
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

const post = (body: object | string, headers: Record<string, string> = {}) =>
  app.request
    .post("/graphql")
    .set({ "content-type": "application/json", accept: "application/json", ...headers })
    .send(body);

describe("the head", () => {
  it("is null where no block was ever written", async () => {
    const empty = await makeDatabase();
    const ofEmpty = await makeTestApp(empty.reader);
    expect(await dataOf(ofEmpty, "{ dexHead { block time } }")).toEqual({ dexHead: null });
    await ofEmpty.close();
    await empty.drop();
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
  ])("for a %s is told what is accepted, and nothing is printed", async (kind, query, name) => {
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
  });

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

it("serves GraphiQL with files of its own", async () => {
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
  it("is told without its insides, and logged with them", async () => {
    const { rows } = await database.owner.query<{ definition: string }>(
      "select pg_get_viewdef('dex_head'::regclass) as definition",
    );
    await database.owner.query(`
      create function fail_inside() returns boolean language plpgsql as
        $$ begin raise 'the insides of dex_head'; end $$;
      grant execute on function fail_inside() to dex_reader;
      create or replace view dex_head as
      select number as block, time
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

  it("is told apart from a database whose schema is another one", async () => {
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

  it("is told apart from a database that cannot be reached", async () => {
    const pool = makePool(database.url, { role: "dex_reader" });
    const lone = await makeTestApp(pool);
    await dataOf(lone, "{ dexHead { block } }");
    await pool.end();
    const { errors } = await ask(lone, "{ dexHead { block } }");
    expect(errors).toEqual([
      expect.objectContaining({
        message: "The database cannot be reached",
        extensions: { code: "UNAVAILABLE", retryAfter: 5 },
      }),
    ]);
    await lone.close();
  });
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
