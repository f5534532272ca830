// What every answer tells a browser, whoever gives it.
import { exchange, graphql, type Asked } from "../exchange-http.ts";
import { registerMarkets, setHead } from "../factories.ts";
import { serveDatabase } from "../served.ts";

const { app } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  // Without a head an answer tells the time of the clock, and is another one a second later.
  await setHead(writer, 24);
});

/** The answer's headers by their names in lower case; each occurs once. */
async function headersOf(asked: Asked): Promise<Record<string, string>> {
  const { headers } = await exchange(app.url, asked);
  const pairs = headers.flatMap((name, n) =>
    n % 2 === 0 ? [[name.toLowerCase(), headers[n + 1] ?? ""] as const] : [],
  );
  expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length);
  return Object.fromEntries(pairs);
}

describe.each<[string, Asked]>([
  ["a REST answer", { path: "/v1/markets/" }],
  ["a REST error", { path: "/v2/prices/a/b" }],
  ["a GraphQL answer", graphql({ query: "{ allDexPairs { totalCount } }" })],
  ["a GraphQL error", graphql({ query: "{ nope }" })],
  ["a refused body", graphql("{ __typename }", { "Content-Type": "text/plain" })],
  ["an unknown path", { path: "/nowhere" }],
  ["the health", { path: "/health" }],
  ["a preflight", { method: "OPTIONS", path: "/graphql" }],
  ["a URL that is too long", { path: `/v1/${"x".repeat(2000)}` }],
  ["an expectation", { path: "/v2/prices", headers: { Expect: "wonders" } }],
])("%s", (_, asked) => {
  it("loads nothing, is framed by no page, is what it says, and may be read by any page", async () => {
    const first = await headersOf(asked);

    expect(first).toMatchObject({
      "content-security-policy": "default-src 'none';frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "cross-origin",
      "access-control-allow-origin": "*",
    });
  });

  it("does not say what it is made with", async () => {
    const headers = await headersOf(asked);

    expect(headers).not.toHaveProperty("x-powered-by");
    expect(headers).not.toHaveProperty("server");
  });

  it("has the same headers when it is asked for again", async () => {
    expect(await headersOf(asked)).toEqual(await headersOf(asked));
  });
});

it("lets a page of any origin post JSON to GraphQL after it has asked", async () => {
  const preflight = await headersOf({
    method: "OPTIONS",
    path: "/graphql",
    headers: {
      Origin: "https://example.org",
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "content-type",
    },
  });

  expect(preflight["access-control-allow-methods"]).toBe("GET,HEAD,POST");
  expect(preflight["access-control-allow-headers"]).toBe("content-type");
  expect(preflight).not.toHaveProperty("access-control-allow-credentials");
});
