// What GraphQL does not take: another method than POST, another body than JSON.
import { makeTestApp, type TestApp } from "../../app.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { exchange, graphql, type Asked, type Received } from "../../exchange-http.ts";

let database: TestDatabase;
let app: TestApp;
let withoutMemory: TestApp;
beforeAll(async () => {
  database = await makeDatabase();
  app = await makeTestApp(database.reader);
  withoutMemory = await makeTestApp(database.reader, { cache: "off" });
});
afterAll(async () => {
  await app.close();
  await withoutMemory.close();
  await database.drop();
});

/** A request that is not answered fails its test, and holds none of those after it. */
const ask = (url: string, asked: Asked): Promise<Received> =>
  exchange(url, asked, { signal: AbortSignal.timeout(60_000) });

const QUERY = { query: "{ __typename }" };
const JSON_BODY = JSON.stringify(QUERY);

async function post(
  body: string,
  headers: Record<string, string>,
  { url } = app,
): Promise<{ status: number; headers: string[]; body: unknown }> {
  const { Accept = "application/json", ...others } = headers;
  const answer = await ask(url, {
    method: "POST",
    path: "/graphql",
    headers: { Accept, ...others },
    body,
  });
  return { ...answer, body: JSON.parse(answer.body.toString()) as unknown };
}

describe.each(["with answers from memory", "without"])("%s", (memory) => {
  const to = (): TestApp => (memory === "without" ? withoutMemory : app);

  // What a form or a script of another origin can send without a preflight, and its relatives.
  it.each([
    ["text/plain", JSON_BODY],
    ["text/plain;charset=UTF-8", JSON_BODY],
    ["text/plain; application/json", JSON_BODY],
    ["application/x-www-form-urlencoded", `query=${encodeURIComponent(QUERY.query)}`],
    ["multipart/form-data; boundary=x", `--x\r\n\r\n${JSON_BODY}\r\n--x--\r\n`],
    ["application/graphql", QUERY.query],
    ["application/jsonp", JSON_BODY],
    ["application/json5", JSON_BODY],
    ["application/json, text/plain", JSON_BODY],
  ])("a body of %s is refused, and told what is taken", async (type, body) => {
    const answer = await post(body, { "Content-Type": type }, to());

    const [told] = type.split(";");
    expect(answer.status).toBe(415);
    expect(answer.body).toEqual({
      errors: [
        {
          message: `The Content-Type must be application/json, not "${told}"`,
          extensions: { code: "UNSUPPORTED_MEDIA_TYPE" },
        },
      ],
    });
    expect(answer.headers[answer.headers.indexOf("Accept") + 1]).toBe("application/json");
  });

  it("a body of no type is refused, as a page can send one", async () => {
    const answer = await post(JSON_BODY, {}, to());

    expect(answer.status).toBe(415);
    expect(answer.body).toEqual({
      errors: [
        {
          message: "The Content-Type must be application/json, none was given",
          extensions: { code: "UNSUPPORTED_MEDIA_TYPE" },
        },
      ],
    });
  });

  it("a compressed body is refused", async () => {
    const headers = { "Content-Type": "application/json", "Content-Encoding": "gzip" };
    const answer = await post(JSON_BODY, headers, to());

    expect(answer.status).toBe(415);
    expect(answer.body).toEqual({
      errors: [
        {
          message: "The body must not be compressed",
          extensions: { code: "UNSUPPORTED_MEDIA_TYPE" },
        },
      ],
    });
  });

  it.each(["application/json", "application/json; charset=utf-8", "Application/JSON"])(
    "a body of %s is answered",
    async (type) => {
      const answer = await post(JSON_BODY, { "Content-Type": type }, to());

      expect(answer).toMatchObject({ status: 200, body: { data: { __typename: "Query" } } });
    },
  );

  it.each(["GET", "HEAD", "PUT", "PATCH", "DELETE"])("%s is refused", async (method) => {
    const answer = await ask(to().url, {
      ...graphql(QUERY),
      method,
      path: `/graphql?query=${encodeURIComponent(QUERY.query)}`,
    });

    expect(answer.status).toBe(405);
    expect(answer.headers[answer.headers.indexOf("Allow") + 1]).toBe("POST, OPTIONS");
    if (method === "HEAD") return;
    expect(JSON.parse(answer.body.toString())).toEqual({
      errors: [
        {
          message: `${method} is not allowed here, only POST, OPTIONS`,
          extensions: { code: "METHOD_NOT_ALLOWED" },
        },
      ],
    });
  });

  it("a query in the path is not run, even by POST", async () => {
    const answer = await ask(to().url, {
      method: "POST",
      path: `/graphql?query=${encodeURIComponent(QUERY.query)}`,
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: "{}",
    });

    expect(answer.status).toBe(400);
    expect(answer.body.toString()).not.toContain('"data"');
  });
});

it("a body is answered that the layer in front has read in the same moment", async () => {
  // It knows the version of the data, so it hands the request on before its end was told.
  const patient = await makeTestApp(database.reader, {
    cache: { bytes: 1_000_000, checkMs: 60_000 },
  });
  try {
    for (const field of ["allDexTokens", "allDexPairs", "allDexTrades"]) {
      const body = JSON.stringify({ query: `{ ${field} { totalCount } }` });
      const answer = await post(body, { "Content-Type": "application/json" }, patient);
      expect(answer).toMatchObject({ status: 200, body: { data: { [field]: { totalCount: 0 } } } });
    }
  } finally {
    await patient.close();
  }
});
