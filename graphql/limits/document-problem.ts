// Checks a document before it is validated, since validation takes long on a document made for that.
import {
  Kind,
  Lexer,
  parse,
  Source,
  TokenKind,
  type DocumentNode,
  type FieldNode,
  type GraphQLError,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import type { GraphqlLimits } from "./limits.ts";
import { fragmentsOf } from "../fragments.ts";
import { inputProblem } from "./input-problem.ts";
import { refusal } from "./limit-error.ts";

/** A parser that is not optimized yet overflows the stack at some thousand. */
const MAX_NESTING = 200;

/**
 * The limit that this document exceeds; undefined for none, and for a document that does not parse,
 * whose error validation gives. It takes no longer than a document within the limits.
 */
export function documentProblem(query: string, limits: GraphqlLimits): GraphQLError | undefined {
  const source = new Source(query, "GraphQL HTTP Request");
  try {
    const tooLong = tokenProblem(source, limits);
    if (tooLong !== undefined) return tooLong;
    const document = parse(source);
    return selectionProblem(document, limits) ?? inputProblem(document, limits);
  } catch {
    return undefined;
  }
}

function tokenProblem(source: Source, { tokens }: GraphqlLimits): GraphQLError | undefined {
  const lexer = new Lexer(source);
  let nesting = 0;
  for (let count = 0; count <= tokens; count += 1) {
    const { kind } = lexer.advance();
    if (kind === TokenKind.EOF) return undefined;
    if ("{[(".includes(kind)) nesting += 1;
    if ("}])".includes(kind)) nesting -= 1;
    if (nesting > MAX_NESTING) {
      const message = `The document nests braces, brackets and parentheses more than ${MAX_NESTING} deep.`;
      return refusal("TOO_DEEP", message);
    }
  }
  return refusal(
    "TOO_MANY_TOKENS",
    `The document has more than ${tokens} tokens (names, values and punctuation): give values as variables, or ask in several requests.`,
  );
}

interface Place {
  selection: SelectionNode;
  depth: number;
  /** The fragments that it stands in; one that is spread within itself is refused by validation. */
  within: readonly string[];
}

function selectionProblem(document: DocumentNode, limits: GraphqlLimits) {
  const fragments = fragmentsOf(document);
  const places: Place[] = [];
  const enter = (set: SelectionSetNode | undefined, depth: number, within: readonly string[]) => {
    for (const selection of set?.selections ?? []) places.push({ selection, depth, within });
  };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) enter(definition.selectionSet, 1, []);
  }

  // Spreads count as fields do: fragments that spread others several times grow without any field.
  let visited = 0;
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { selection, depth, within } = place;
    visited += 1;
    if (visited > limits.fields) return tooManyFields(limits);
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      const name = selection.name.value;
      if (!within.includes(name)) {
        enter(fragments.get(name)?.selectionSet, depth, [...within, name]);
      }
      continue;
    }
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      enter(selection.selectionSet, depth, within);
      continue;
    }
    if (depth > limits.depth) return tooDeep(selection, limits);
    enter(selection.selectionSet, depth + 1, within);
  }
  return undefined;
}

const tooManyFields = ({ fields }: GraphqlLimits): GraphQLError =>
  refusal(
    "TOO_MANY_FIELDS",
    `The document has more than ${fields} fields, those of a fragment counted wherever it is spread.`,
  );

const tooDeep = (field: FieldNode, { depth }: GraphqlLimits): GraphQLError =>
  refusal(
    "TOO_DEEP",
    `The field "${field.name.value}" is nested more than ${depth} fields deep.`,
    field,
  );
