// Documents that are more than they may be: refused by name before they are validated, and without a
// word to the database.
import { getIntrospectionQuery } from "graphql";
import { setTimeout as sleep } from "node:timers/promises";
import { documentProblem } from "../../../graphql/limits/document-problem.ts";
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";
import { ServiceBusy } from "../../../http/errors.ts";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { makeTestApp } from "../../app.ts";
import { ask } from "../../graphql.ts";
import { serveRecorded } from "../../served.ts";
import { connectTo, refusalOf } from "../../subscription-client.ts";

const { app, database, statements } = serveRecorded(undefined, { cache: "off" });

const times = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(" ");

/** Trades of offers of trades, so many fields deep. */
function deep(depth: number): string {
  const around = ["allDexTrades(first: 1)", "nodes", "offer", "trades(first: 1)"];
  const fields = Array.from({ length: depth - 1 }, (_, n) =>
    n < 3 ? around[n]! : ["trades(first: 1)", "nodes", "offer"][n % 3]!,
  );
  return `{ ${fields.join(" { ")} { __typename ${"} ".repeat(depth)}`;
}

/** A filter with so many objects within each other. */
const nested = (objects: number): string =>
  `${"{ not: ".repeat(objects - 2)}{ id: { equalTo: "1" } }${" }".repeat(objects - 2)}`;

const filtered = (filter: string): string =>
  `{ allDexTrades(first: 1, filter: ${filter}) { nodes { id } } }`;

const filteredByIds = (wanted: number, others: number): string => {
  const [few, many] = [wanted, others].map((count) => times(count, () => '"1"'));
  return `{ allDexTrades(filter: { id: { in: [${few!}] notIn: [${many!}] } }) { totalCount } }`;
};

const ACCEPTED_AND_REFUSED: [
  what: string,
  code: string,
  accepted: string,
  refused: string,
  message: string,
][] = [
  [
    "tokens",
    "TOO_MANY_TOKENS",
    // 24 tokens beside the values.
    filteredByIds(988, 988),
    filteredByIds(988, 989),
    "The document has more than 2000 tokens (names, values and punctuation): give values as variables, or ask in several requests.",
  ],
  [
    "levels of fields",
    "TOO_DEEP",
    deep(15),
    deep(16),
    'The field "__typename" is nested more than 15 fields deep.',
  ],
  [
    "fields",
    "TOO_MANY_FIELDS",
    `{ dexHead { ${times(499, () => "block")} } }`,
    `{ dexHead { ${times(500, () => "block")} } }`,
    "The document has more than 500 fields, those of a fragment counted wherever it is spread.",
  ],
  [
    "values in a list",
    "TOO_MANY_VALUES",
    filtered(`{ id: { in: [${times(1000, () => '"1"')}] } }`),
    filtered(`{ id: { in: [${times(1001, () => '"1"')}] } }`),
    "A list has 1001 values: at most 1000 are accepted, ask for them in several requests.",
  ],
  [
    "objects within each other",
    "INPUT_TOO_DEEP",
    filtered(nested(12)),
    filtered(nested(13)),
    'A value nests objects and lists more than 12 deep: conditions are joined flatter by "and", "or" and "not".',
  ],
];

it.each(ACCEPTED_AND_REFUSED)(
  "%s: as many as the limit are accepted, and one more is %s",
  async (_what, code, accepted, refused, message) => {
    expect(documentProblem(accepted, GRAPHQL_LIMITS)).toBeUndefined();

    const { status, data, errors } = await ask(app, refused);

    expect(status).toBe(200);
    expect(data).toBeUndefined();
    expect(errors).toEqual([expect.objectContaining({ message, extensions: { code } })]);
    expect(statements).toEqual([]);
  },
);

it.each(ACCEPTED_AND_REFUSED.slice(0, 1))(
  "%s too many are 400 in GraphQL's own media type",
  async (_what, _code, _accepted, query) => {
    const answer = await app.request
      .post("/graphql")
      .set("accept", "application/graphql-response+json")
      .send({ query });
    expect(answer.status).toBe(400);
    expect(answer.type).toBe("application/graphql-response+json");
  },
);

it.each([
  ["lists", `{ allDexTrades(condition: { taker: ${"[".repeat(1900)}`],
  ["types", `query ($taker: ${"[".repeat(1900)}`],
  ["inline fragments", "{ ...".repeat(201)],
  ["selections", "{ a ".repeat(900)],
])("refuses %s nested deeper than a parser's stack is sure to hold", async (_what, query) => {
  const { data, errors } = await ask(app, query);

  expect(data).toBeUndefined();
  expect(errors).toEqual([
    {
      message: "The document nests braces, brackets and parentheses more than 200 deep.",
      extensions: { code: "TOO_DEEP" },
    },
  ]);
});

it("parses brackets that are nested as deep as the limit", () => {
  const query = `query ($n: ${"[".repeat(199)}Int${"]".repeat(199)}) { __typename }`;
  expect(documentProblem(query, GRAPHQL_LIMITS)).toBeUndefined();
});

it("counts what fragments multiply, and takes no longer for it", () => {
  // 2^40 fields, in 40 fragments that spread the next one twice.
  const doubling = times(40, (n) => `fragment F${n} on DexTrade { ...F${n + 1} ...F${n + 1} }`);
  const query = `{ allDexTrades(first: 1) { nodes { ...F0 } } } ${doubling} fragment F40 on DexTrade { id }`;

  expect(documentProblem(query, GRAPHQL_LIMITS)?.extensions["code"]).toBe("TOO_MANY_FIELDS");
});

