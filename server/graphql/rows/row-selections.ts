// Finds in a query the pages whose nodes ask for columns only, and has each of them read as a whole.
//
// GraphQL's own way through a page is a step for each value: 1,600 of them for a hundred trades of
// sixteen columns, which take most of the time that such a query takes. So `nodes { id, market }`
// becomes a leaf, `rows(of: "id:id market:market")`, of a schema that only the executor sees; and
// `totalCount` beside it becomes `rowsTotal`, where it can be told from what the page has seen. What
// a client may ask, and the answer, stay as they are; whatever else is asked is left alone.
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
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  type SelectionSetNode,
} from "graphql";
import type { FieldPlanResolver } from "postgraphile/grafast";

/** The field of a connection that reads its rows as a whole. */
export const ROWS = "rows";
/** The field of a connection that is its totalCount beside `rows`. */
export const ROWS_TOTAL = "rowsTotal";
const TOTAL_COUNT = "totalCount";

/** A field of a row as it is asked for. */
export interface AskedField {
  /** Its name in the answer. */
  key: string;
  field: string;
}

declare module "graphql" {
  interface GraphQLObjectTypeExtensions {
    /** Whether it is a connection whose rows can be read as a whole. */
    hasRows?: boolean;
  }
  // The parameters must be those of the interface that is added to.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs = any> {
    /** Of a field of Query: whether the totalCount of its connection has a plan beside rows. */
    isCountedBesideRows?: boolean;
    /** Of a totalCount: the plan of `rowsTotal`. */
    planBesideRows?: FieldPlanResolver;
  }
}

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;
type MakePlan = (connectionType: GraphQLObjectType) => FieldPlanResolver;

/**
 * The schema with the field `rows` in every connection that has them, planned by `planOf`, and the
 * field `rowsTotal` where its totalCount has a plan for that.
 */
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
    // It is one: the schema was checked when it was built.
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

/** The fields that `rows(of:)` names. */
export const askedFields = (of: string): AskedField[] =>
  of.split(" ").map((asked) => {
    const [key = "", field = ""] = asked.split(":");
    return { key, field };
  });

/** The same query for the schema of `withRows`, or the very same one where it has no such page. */
export function selectRows(
  document: DocumentNode,
  schema: GraphQLSchema,
  isColumn: (field: GraphQLField<unknown, unknown>) => boolean,
): DocumentNode {
  const queryType = schema.getQueryType();
  const fragments: Fragments = new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition]] : [],
    ),
  );
  const pages: FieldNode[] = [];

  /** Fields that are given twice, and those in fragments, would have to be merged: left alone. */
  const within = (
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
      const asked =
        type.extensions.hasRows === true && node.name.value === "nodes" && !node.directives?.length
          ? columnsOnly(node.selectionSet, inner, fragments, isColumn)
          : undefined;
      if (asked === undefined) {
        return { ...node, selectionSet: within(node.selectionSet, inner, declared) };
      }
      pages.push(node);
      return asRows(node, asked);
    });
    const countsBesideRows =
      of?.extensions.isCountedBesideRows === true &&
      changed.some(({ name }) => name.value === ROWS);
    return {
      ...selectionSet,
      selections: countsBesideRows ? changed.map(withTotalOfRows) : changed,
    };
  };

  const definitions = document.definitions.map((definition) =>
    definition.kind === Kind.OPERATION_DEFINITION &&
    definition.operation === OperationTypeNode.QUERY &&
    queryType != null
      ? { ...definition, selectionSet: within(definition.selectionSet, queryType) }
      : definition,
  );
  return pages.length > 0 ? { ...document, definitions } : document;
}

const keyOf = ({ alias, name }: FieldNode): string => (alias ?? name).value;

/** What is asked of a row, in the order of the answer; undefined where it is not of columns only. */
function columnsOnly(
  selectionSet: SelectionSetNode,
  type: GraphQLObjectType,
  fragments: Fragments,
  isColumn: (field: GraphQLField<unknown, unknown>) => boolean,
): AskedField[] | undefined {
  const asked = new Map<string, string>();

  const collect = ({ selections }: SelectionSetNode): boolean =>
    selections.every((selection) => {
      if (selection.directives?.length) return false;
      if (selection.kind === Kind.FIELD) {
        const field = type.getFields()[selection.name.value];
        if (field === undefined || !isColumn(field) || !isLeafType(getNamedType(field.type))) {
          return false;
        }
        asked.set(keyOf(selection), selection.name.value);
        return true;
      }
      const fragment =
        selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
      if (fragment === undefined || fragment.directives?.length) return false;
      const on = fragment.typeCondition?.name.value ?? type.name;
      return on === type.name && collect(fragment.selectionSet);
    });

  if (!collect(selectionSet)) return undefined;
  // An object's property of such a name could be one that every object has.
  if ([...asked.keys()].some((key) => key.startsWith("__"))) return undefined;
  return [...asked].map(([key, field]) => ({ key, field }));
}

/** The field `totalCount` as the field `rowsTotal`; any other as it is. */
const withTotalOfRows = (node: FieldNode): FieldNode =>
  node.name.value === TOTAL_COUNT && !node.directives?.length ? inPlaceOf(node, ROWS_TOTAL) : node;

/** Another field under the same key of the answer. */
const inPlaceOf = ({ alias, name, loc }: FieldNode, field: string): FieldNode => ({
  kind: Kind.FIELD,
  alias: alias ?? name,
  name: { kind: Kind.NAME, value: field },
  ...(loc && { loc }),
});

/** The field `nodes` as the field `rows`. */
function asRows(node: FieldNode, asked: AskedField[]): FieldNode {
  const of = asked.map(({ key, field }) => `${key}:${field}`).join(" ");
  return {
    ...inPlaceOf(node, ROWS),
    arguments: [
      {
        kind: Kind.ARGUMENT,
        name: { kind: Kind.NAME, value: "of" },
        value: { kind: Kind.STRING, value: of },
      },
    ],
  };
}
