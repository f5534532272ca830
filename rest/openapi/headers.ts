// The headers of REST as OpenAPI describes them.

const always = (description: string, schema: object, example: string) => ({
  description,
  required: true,
  schema: { type: "string", ...schema },
  example,
});

const sometimes = (description: string, schema: object, example: string) => ({
  ...always(description, schema, example),
  required: false,
});

/** By name; `required` is of the answers that list it. */
export const headers = {
  "X-Request-Id": always(
    "The request's id, under which the service logs what goes wrong: the client's own `X-Request-Id` " +
      "where that is 1 to 128 of `A-Z a-z 0-9 . _ : / + = -`, else a new UUID.",
    { minLength: 1, maxLength: 128 },
    "0d9a4b2e-6c1f-4f0e-9c55-0f2f8f5d3b11",
  ),
  "Server-Timing": always(
    "What the answer took, in milliseconds: in all, and of that the database; or that it came from " +
      "memory.",
    { pattern: "^(cache;desc=(hit|shared|miss)(, )?)?(total;dur=[0-9.]+(, db;dur=[0-9.]+)?)?$" },
    "total;dur=1.302, db;dur=0.961",
  ),
  "RateLimit-Policy": sometimes(
    "How many requests (`q`) a client may send in so many seconds (`w`). Absent where there is no " +
      "limit.",
    { pattern: '^"requests";q=[0-9]+;w=[0-9]+$' },
    '"requests";q=6000;w=60',
  ),
  RateLimit: sometimes(
    "How many requests (`r`) the client has left for so many seconds (`t`). Absent where there is no " +
      "limit.",
    { pattern: '^"requests";r=[0-9]+;t=[0-9]+$' },
    '"requests";r=5999;t=60',
  ),
  "Cache-Control": always(
    "How long the answer may be kept: figures for a second, those of a past block that the chain takes back no more for an " +
      "hour, files of a day for ever, their manifest for a minute, errors not at all.",
    {
      enum: [
        ...["public, max-age=1", "public, max-age=3600", "no-store"],
        ...["public, max-age=60", "public, max-age=31536000, immutable"],
      ],
    },
    "public, max-age=1",
  ),
  ETag: always(
    "A strong tag of the answer's bytes, for `If-None-Match`; the compressed form has another.",
    { pattern: '^"[A-Za-z0-9_-]+"$' },
    '"2jmj7l5rSw0yVb_vlWAYkK_YBwk"',
  ),
  Vary: always(
    "What of the request the answer depends on, for caches.",
    { enum: ["Accept-Encoding, X-Min-Block", "Accept-Encoding"] },
    "Accept-Encoding, X-Min-Block",
  ),
  "X-Head-Block": sometimes(
    "The block that the data are of, the exchange's head or the past block that was asked for; of a failure, the block that the service has. " +
      "Absent where no block was ever written.",
    { pattern: "^[0-9]+$" },
    "20014400",
  ),
  "Content-Encoding": sometimes(
    "The form of an answer over 1 kB for a client that accepts it.",
    { const: "gzip" },
    "gzip",
  ),
  "Content-Digest": always(
    "The SHA-256 of the answer's bytes as they are sent, by RFC 9530: a copy is checked by it.",
    { pattern: "^sha-256=:[A-Za-z0-9+/]{43}=:$" },
    "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
  ),
  "Accept-Ranges": always("Ranges of the file's bytes are served.", { const: "bytes" }, "bytes"),
  "Content-Range": always(
    "Which bytes of the file the answer has, and how many there are.",
    { pattern: "^bytes ([0-9]+-[0-9]+|[*])/[0-9]+$" },
    "bytes 0-1023/65536",
  ),
  "X-Accel-Buffering": always("Asks a proxy not to collect the events.", { const: "no" }, "no"),
  "Retry-After": always(
    "After how many seconds the request may be sent again.",
    { pattern: "^[0-9]+$" },
    "5",
  ),
  "WWW-Authenticate": always("How to give a key.", { const: "Bearer" }, "Bearer"),
  Allow: always(
    "The methods that the path is served to.",
    { const: "GET, HEAD, OPTIONS" },
    "GET, HEAD, OPTIONS",
  ),
  "Access-Control-Allow-Origin": sometimes(
    "Pages of any origin may read the answer. Absent where a request was refused before it was read.",
    { const: "*" },
    "*",
  ),
  "Access-Control-Expose-Headers": sometimes(
    "The headers that pages of another origin may read.",
    {},
    "ETag,Retry-After,Allow,X-Request-Id,X-Head-Block,RateLimit,RateLimit-Policy,Content-Digest,Content-Range,Accept-Ranges",
  ),
};

export type HeaderName = keyof typeof headers;

export const OF_THE_REQUEST: HeaderName[] = ["X-Request-Id", "Server-Timing"];

export const OF_THE_LIMIT: HeaderName[] = ["RateLimit-Policy", "RateLimit"];

export const OF_ANY_ORIGIN: HeaderName[] = [
  "Access-Control-Allow-Origin",
  "Access-Control-Expose-Headers",
];

export const OF_A_FIGURE: HeaderName[] = [
  ...(["Cache-Control", "ETag", "Vary", "X-Head-Block"] as const),
  ...OF_THE_REQUEST,
  ...OF_THE_LIMIT,
  ...OF_ANY_ORIGIN,
];
