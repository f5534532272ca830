// Rewrites a query so that a page whose nodes select only columns is read by one step.
//
// GraphQL executes one step for each value: 1,600 steps for 100 trades with 16 columns, most of the time
// of the query. So `nodes { id, market }` becomes the leaf field `rows(of: "id:id market:market")` in a
// schema that only the executor sees, and `totalCount` beside it becomes `rowsTotal` if it can use the
// table version of the page. The public schema and the response stay the same, and every other
// selection stays unchanged.
import {
  extendSchema,
  getNamedType,
  isLeafType,
  isObjectType,
  Kind,
  OperationTypeNode,
  parse,
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type SelectionSetNode,
} from "graphql";
import type { FieldPlanResolver } from "postgraphile/grafast";
import { fragmentsOf, type Fragments } from "../fragments.ts";

/** The internal field that replaces `nodes`. */
export const ROWS = "rows";
/** The internal field that replaces `totalCount` beside `rows`. */
export const ROWS_TOTAL = "rowsTotal";
const TOTAL_COUNT = "totalCount";

/** A selected field of a row. */
export interface SelectedField {
  /** The response key: the alias, or else the field's name. */
  key: string;
  field: string;
}

declare module "graphql" {
  interface GraphQLObjectTypeExtensions {
    /** Whether this connection type gets the field `rows`. */
    hasRows?: boolean;
  }
  // Declaration merging requires the type parameters of the original interface.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs = any> {
    /** On a field of Query: whether its connection's totalCount may become `rowsTotal`. */
    isCountedBesideRows?: boolean;
    /** On totalCount: the plan of `rowsTotal`. */
    planBesideRows?: FieldPlanResolver;
  }
}

type MakePlan = (connectionType: GraphQLObjectType) => FieldPlanResolver;

/** Adds `rows` to every connection type with `hasRows`, and `rowsTotal` if its totalCount plans it. */
export function withRows(schema: GraphQLSchema, planOf: MakePlan): GraphQLSchema {
  const planOfTotal = (type: GraphQLObjectType): FieldPlanResolver | undefined =>
    type.getFields()[TOTAL_COUNT]?.extensions.planBesideRows;
  const types = Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type))
    .filter(({ extensions }) => extensions.hasRows === true);
  const fields = types.map((type) => {
    const total = planOfTotal(type) === undefined ? "" : `${ROWS_TOTAL}: Int!`;
    return `extend type ${type.name} { ${ROWS}(of: String!): WholeRows ${total} }`;
  });
  const extended = extendSchema(schema, parse(`scalar WholeRows\n${fields.join("\n")}`), {
    // The schema was validated when it was built.
    assumeValid: true,
  });
  for (const { name } of types) {
    const type = extended.getType(name) as GraphQLObjectType;
    const { [ROWS]: rows, [ROWS_TOTAL]: total } = type.getFields();
    const plan = planOfTotal(type);
    if (rows !== undefined) rows.extensions = { grafast: { plan: planOf(type) } };
    if (total !== undefined && plan !== undefined) total.extensions = { grafast: { plan } };
  }
  return extended;
}

/** Parses the argument `of` of the field `rows`. */
export const selectedFields = (of: string): SelectedField[] =>
  of.split(" ").map((pair) => {
    const [key = "", field = ""] = pair.split(":");
    return { key, field };
  });

/** Returns the query for the schema of `withRows`, or the same document if nothing is replaced. */
export function selectRows(
  document: DocumentNode,
  schema: GraphQLSchema,
  isColumn: (field: GraphQLField<unknown, unknown>) => boolean,
): DocumentNode {
  const queryType = schema.getQueryType();
  const fragments = fragmentsOf(document);
  let replaced = 0;

  /** Repeated fields and fields in fragments stay unchanged, because they would have to be merged. */
  const rewrite = (
    selectionSet: SelectionSetNode,
    type: GraphQLObjectType,
    of?: GraphQLField<unknown, unknown>,
  ): SelectionSetNode => {
    const { selections } = selectionSet;
    const fields = selections.filter((selection) => selection.kind === Kind.FIELD);
    const keys = new Set(fields.map(keyOf));
    if (fields.length < selections.length || keys.size < fields.length) return selectionSet;
    const changed = fields.map((node) => {
      const declared = type.getFields()[node.name.value];
      const inner = declared && getNamedType(declared.type);
      if (node.selectionSet === undefined || !isObjectType(inner)) return node;
      const columns =
        type.extensions.hasRows === true && node.name.value === "nodes" && !node.directives?.length
          ? columnsOnly(node.selectionSet, inner, fragments, isColumn)
          : undefined;
      if (columns === undefined) {
        return { ...node, selectionSet: rewrite(node.selectionSet, inner, declared) };
      }
      replaced += 1;
      return rowsField(node, columns);
    });
    const countsBesideRows =
      of?.extensions.isCountedBesideRows === true &&
      changed.some(({ name }) => name.value === ROWS);
    return {
      ...selectionSet,
      selections: countsBesideRows ? changed.map(totalBesideRows) : changed,
    };
  };

  const definitions = document.definitions.map((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION &&
    definition.operation === OperationTypeNode.QUERY &&
    queryType != null
      ? { ...definition, selectionSet: rewrite(definition.selectionSet, queryType) }
      : definition,
  );
  return replaced > 0 ? { ...document, definitions } : document;
}

const keyOf = ({ alias, name }: FieldNode): string => (alias ?? name).value;

/** The selected columns in response order; undefined if anything else is selected. */
function columnsOnly(
  selectionSet: SelectionSetNode,
  type: GraphQLObjectType,
  fragments: Fragments,
  isColumn: (field: GraphQLField<unknown, unknown>) => boolean,
): SelectedField[] | undefined {
  const fieldOfKey = new Map<string, string>();

  const collect = ({ selections }: SelectionSetNode): boolean =>
    selections.every((selection) => {
      if (selection.directives?.length) return false;
      if (selection.kind === Kind.FIELD) {
        const field = type.getFields()[selection.name.value];
        if (field === undefined || !isColumn(field) || !isLeafType(getNamedType(field.type))) {
          return false;
        }
        fieldOfKey.set(keyOf(selection), selection.name.value);
        return true;
      }
      const fragment =
        selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
      if (fragment === undefined || fragment.directives?.length) return false;
      const on = fragment.typeCondition?.name.value ?? type.name;
      return on === type.name && collect(fragment.selectionSet);
    });

  if (!collect(selectionSet)) return undefined;
  // A key such as `__proto__` cannot be set on a plain object.
  if ([...fieldOfKey.keys()].some((key) => key.startsWith("__"))) return undefined;
  return [...fieldOfKey].map(([key, field]) => ({ key, field }));
}

const totalBesideRows = (node: FieldNode): FieldNode =>
  node.name.value === TOTAL_COUNT && !node.directives?.length ? renamed(node, ROWS_TOTAL) : node;

/** Another field with the same response key. */
const renamed = ({ alias, name, loc }: FieldNode, field: string): FieldNode => ({
  kind: Kind.FIELD,
  alias: alias ?? name,
  name: { kind: Kind.NAME, value: field },
  ...(loc && { loc }),
});

function rowsField(node: FieldNode, columns: SelectedField[]): FieldNode {
  const of = columns.map(({ key, field }) => `${key}:${field}`).join(" ");
  return {
    ...renamed(node, ROWS),
    arguments: [
      {
        kind: Kind.ARGUMENT,
        name: { kind: Kind.NAME, value: "of" },
        value: { kind: Kind.STRING, value: of },
      },
    ],
  };
}
