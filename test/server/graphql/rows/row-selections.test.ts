// Only pages whose nodes select nothing but columns are rewritten to the field `rows`.
import { buildSchema, parse, print, type GraphQLObjectType } from "graphql";
import {
  selectedFields,
  selectRows,
  withRows,
} from "../../../../server/graphql/rows/row-selections.ts";

const schema = buildSchema(`
  type Query { trades: Trades, offers: Offers }
  type Trades { nodes: [Trade]!, totalCount: Int! }
  type Offers { nodes: [Offer]! }
  type Trade { id: ID!, price: String, offer: Offer, fees(of: Int): Int }
  type Offer { id: ID!, trades: Trades }
`);
for (const name of ["Trades", "Offers"]) {
  const type = schema.getType(name) as GraphQLObjectType;
  type.extensions = { hasRows: true };
}
const isColumn = ({ name }: { name: string }): boolean => ["id", "price"].includes(name);

const inOneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
const selected = (query: string): string =>
  inOneLine(print(selectRows(parse(query), schema, isColumn)));

it.each([
  ["{ trades { nodes { id price } } }", '{ trades { nodes: rows(of: "id:id price:price") } }'],
  [
    "{ one: trades { all: nodes { cost: price id } totalCount } }",
    '{ one: trades { all: rows(of: "cost:price id:id") totalCount } }',
  ],
  [
    "{ offers { nodes { id trades { nodes { id } } } } }",
    '{ offers { nodes { id trades { nodes: rows(of: "id:id") } } } }',
  ],
  [
    "{ trades { nodes { id ...more ... on Trade { id } } } } fragment more on Trade { price }",
    '{ trades { nodes: rows(of: "id:id price:price") } } fragment more on Trade { price }',
  ],
])("rewrites %s", (query, expected) => {
  expect(selected(query)).toBe(expected);
});

it("rewrites totalCount beside rows only if the list allows it", () => {
  const { trades } = schema.getQueryType()!.getFields();
  const counted = (query: string): string => {
    trades!.extensions = { isCountedBesideRows: true };
    try {
      return selected(query);
    } finally {
      trades!.extensions = {};
    }
  };
  expect(counted("{ trades { nodes { id } all: totalCount totalCount } }")).toBe(
    '{ trades { nodes: rows(of: "id:id") all: rowsTotal totalCount: rowsTotal } }',
  );
  expect(counted("{ trades { nodes { id } totalCount @skip(if: true) } }")).toBe(
    '{ trades { nodes: rows(of: "id:id") totalCount @skip(if: true) } }',
  );
  expect(counted("{ offers { nodes { trades { nodes { id } totalCount } } } }")).toBe(
    '{ offers { nodes { trades { nodes: rows(of: "id:id") totalCount } } } }',
  );
  for (const query of [
    "{ trades { totalCount } }",
    "{ trades { nodes { offer { id } } totalCount } }",
  ]) {
    expect(counted(query)).toBe(inOneLine(print(parse(query))));
  }
});

it.each([
  ["a relation", "{ trades { nodes { id offer { id } } } }"],
  ["a computed field", "{ trades { nodes { id fees(of: 1) } } }"],
  ["__typename", "{ trades { nodes { id __typename } } }"],
  ["the alias __proto__", "{ trades { nodes { __proto__: id } } }"],
  ["a directive on a column", "{ trades { nodes { id @skip(if: true) } } }"],
  ["a directive on the rows", "{ trades { nodes @skip(if: true) { id } } }"],
  ["a directive on a fragment", "{ trades { nodes { ... @skip(if: true) { id } } } }"],
  ["nodes selected twice", "{ trades { nodes { id } nodes { price } } }"],
  ["a list selected twice", "{ trades { nodes { id } } trades { totalCount } }"],
  ["a page in a fragment", "{ trades { ...page } } fragment page on Trades { nodes { id } }"],
  ["a page beside a fragment", "{ trades { nodes { id } ... { totalCount } } }"],
])("does not rewrite %s", (_name, query) => {
  const document = parse(query);
  expect(selectRows(document, schema, isColumn)).toBe(document);
});

it("adds the field only to the extended schema", () => {
  const extended = withRows(schema, () => () => null);
  const fieldsOf = (of: typeof schema): string[] =>
    Object.keys((of.getType("Trades") as GraphQLObjectType).getFields());
  expect(fieldsOf(extended)).toEqual(["nodes", "totalCount", "rows"]);
  expect(fieldsOf(schema)).toEqual(["nodes", "totalCount"]);
  expect(selectedFields("cost:price id:id")).toEqual([
    { key: "cost", field: "price" },
    { key: "id", field: "id" },
  ]);
});
