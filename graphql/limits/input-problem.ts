// Limits the lists and objects of the input, in the document and in the variables.
import { BREAK, Kind, visit, type ASTNode, type DocumentNode, type GraphQLError } from "graphql";
import { fragmentsOf } from "../fragments.ts";
import type { VariableValues } from "./variable-values.ts";
import { refusal } from "./limit-error.ts";
import type { GraphqlLimits } from "./limits.ts";

/** The limit that a literal in the document exceeds. */
export function inputProblem(
  document: DocumentNode,
  limits: GraphqlLimits,
): GraphQLError | undefined {
  let problem: GraphQLError | undefined;
  let depth = 0;
  const enter = (node: ASTNode) => {
    depth += 1;
    const length = node.kind === Kind.LIST ? node.values.length : 0;
    problem = valueProblem(depth, length, ["A value", "A list"], limits, node);
    return problem === undefined ? undefined : BREAK;
  };
  const leave = () => void (depth -= 1);
  visit(document, { ObjectValue: { enter, leave }, ListValue: { enter, leave } });
  return problem;
}

/** Where a document uses a variable. */
interface Use {
  /** In how many places of one operation, at most: in a fragment as often as it is spread. */
  count: number;
  /** In how many lists and objects of the document, at most. */
  depth: number;
}

type Uses = ReadonlyMap<string, Use>;

const NO_USES: Uses = new Map();

const uses = new WeakMap<DocumentNode, Uses>();

function usesOf(document: DocumentNode): Uses {
  const known = uses.get(document);
  if (known !== undefined) return known;
  const fragments = fragmentsOf(document);
  const ofFragments = new Map<string, Uses>();
  const usesIn = (definition: ASTNode): Uses => {
    const found = new Map<string, Use>();
    const add = (name: string, { count, depth }: Use) => {
      const other = found.get(name) ?? { count: 0, depth: 0 };
      found.set(name, { count: count + other.count, depth: Math.max(depth, other.depth) });
    };
    let depth = 0;
    const enter = () => void (depth += 1);
    const leave = () => void (depth -= 1);
    visit(definition, {
      ObjectValue: { enter, leave },
      ListValue: { enter, leave },
      VariableDefinition: () => false,
      Variable: ({ name }) => add(name.value, { count: 1, depth }),
      FragmentSpread({ name: { value: name } }) {
        const fragment = fragments.get(name);
        // Documents with circles of fragments are refused before.
        const ofFragment = ofFragments.get(name) ?? (fragment ? usesIn(fragment) : NO_USES);
        ofFragments.set(name, ofFragment);
        for (const [variable, use] of ofFragment) add(variable, use);
      },
    });
    return found;
  };
  const most = new Map<string, Use>();
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    for (const [name, { count, depth }] of usesIn(definition)) {
      const other = most.get(name) ?? { count: 0, depth: 0 };
      most.set(name, {
        count: Math.max(count, other.count),
        depth: Math.max(depth, other.depth),
      });
    }
  }
  uses.set(document, most);
  return most;
}

/** A text is sent to the database in each place: its length counts too. */
const CHARACTERS_PER_VALUE = 100;

/** The members of lists and objects in a value, and one for every 100 characters of a text. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return Math.floor(value.length / CHARACTERS_PER_VALUE);
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + 1 + sizeOf(member), 0);
}

/** The members of the objects in a value: conditions, and what joins them. */
function membersIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const members = Object.values(value);
  const own = Array.isArray(value) ? 0 : members.length;
  return members.reduce<number>((sum, member) => sum + membersIn(member), own);
}

function conditionsProblem(
  used: Uses,
  variables: VariableValues,
  { conditions }: GraphqlLimits,
): GraphQLError | undefined {
  let count = 0;
  for (const [name, value] of Object.entries(variables)) {
    count += (used.get(name)?.count ?? 0) * membersIn(value);
  }
  if (count <= conditions) return undefined;
  return refusal(
    "TOO_MANY_VALUES",
    `The objects of the variables have ${count} members, each counted wherever it stands: at most ${conditions} are accepted, ask for them in several requests, or give values of one column as a list of "in".`,
  );
}

/** Small input that stands in many places is made anew in each: what it comes to is bounded. */
function repeatsProblem(
  used: Uses,
  variables: VariableValues,
  { repeatedValues }: GraphqlLimits,
): GraphQLError | undefined {
  let repeated = 0;
  for (const [name, value] of Object.entries(variables)) {
    const again = (used.get(name)?.count ?? 0) - 1;
    if (again > 0) repeated += again * sizeOf(value);
    if (repeated <= repeatedValues) continue;
    return refusal(
      "TOO_MANY_VALUES",
      `The variable $${name} stands in ${again + 1} places: beyond one place for each variable, at most ${repeatedValues} values are accepted in all, where ${CHARACTERS_PER_VALUE} characters of a text count as one.`,
    );
  }
  return undefined;
}

/**
 * The limit that a variable exceeds, its depth counted from the outermost literal that it stands in. Variables that
 * the operation does not declare are ignored.
 */
export function variablesProblem(
  document: DocumentNode,
  variables: VariableValues,
  limits: GraphqlLimits,
): GraphQLError | undefined {
  const used = usesOf(document);
  for (const [name, value] of Object.entries(variables)) {
    const depth = 1 + (used.get(name)?.depth ?? 0);
    const problem = membersProblem({ [name]: value }, limits, "$", depth);
    if (problem !== undefined) return problem;
  }
  return repeatsProblem(used, variables, limits) ?? conditionsProblem(used, variables, limits);
}

function membersProblem(
  members: VariableValues,
  limits: GraphqlLimits,
  within: string,
  depth: number,
): GraphQLError | undefined {
  for (const [name, value] of Object.entries(members)) {
    if (typeof value !== "object" || value === null) continue;
    const path = within + name;
    const length = Array.isArray(value) ? value.length : 0;
    const problem =
      valueProblem(depth, length, [`The variable ${path}`, `The list ${path}`], limits) ??
      membersProblem(value as VariableValues, limits, `${path}.`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueProblem(
  depth: number,
  length: number,
  [value, list]: readonly [string, string],
  { inputDepth, values }: GraphqlLimits,
  node?: ASTNode,
): GraphQLError | undefined {
  if (depth > inputDepth) {
    return refusal(
      "INPUT_TOO_DEEP",
      `${value} nests objects and lists more than ${inputDepth} deep: conditions are joined flatter by "and", "or" and "not".`,
      node,
    );
  }
  if (length <= values) return undefined;
  return refusal(
    "TOO_MANY_VALUES",
    `${list} has ${length} values: at most ${values} are accepted, ask for them in several requests.`,
    node,
  );
}
