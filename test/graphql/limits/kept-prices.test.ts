// The price of a document is computed once for each choice of @skip and @include.
import { buildSchema, getOperationAST, parse } from "graphql";
import { priceOf } from "../../../graphql/limits/operation-limits.ts";

const schema = buildSchema(`
  type Trade { id: Int tx: String }
  type Query { trades(first: Int): [Trade!] }
`);

function pricesOf(source: string) {
  const document = parse(source);
  const operation = getOperationAST(document);
  if (operation == null) throw new Error("no operation");
  return (variables: Record<string, unknown>) => priceOf(schema, document, operation, variables);
}

it("is one for all values of other variables", () => {
  const price = pricesOf(
    "query ($n: Int, $no: Boolean!) { trades(first: $n) { id tx @skip(if: $no) } }",
  );
  const whole = price({ n: 2, no: false });
  expect(price({ n: 7, no: false })).toBe(whole);
  // 1 for each row.
  expect([whole.cost(1, { n: 2 }), whole.cost(1, { n: 7 })]).toEqual([2, 7]);
});

it("is one for directives without variables", () => {
  const price = pricesOf("{ trades(first: 1) { id @include(if: true) tx @skip(if: true) } }");
  expect(price({})).toBe(price({}));
});

it("is another for another choice, in a fragment as well", () => {
  const price = pricesOf(
    "query ($tx: Boolean!) { trades(first: 1) { id ...more } } fragment more on Trade { tx @include(if: $tx) }",
  );
  const [narrow, wide] = [price({ tx: false }), price({ tx: true })];
  expect(wide.complexity).toBe(narrow.complexity + 1);
  expect([price({ tx: false }), price({ tx: true })]).toEqual([narrow, wide]);
  expect(price({ tx: false })).toBe(narrow);
});

it("takes a value that is no Boolean as neither, whatever it is", () => {
  const price = pricesOf("query ($no: Boolean!) { trades { id tx @skip(if: $no) } }");
  const neither = price({ no: null });
  for (const no of [undefined, "true", 1, { toString: 1 }]) expect(price({ no })).toBe(neither);
});

it("keeps eight choices of a document, and computes the others for each request", () => {
  const names = ["a", "b", "c", "d"];
  const price = pricesOf(
    `query (${names.map((name) => `$${name}: Boolean!`).join()}) {
      trades { ${names.map((name) => `${name}: id @skip(if: $${name})`).join(" ")} __typename }
    }`,
  );
  const choices = Array.from({ length: 16 }, (_, n) =>
    Object.fromEntries(names.map((name, at) => [name, ((n >> at) & 1) === 1])),
  );
  const first = choices.map(price);
  const kept = choices.filter((variables, n) => price(variables) === first[n]);
  expect(kept).toEqual(choices.slice(0, 8));
});
