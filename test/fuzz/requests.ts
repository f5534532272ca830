// HTTP requests at random: of the REST interface, and bytes that are hardly HTTP.
import fc from "fast-check";
import type { Asked } from "../exchange-http.ts";

const segment = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      "v1",
      "v2",
      "markets",
      "pairs",
      "prices",
      "volumes",
      "trades",
      "summary",
      "book",
      "candles",
      "openapi.json",
      "docs",
    ),
  },
  { weight: 5, arbitrary: fc.constantFrom("weth", "dai", "WETH", "DAI", "mkr", "wstETH", "usdc") },
  fc.constantFrom(
    "",
    ".",
    "..",
    "graphql",
    "graphiql",
    "ready",
    "health",
    "%",
    "%00",
    "%2F",
    "%ff",
    "%F0%9F",
    "__proto__",
    "constructor",
  ),
  fc
    .string({ unit: "grapheme", maxLength: 12 })
    .map((text) => encodeURIComponent(text.toWellFormed())),
  // What Node's client lets through of the rest.
  fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((n) => String.fromCharCode(n)),
    maxLength: 12,
  }),
);

const number = fc.oneof(
  fc.integer().map(String),
  fc.constantFrom(
    "0",
    "1",
    "1000",
    "1001",
    "-1",
    "1e3",
    "01",
    "+5",
    "",
    "9007199254740992",
    "%31",
    "1%00",
  ),
  fc
    .string({ unit: "grapheme", maxLength: 5 })
    .map((text) => encodeURIComponent(text.toWellFormed())),
);

/** What the parameters that are no numbers take, and what is next to that. */
const word = fc.constantFrom(
  "1m",
  "1h",
  "1d",
  "2h",
  "omit",
  "flat",
  "FLAT",
  "2026-01-01T01:00:00Z",
  "2026-01-01T02:00:00.000Z",
  "1970-01-01T00:00:00Z",
  "9999-12-31T23:59:59.999Z",
  "2026-02-30T00:00:00Z",
  "2026-01-01T00:00:00%2B01:00",
);

const parameter = fc
  .tuple(
    fc.constantFrom(
      "limit",
      "fromId",
      "depth",
      "interval",
      "from",
      "to",
      "empty",
      "limit[]",
      "limit[a]",
      "query",
      "x",
      "__proto__",
    ),
    fc.oneof({ weight: 2, arbitrary: number }, { weight: 1, arbitrary: word }),
  )
  .map(([name, value]) => `${name}=${value}`);

const path = fc
  .tuple(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc
          .tuple(
            fc.constantFrom(
              "/v2/trades/",
              "/v1/markets/",
              "/v2/prices/",
              "/v1/volumes/",
              "/v2/summary/",
              "/v2/book/",
              "/v2/candles/",
            ),
            segment,
            segment,
          )
          .map(([start, base, quote]) => `${start}${base}/${quote}`),
      },
      fc.array(segment, { maxLength: 5 }).map((all) => `/${all.join("/")}`),
    ),
    fc.array(parameter, { maxLength: 3 }),
  )
  // Two slashes begin a host.
  .map(([start, parameters]) => [start.replace(/^[/\\]+/, "/"), parameters.join("&")])
  .map(([start, query]) => (query === "" ? start! : `${start}?${query}`));

const headerValue = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((n) => String.fromCharCode(n)),
  maxLength: 60,
});

const headers = fc.dictionary(
  fc.constantFrom(
    "Accept",
    "Accept-Encoding",
    "If-None-Match",
    "If-Modified-Since",
    "Origin",
    "Content-Type",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "Host",
    "X-Request-Id",
    "Cookie",
    "Range",
    "Authorization",
    "Access-Control-Request-Method",
    "X-HTTP-Method-Override",
    "Upgrade-Insecure-Requests",
  ),
  fc.oneof(
    headerValue,
    fc.constantFrom("gzip", "identity;q=0", "*", "*/*;q=0", "application/json", '""', 'W/"x"'),
  ),
  { maxKeys: 4 },
);

const method = fc.oneof(
  { weight: 8, arbitrary: fc.constant("GET") },
  fc.constantFrom("HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"),
);

/** A request for REST or thereabouts, with headers of all kinds. */
export const restRequest: fc.Arbitrary<Asked> = fc.record({ method, path, headers });

/** Bytes for a connection: a request, most often, of which something is not right. */
export const rawRequest: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .tuple(
      fc.tuple(method, path),
      fc.array(
        fc.tuple(
          fc.constantFrom(
            "Host",
            "Content-Length",
            "Transfer-Encoding",
            "Expect",
            "Connection",
            "Upgrade",
            "Te",
          ),
          fc.oneof(
            headerValue,
            fc.constantFrom(
              "0",
              "-1",
              "5",
              "chunked",
              "close",
              "keep-alive, upgrade",
              "100-continue",
              "websocket",
            ),
          ),
        ),
        { maxLength: 5 },
      ),
      fc.uint8Array({ maxLength: 30 }),
      fc.nat({ max: 400 }),
      fc.uint8Array({ maxLength: 4 }),
    )
    .map(([[verb, target], lines, body, at, noise]) => {
      const head = `${verb} ${target} HTTP/1.1\r\nHost: x\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
      const bytes = Buffer.concat([Buffer.from(head, "latin1"), body]);
      return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)]);
    }),
);
