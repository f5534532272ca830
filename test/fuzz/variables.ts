// GraphQL requests at random whose values stand in variables: odd names, one in several places, parts of literals.
import fc from "fast-check";
import {
  Kind,
  parse,
  print,
  TypeInfo,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
  type GraphQLSchema,
  type ValueNode,
} from "graphql";

/** Names that every object has, and such that are like the service's. */
const NAMES = ["a", "constructor", "toString", "__proto__", "hasOwnProperty", "then", "query", "_"];

interface Variable {
  name: string;
  type: string;
  literal: string;
  value: unknown;
  isDefault: boolean;
}

const choice: fc.Arbitrary<Choice> = fc.record({
  isMoved: fc.boolean(),
  isDefault: fc.boolean(),
  name: fc.constantFrom(...NAMES),
});

/** How often the document's selection is asked again by other names, so that its variables stand in more places. */
const times = fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 40 }));

/**
 * Bodies with the values of these documents moved to variables. Values of one type and one text share a variable;
 * a document that does not parse is given as it is.
 */
export const variableBody = (
  schema: GraphQLSchema,
  documents: fc.Arbitrary<string>,
): fc.Arbitrary<string> =>
  fc
    .tuple(documents, fc.array(choice, { minLength: 1, maxLength: 8 }), times)
    .map(([text, choices, again]) => {
      const moved = moveValues(schema, text, choices);
      if (moved === undefined) return JSON.stringify({ query: text });
      const { selection, variables } = moved;
      const declared = variables.map(
        ({ name, type, literal, isDefault }) =>
          `$${name}: ${type}${isDefault ? ` = ${literal}` : ""}`,
      );
      const head = declared.length === 0 ? "query" : `query (${declared.join(", ")})`;
      const given = variables
        .filter(({ isDefault }) => !isDefault)
        .map(({ name, value }) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
      const spread = "...f ".repeat(again);
      const query = `${head} { ${spread} } fragment f on Query ${selection}`;
      return `{"query": ${JSON.stringify(query)}, "variables": {${given.join(", ")}}}`;
    });

/** For one value: whether it becomes a variable, whether its value is the default, and what it is named. */
interface Choice {
  isMoved: boolean;
  isDefault: boolean;
  name: string;
}

function moveValues(
  schema: GraphQLSchema,
  text: string,
  choices: readonly Choice[],
): { selection: string; variables: Variable[] } | undefined {
  const variables = new Map<string, Variable>();
  const types = new TypeInfo(schema);
  let n = 0;
  const enter = (node: ValueNode) => {
    const type = types.getInputType();
    const { isMoved, isDefault, name } = choices[n % choices.length]!;
    n += 1;
    if (!isMoved || type == null) return undefined;
    const literal = print(node);
    const key = `${String(type)} ${literal}`;
    // The first has the plain name.
    const suffix = variables.size === 0 ? "" : String(variables.size);
    const known = variables.get(key) ?? {
      ...{ name: name + suffix, type: String(type), literal, isDefault },
      value: valueFromASTUntyped(node) ?? null,
    };
    variables.set(key, known);
    return { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: known.name } } as const;
  };
  try {
    const document = visit(
      parse(text),
      visitWithTypeInfo(types, {
        ...{ IntValue: { enter }, FloatValue: { enter }, StringValue: { enter } },
        ...{ EnumValue: { enter }, BooleanValue: { enter }, NullValue: { enter } },
        ...{ ListValue: { enter }, ObjectValue: { enter } },
      }),
    );
    return { selection: print(document), variables: [...variables.values()] };
  } catch {
    return undefined;
  }
}
