// Which clients share an operation.
import { buildSchema, getOperationAST, parse } from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { SharedOperations } from "../../../graphql/subscriptions/shared-operations.ts";

const schema = buildSchema(
  "type Query { a: Int } type Subscription { a(after: String, b: Int): Int }",
);
const text = "subscription ($after: String, $b: Int) { a(after: $after, b: $b) }";
const operations = new SharedOperations({} as never);
const enter = (
  { query = text, pgSettings, ...variableValues }: Record<string, unknown> & { query?: string },
  others: Partial<GrafastExecutionArgs> = {},
) => {
  const document = parse(query);
  const contextValue = { pgSettings };
  const args = { schema, document, variableValues, contextValue, ...others };
  return operations.enter(args, getOperationAST(document)!);
};

describe("an operation", () => {
  it.each([
    ["the same text", {}],
    ["another cursor", { after: "1" }],
    ["no cursor by null", { after: null }],
    ["a variable that the document does not have", { c: 1 }],
  ])("is shared by clients with %s", (_name, given) => {
    expect(enter(given)).toBe(enter({}));
  });

  it.each([
    ["another text", { query: `${text} ` }, {}],
    ["another variable", { b: 1 }, {}],
    ["another authorization", { pgSettings: { role: "other" } }, {}],
    ["longer lists", {}, { contextValue: { assessment: { listBound: 2 } } }],
    ["another way of handling errors", {}, { onError: "NULL" }],
    ["another schema", {}, { schema: buildSchema("type Query { a: Int }") }],
  ])("is not shared by clients with %s", (_name, given, others) => {
    expect(enter(given, others as never)).not.toBe(enter({}));
  });

  it("is not shared by clients with other cursors where the cursor matters elsewhere", () => {
    const query = text.replace("b: $b", "b: $b) other: a(after: $after");
    expect(enter({ query, after: "1" })).not.toBe(enter({ query, after: "2" }));
  });

  it("is kept no longer than its clients", () => {
    const given = { b: 5 };
    const shared = enter(given);
    expect(enter(given)).toBe(shared);
    shared.exit();
    expect(enter(given)).toBe(shared);
    shared.exit();
    shared.exit();
    expect(enter(given)).not.toBe(shared);
  });
});
