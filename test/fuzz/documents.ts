// GraphQL documents at random: built from the schema, and such that are broken.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import {
  buildSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
} from "graphql";
import { variableBody } from "./variables.ts";

const SDL = fileURLToPath(new URL("../../graphql/schema.graphql", import.meta.url));
const schema = buildSchema(readFileSync(SDL, "utf8"));

const MAX_DEPTH = 4;

/** Values that clients give, good ones and others, as they stand in a document. */
const scalar = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -2, max: 60 }).map(String) },
  { weight: 3, arbitrary: fc.constantFrom('"WETHDAI"', '"WETH/DAI"', '"sell"', '"0"', '"1.5"') },
  fc.constantFrom(
    "null",
    "true",
    "1e400",
    "99999999999999999999",
    '"NaN"',
    '"infinity"',
    '"2026-01-31T12:00:00Z"',
    '"294277-01-01"',
    '"WyJhIl0="',
    '"\\u0000"',
    '"\\ud800"',
    '"0x00"',
    "[]",
    "{}",
    "NATURAL",
    "$unknown",
  ),
  fc.integer().map(String),
  fc.double().map((n) => String(n)),
  fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => JSON.stringify(text)),
);

function valueOf(type: GraphQLInputType, depth: number): fc.Arbitrary<string> {
  const any = scalar;
  if (isNonNullType(type)) return valueOf(type.ofType, depth);
  if (isListType(type)) {
    const one = valueOf(type.ofType, depth + 1);
    return fc.oneof(
      one,
      fc.array(one, { maxLength: 3 }).map((list) => `[${list.join(", ")}]`),
    );
  }
  if (isEnumType(type)) {
    const names = type.getValues().map(({ name }) => name);
    return fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...names) }, any);
  }
  if (isInputObjectType(type)) {
    if (depth > 3) return fc.constant("{}");
    const fields = Object.values(type.getFields());
    const field = fc
      .constantFrom(...fields)
      .chain(({ name, type: of }) => valueOf(of, depth + 1).map((text) => `${name}: ${text}`));
    return fc.oneof(
      {
        weight: 12,
        arbitrary: fc
          .array(field, { minLength: 1, maxLength: 3 })
          .map((all) => `{ ${all.join(", ")} }`),
      },
      any,
    );
  }
  return any;
}

function fieldOf(
  field: GraphQLField<unknown, unknown>,
  depth: number,
  most: number,
): fc.Arbitrary<string> {
  const args = fc
    .subarray([...field.args], { maxLength: Math.min(most, field.args.length) })
    .chain((chosen) =>
      fc.tuple(
        ...chosen.map(({ name, type }) => valueOf(type, 0).map((text) => `${name}: ${text}`)),
      ),
    )
    .map((given) => (given.length === 0 ? "" : `(${given.join(", ")})`));
  const of = getNamedType(field.type);
  const below = isObjectType(of) ? selectionOf(of, depth + 1, most) : fc.constant("");
  return fc.tuple(args, below).map(([given, selection]) => `${field.name}${given} ${selection}`);
}

/** Fields have at most so many arguments. */
function selectionOf(type: GraphQLObjectType, depth: number, most: number): fc.Arbitrary<string> {
  const fields = Object.values(type.getFields()).filter(
    (field) => depth < MAX_DEPTH || !isObjectType(getNamedType(field.type)),
  );
  if (fields.length === 0) return fc.constant("{ __typename }");
  return fc
    .array(
      fc.constantFrom(...fields).chain((field) => fieldOf(field, depth, most)),
      { minLength: 1, maxLength: depth === 0 ? 2 : 4 },
    )
    .map((all) => `{ ${all.join("\n")} }`);
}

/** A document that the schema's fields and arguments were drawn for. */
export const document: fc.Arbitrary<string> = selectionOf(schema.getQueryType()!, 0, 3);

/** The same without arguments: most of these are answered. */
export const plainDocument: fc.Arbitrary<string> = selectionOf(schema.getQueryType()!, 0, 0);

/** A body whose document has values in variables. */
export const bodyWithVariables: fc.Arbitrary<string> = variableBody(
  schema,
  fc.oneof(document, plainDocument),
);

/** A document of which a piece was taken out, doubled, or replaced by something. */
export const brokenDocument: fc.Arbitrary<string> = fc
  .tuple(
    document,
    fc.nat({ max: 200 }),
    fc.nat({ max: 20 }),
    fc.oneof(
      fc.constantFrom(
        "",
        "{",
        "}",
        "(",
        ")",
        "...",
        "@skip",
        "$",
        '"',
        '"""',
        "#",
        "query",
        "fragment",
      ),
      fc.string({ unit: "binary", maxLength: 10 }),
    ),
  )
  .map(([text, at, length, piece]) => text.slice(0, at) + piece + text.slice(at + length));

/** A body of a POST to /graphql: a request, most often, and JSON or not. */
export const graphqlBody: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: document.map((query) => JSON.stringify({ query })) },
  { weight: 3, arbitrary: bodyWithVariables },
  { weight: 3, arbitrary: brokenDocument.map((query) => JSON.stringify({ query })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ query: document, variables: fc.jsonValue(), operationName: fc.jsonValue() })
      .map((body) => JSON.stringify(body)),
  },
  fc.json(),
  fc.string({ unit: "binary", maxLength: 60 }),
);

/** It takes several statements, one after the other. */
const SLOW =
  "allDexTrades(first: 50) { nodes { offer { trades { nodes { offer { trades { nodes { id } } } } } } } }";
const FAILING = "dexPairs: allDexPairs(offset: -1) { totalCount }";

/**
 * Bodies of requests that are sent at once. The first ones have slow answers with an error, which are not cached; those of
 * the last ones are small and right, and more than the fuzzer's cache keeps.
 */
export const atOnce: fc.Arbitrary<string[]> = fc
  .record({
    failing: fc.integer({ min: 0, max: 5 }),
    any: fc.array(graphqlBody, { maxLength: 20 }),
    small: fc.integer({ min: 1, max: 40 }),
  })
  .map(({ failing, any, small }) => {
    const bodyOf = (fields: string) => (_: unknown, n: number) =>
      JSON.stringify({ query: `{ a${n}: ${fields} }` });
    return [
      ...Array.from({ length: failing }, bodyOf(`${SLOW} ${FAILING}`)),
      ...any,
      ...Array.from({ length: small }, bodyOf("dexHead { block }")),
    ];
  });
