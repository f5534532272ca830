// What GraphQL does not take: another method than POST, another body than JSON.
import { makeTestApp, type TestApp } from "../app.ts";
import { exchange, graphql, type Asked, type Received } from "../exchange-http.ts";
import { useApp, useDatabase } from "../served.ts";

const database = useDatabase();
const app = useApp(database);
const withoutMemory = useApp(database, { cache: "off" });

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
  ])("a body of %s is refused with what is taken", async (type, body) => {
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

  it.each(["utf-16", "latin1", '"UTF-16LE"', "nonsense"])(
    "a body in %s is refused, with the charset that is accepted",
    async (charset) => {
      const type = `application/json; charset=${charset}`;
      const answer = await post(JSON_BODY, { "Content-Type": type }, to());

      expect(answer.status).toBe(415);
      expect(answer.body).toEqual({
        errors: [
          {
            message: `The charset of the Content-Type must be utf-8, not "${charset.toLowerCase().replaceAll('"', "")}"`,
            extensions: { code: "UNSUPPORTED_MEDIA_TYPE" },
          },
        ],
      });
      expect(answer.headers[answer.headers.indexOf("Accept") + 1]).toBe("application/json");
    },
  );

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

  it.each([
    "application/json",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
    "Application/JSON",
  ])("a body of %s is answered", async (type) => {
    const answer = await post(JSON_BODY, { "Content-Type": type }, to());

    expect(answer).toMatchObject({ status: 200, body: { data: { __typename: "Query" } } });
  });

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
  await using patient = await makeTestApp(database.reader, {
    cache: { bytes: 1_000_000, checkMs: 60_000 },
  });
  for (const field of ["allDexTokens", "allDexPairs", "allDexTrades"]) {
    const body = JSON.stringify({ query: `{ ${field} { totalCount } }` });
    const answer = await post(body, { "Content-Type": "application/json" }, patient);
    expect(answer).toMatchObject({ status: 200, body: { data: { [field]: { totalCount: 0 } } } });
  }
});

it.each([
  ["data", JSON_BODY],
  ["an error of the document", JSON.stringify({ query: "{ nothing }" })],
  ["no JSON", "{"],
  ["nothing", ""],
])("answers a plain POST in front of Express as Express does: %s", async (_what, body) => {
  const received = async (path: string): Promise<unknown> => {
    const headers = { "Content-Type": "application/json" };
    const answer = await ask(withoutMemory.url, { method: "POST", path, headers, body });
    const lines = answer.headers.map((header) => header.toLowerCase());
    const pairs = lines.flatMap((name, n) => (n % 2 === 0 ? [[name, lines[n + 1]]] : []));
    const own = new Set(["date", "x-request-id", "server-timing"]);
    return [
      answer.status,
      pairs.filter(([name = ""]) => !own.has(name)).toSorted(),
      answer.body.toString(),
    ];
  };
  // What has a query string is left to Express.
  expect(await received("/graphql")).toEqual(await received("/graphql?"));
});
