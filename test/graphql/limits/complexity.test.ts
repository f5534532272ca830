// What an operation takes to plan: refused where it is too much, before anything is planned, and bounded
// in memory where it is kept.
import { EXAMPLE_QUERIES } from "../../../graphql/example-queries.ts";
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import { ask, dataOf } from "../../graphql.ts";
import { serveRecorded } from "../../served.ts";

const { app, statements } = serveRecorded(undefined, { cache: "off" });

const times = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(" ");

const lists = (count: number): string =>
  `{ ${times(count, (n) => `a${n}: allDexTokens(first: 1) { nodes { address } }`)} }`;

it("is counted before anything is planned, and named in the error", async () => {
  expect((await ask(app, lists(32))).errors).toBeUndefined();
  statements.length = 0;

  const { data, errors } = await ask(app, lists(33));

  expect(data).toBeUndefined();
  expect(errors).toEqual([
    expect.objectContaining({
      message:
        "The query has a complexity of 1023, 30 for each list, 11 for each record, 1 for each other field: at most 1000 is accepted. Ask in several requests.",
      extensions: { code: "TOO_COMPLEX" },
    }),
  ]);
  expect(statements).toEqual([]);
});

it.each([
  ["records", (n: number) => `a${n}: dexToken(address: "0x") { name }`, 83],
  ["totals", (n: number) => `a${n}: allDexTokens { totalCount }`, 23],
  [
    "what a page says of itself",
    (n: number) => `a${n}: allDexTokens { pageInfo { endCursor } }`,
    22,
  ],
  [
    "rows beside a page",
    (n: number) =>
      `a${n}: allDexTokens(after: null, before: null) { pageInfo { a: hasPreviousPage hasPreviousPage hasNextPage } }`,
    15,
  ],
  ["objects of any type", (n: number) => `a${n}: node(nodeId: "x") { nodeId }`, 7],
  ["fields in a fragment", (n: number) => `...on Query { a${n}: dexHead { block } }`, 83],
])("counts %s", async (_what, text, most) => {
  expect((await ask(app, `{ ${times(most, text)} }`)).errors?.[0]?.extensions?.["code"]).not.toBe(
    "TOO_COMPLEX",
  );
  const { errors } = await ask(app, `{ ${times(most + 1, text)} }`);
  expect(errors?.[0]?.extensions).toEqual({ code: "TOO_COMPLEX" });
});

it("counts nothing that @skip leaves out", async () => {
  const query = lists(40).replaceAll("(first: 1)", "(first: 1) @skip(if: true)");
  expect((await ask(app, query.replace("{", "{ __typename "))).errors).toBeUndefined();
});

it("counts any number of aliases, directives and operations that take no plan", async () => {
  const aliases = `{ dexHead { ${times(150, (n) => `a${n}: block @skip(if: false)`)} } }`;
  expect((await ask(app, aliases)).errors).toBeUndefined();
  const operations = times(100, (n) => `query Q${n} { dexHead { block } }`);
  const answer = await app.request
    .post("/graphql")
    .send({ query: operations, operationName: "Q7" });
  expect(answer.body.errors).toBeUndefined();
});

it.each([...EXAMPLE_QUERIES.matchAll(/query (\w+)/g)].map(([, name]) => name))(
  "takes the example %s",
  async (operationName) => {
    const answer = await app.request
      .post("/graphql")
      .send({ query: EXAMPLE_QUERIES, operationName });
    expect(answer.body.errors).toBeUndefined();
  },
);

it("plans again what was forgotten for other plans, and gives the same, but not what is asked again", async () => {
  const once = "{ allDexTokens(first: 2) { totalCount nodes { address symbol } } }";
  const again = once.replace("first: 2", "first: 3");
  const [ofOnce, ofAgain] = [await ask(app, once), await ask(app, again)];
  await dataOf(app, again);
  const turns = jest.spyOn(OperationsInFlight.prototype, "plan");
  // Twice as many as are kept, and then again.
  for (const name of ["b", "c"]) {
    for (let n = 0; n < 25; n += 1) {
      await dataOf(app, lists(30).replaceAll(/a(?=\d)/g, `${name}${n}_`));
    }
    turns.mockClear();
    expect(await ask(app, again)).toEqual(ofAgain);
    expect(turns).not.toHaveBeenCalled();
  }
  expect(await ask(app, once)).toEqual(ofOnce);
  expect(turns).toHaveBeenCalledTimes(1);
  turns.mockRestore();
  expect(GRAPHQL_LIMITS.complexity * 25).toBeGreaterThan(20_000);
});

it("counts the plans for all values of an operation's variables, and plans them in turn again where they are too many", async () => {
  const names = [0, 1, 2, 3, 4].map((n) => `v${n}`);
  const fields = names.map((name) => `${name}: dexHead @include(if: $${name}) { block }`).join(" ");
  const declared = names.map((name) => `$${name}: Boolean!`).join(", ");
  const query = lists(28).replace("{", `query (${declared}) { ${fields}`);
  const askFor = (choice: number) =>
    dataOf(app, query, Object.fromEntries(names.map((name, n) => [name, (choice & (1 << n)) > 0])));
  await askFor(0);
  const turns = jest.spyOn(OperationsInFlight.prototype, "plan");
  // 32 plans of some 900 each, of an operation that is asked again, are more than the 20,000 that are kept.
  for (let choice = 0; choice < 32; choice += 1) await askFor(choice);
  expect(turns).toHaveBeenCalledTimes(31);
  turns.mockClear();
  await askFor(1);
  expect(turns).toHaveBeenCalledTimes(1);
  turns.mockRestore();
});