it("leaves fragments that spread themselves to validation", async () => {
  const { errors } = await ask(
    app,
    "{ allDexTrades(first: 1) { nodes { ...A } } } fragment A on DexTrade { id ...B } fragment B on DexTrade { ...A }",
  );

  expect(errors?.map(({ message }) => message)).toEqual([
    'Cannot spread fragment "A" within itself via "B".',
  ]);
});

it("takes the standard introspection query, with all that it can ask", async () => {
  const { data, errors } = await ask<{ __schema: { types: unknown[] } }>(
    app,
    getIntrospectionQuery({
      descriptions: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    }),
  );

  expect(errors).toBeUndefined();
  expect(data?.__schema.types.length).toBeGreaterThan(20);
});

it("refuses introspection that is asked for over and over", async () => {
  const all = "types { fields { args { type { fields { name } } } } }";
  const { errors } = await ask(app, `{ ${times(5, (n) => `s${n}: __schema { ${all} }`)} }`);

  expect(errors?.[0]?.extensions).toEqual({ code: "TOO_EXPENSIVE" });
});

// A field of 450 descriptions, 300 characters each, counts 67 more: 100 types of 10 fields come to 68,000.
it("refuses introspection that asks for a description under many names", async () => {
  const fields = times(450, (n) => `d${n}: description`);
  const { errors } = await ask(app, `{ __schema { types { fields { ${fields} } } } }`);

  expect(errors?.[0]?.extensions).toEqual({ code: "TOO_EXPENSIVE" });
});

describe("validation", () => {
  const plan = jest.spyOn(OperationsInFlight.prototype, "plan");
  beforeEach(() => plan.mockClear());
  afterAll(() => plan.mockRestore());

  it.each([
    ["fields that conflict", times(490, (n) => `x: ${n % 2 === 0 ? "nodeId" : "__typename"}`)],
    ["conflicts within", times(122, () => "x: dexHead { b: block } x: dexHead { b: time }")],
    ["unknown fields", times(400, (n) => `unknown${n}`)],
  ])("of %s waits for its turn, as a plan does", async (_what, fields) => {
    const { status, errors } = await ask(app, `{ ${fields} }`);

    expect([status, errors?.length]).toEqual([200, 101]);
    expect(plan).toHaveBeenCalledTimes(1);
    expect(plan.mock.calls[0]![0]).toBe("127.0.0.1");
  });

  it("of a long document waits once, and its plan again", async () => {
    const query = `{ dexHead { ${times(200, () => "block")} } }`;
    for (let n = 0; n < 3; n += 1) expect((await ask(app, query)).errors).toBeUndefined();

    expect(plan).toHaveBeenCalledTimes(2);
  });

  it("of a subscription's document waits too, whatever its connection sent before", async () => {
    const client = connectTo(app.url);
    const query = `subscription { ${times(100, () => "x: dexHead { b: cursor } x: dexHead { b: reset }")} }`;
    try {
      for (const given of ["subscription { unknown }", query]) await refusalOf(client, given);
      expect(await refusalOf(client, query)).toHaveLength(101);
    } finally {
      await client.dispose();
    }
    expect(plan).toHaveBeenCalledTimes(2);
    expect(plan.mock.calls[0]![0]).toBe("127.0.0.1");
  });

  it("of a short one does not wait", async () => {
    expect((await ask(app, "{ unknown }")).errors).toHaveLength(1);
    expect(plan).not.toHaveBeenCalled();
  });

  it("that has no turn in time is refused as any operation", async () => {
    plan.mockRejectedValueOnce(new ServiceBusy());
    const answer = await app.request
      .post("/graphql")
      .set("accept", "application/graphql-response+json")
      .send({ query: `{ ${times(300, () => "x: unknown")} }` });

    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "1"]);
    expect(answer.body).toMatchObject({ errors: [{ extensions: { code: "UNAVAILABLE" } }] });
  });
});

describe("time", () => {
  it.each([
    [
      "planned",
      { planningMs: 0 },
      "The query took too long to plan: simplify it, or send it again where the service was busy.",
    ],
    [
      "run",
      { executionMs: 0 },
      "The query took too long: ask for smaller pages, or by what an index serves.",
    ],
  ])("that is up before a query is %s is an error by its code", async (_what, limit, message) => {
    await using slow = await makeTestApp(database.reader, {
      cache: "off",
      limits: { ...GRAPHQL_LIMITS, ...limit },
    });

    const { errors } = await ask(slow, "{ allDexTrades(first: 1) { nodes { id } } }");

    expect(errors).toEqual([expect.objectContaining({ message, extensions: { code: "TIMEOUT" } })]);
  });

  it("that was up by chance, as on a halted machine, fails no later request with the query", async () => {
    const now = performance.now.bind(performance);
    let jumps = 0;
    // The clock goes on by a quarter of an hour within a plan.
    const clock = jest.spyOn(performance, "now").mockImplementation(() => {
      if (jumps < 2 && new Error().stack?.includes("OperationPlan") === true) jumps += 1;
      return now() + (jumps < 2 ? 0 : 1_000_000);
    });
    try {
      const query = "{ allDexTrades(first: 3) { nodes { id } } }";
      const { errors } = await ask(app, query);
      expect([jumps, errors?.[0]?.extensions]).toEqual([2, { code: "TIMEOUT" }]);
      await sleep(10);
      expect((await ask(app, query)).errors).toBeUndefined();
    } finally {
      clock.mockRestore();
    }
  });
});
