// Every argument of every connection that is null, or a variable without a value, is as if it were not there: generic
// pagers declare all of them.
import { ask, dataOf } from "../../graphql.ts";
import { aTrade } from "../../factories.ts";
import { fillExchange } from "../../rest/exchange.ts";
import { serveDatabase } from "../../served.ts";

const { app } = serveDatabase(
  async (writer) => {
    await fillExchange(
      writer,
      Array.from({ length: 12 }, (_, n) => aTrade({ id: 100 + n, hour: 23.75 })),
    );
  },
  { cache: "off" },
);

const PAGE = `{
  edges { cursor }
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  totalCount
}`;

interface Connection {
  name: string;
  args: { name: string; type: string }[];
  /** The operation with this text for the connection, and these variables declared. */
  document: (declared: string, field: string) => string;
  /** Arguments without which it has no rows. */
  needs: Record<string, string>;
}

interface IntrospectedType {
  name: string;
  fields: { name: string; args: { name: string; type: Introspected }[] }[] | null;
}

interface Introspected {
  kind: string;
  name: string | null;
  ofType: Introspected | null;
}

const printed = ({ kind, name, ofType }: Introspected): string => {
  if (ofType === null) return name ?? "";
  return kind === "LIST" ? `[${printed(ofType)}]` : `${printed(ofType)}!`;
};

const PARENTS: Record<string, string> = {
  Query: "",
  DexOffer: "allDexOffers { nodes",
  DexToken: "allDexTokens { nodes",
};

const within = (parent: string, field: string): string =>
  parent === "" ? field : `${parent} { ${field} ${"} ".repeat(parent.split("{").length)}`;

/** Each field that is paged, with all of its arguments. */
async function connections(): Promise<Connection[]> {
  const type = "type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";
  const { __schema } = await dataOf<{ __schema: { types: IntrospectedType[] } }>(
    app,
    `{ __schema { types { name fields { name args { name ${type} } } } } }`,
  );
  return __schema.types.flatMap(({ name: parent, fields }) =>
    (fields ?? [])
      .filter(({ args }) => args.some(({ name }) => name === "first"))
      .map(({ name, args }) => ({
        name: `${parent}.${name}`,
        args: args.map((arg) => ({
          name: arg.name,
          type: printed({ ...arg.type, ofType: arg.type.ofType ?? null }),
        })),
        document: (declared, field) =>
          `query${declared && `(${declared})`} { ${within(PARENTS[parent] ?? "", field.replace("*", name))} }`,
        needs: args.some((arg) => arg.name === "base") ? { base: '"weth"', quote: '"dai"' } : {},
      })),
  );
}

/** Literals by argument. The cursor is of the connection's second row. */
const GIVEN: Record<string, string>[] = [
  {},
  { first: "2" },
  { last: "2" },
  { offset: "1" },
  { first: "2", offset: "1" },
  { first: "1", after: "CURSOR" },
  { last: "1", before: "CURSOR" },
];

const written = (args: Record<string, string>): string => {
  const all = Object.entries(args).map(([name, value]) => `${name}: ${value}`);
  return all.length === 0 ? "" : `(${all.join(", ")})`;
};

it("is left out, alone and beside every other", async () => {
  const all = await connections();
  expect(all.length).toBeGreaterThanOrEqual(13);
  const different: unknown[] = [];
  for (const { name, args, document, needs } of all) {
    const cursorsOf = (answer: unknown): string[] =>
      [...JSON.stringify(answer).matchAll(/"cursor":("[^"]*")/g)].map(([, cursor]) => cursor!);
    const [first, second = first] = cursorsOf(
      await ask(app, document("", `*${written(needs)} ${PAGE}`)),
    );
    // The rows of a function are paged forwards only.
    const isServed = (given: Record<string, string>): boolean =>
      args.some((arg) => arg.name === "condition") ||
      (given["last"] ?? given["before"]) === undefined;
    for (const given of GIVEN.filter(isServed)) {
      const fixed = {
        ...needs,
        ...Object.fromEntries(
          Object.entries(given).map(([arg, value]) => [
            arg,
            value === "CURSOR" ? (second ?? "null") : value,
          ]),
        ),
      };
      const expected = await ask(app, document("", `*${written(fixed)} ${PAGE}`));
      expect([name, fixed, expected.errors]).toEqual([name, fixed, undefined]);
      const others = args.filter((arg) => !(arg.name in fixed));
      const compare = async (
        what: string,
        text: string,
        variables: Record<string, null> = {},
      ): Promise<void> => {
        const { data, errors } = await ask(app, text, variables);
        if (errors !== undefined || JSON.stringify(data) !== JSON.stringify(expected.data))
          different.push({ name, fixed, what, errors: errors?.map(({ message }) => message) });
      };
      const asVariables = (some: typeof others): string =>
        document(
          some.map((arg) => `$${arg.name}: ${arg.type}`).join(", "),
          `*${written({ ...fixed, ...Object.fromEntries(some.map((arg) => [arg.name, `$${arg.name}`])) })} ${PAGE}`,
        );
      const nulls = (some: typeof others): Record<string, null> =>
        Object.fromEntries(some.map((arg) => [arg.name, null]));
      const whole = asVariables(others);
      await compare("all unset", whole);
      await compare("all null", whole, nulls(others));
      await compare(
        "all literally null",
        document(
          "",
          `*${written({ ...fixed, ...Object.fromEntries(others.map((arg) => [arg.name, "null"])) })} ${PAGE}`,
        ),
      );
      for (const arg of others) {
        await compare(`${arg.name} null, the rest unset`, whole, nulls([arg]));
        const rest = others.filter((other) => other !== arg);
        await compare(`${arg.name} unset, the rest null`, whole, nulls(rest));
        // Each is another plan, which takes longer.
        if (given["last"] === undefined) continue;
        await compare(`${arg.name} unset alone`, asVariables([arg]));
        await compare(`${arg.name} null alone`, asVariables([arg]), nulls([arg]));
      }
    }
  }
  expect(different).toEqual([]);
});
