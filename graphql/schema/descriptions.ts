// Describes every generated type, field, argument and value of the schema. A column's comment is repeated
// where the column filters, orders or finds rows; pages, cursors, operators and scalars have no SQL
// comment and are described here.
import type {
  PgCodec,
  PgCodecAttribute,
  PgCodecWithAttributes,
  PgResource,
} from "postgraphile/@dataplan/pg";
import type { GraphqlLimits } from "../limits/limits.ts";
import { argumentText, functionNamed } from "./argument-text.ts";
import { orderNames, servedOrderList } from "#indexed-orders";

type Texts = Readonly<Record<string, string>>;

const SCALARS: Texts = {
  BigFloat:
    'An exact decimal number, as a string: `"2767.366770993491790787"`. A float loses digits after the 15th: keep the string, or parse it into a decimal type.',
  BigInt: 'An integer of 64 bits, as a string: `"1992"`. It may be too large for a float.',
  Cursor:
    "A place in a list, for `after` and `before`. Opaque, and valid only for the order and direction that it was created with.",
  Datetime:
    'A time in ISO 8601, in UTC with microseconds: `"2026-01-31T12:00:00.000000+00:00"`. An input without an offset is in UTC.',
};

const PAGE_INFO: Texts = {
  hasNextPage: "Whether rows follow after the page, in both paging directions.",
  hasPreviousPage: "Whether rows come before the page, in both paging directions.",
  startCursor: "The cursor of the page's first row, for `before`. Null if the page is empty.",
  endCursor: "The cursor of the page's last row, for `after`. Null if the page is empty.",
};

const CONNECTION: Texts = {
  nodes: "The page's rows, in the requested order. Never null.",
  edges: "The same rows, each with its cursor. Never null.",
  pageInfo: "Whether there are more rows, and the cursors to page on.",
  totalCount: "The number of rows of all pages, in the same snapshot as the page.",
};

const EDGE: Texts = {
  cursor: "The row's place in the list, for `after` and `before`. Never null.",
  node: "The row. Never null.",
};

const LOGICAL: Texts = {
  and: "All of these are true.",
  or: "At least one of these is true.",
  not: "This is false. A comparison with a null is neither true nor false.",
};

/** The operators of filters, in the order of the schema. */
export const OPERATORS: Texts = {
  isNull: "`true`: the value is null. `false`: it is not.",
  equalTo: "The value equals this.",
  notEqualTo: "The value differs from this and is not null.",
  in: "The value is one of these.",
  notIn: "The value is none of these and not null.",
  lessThan: "The value is less than this.",
  lessThanOrEqualTo: "The value is less than this or equal to it.",
  greaterThan: "The value is greater than this.",
  greaterThanOrEqualTo: "The value is greater than this or equal to it.",
  equalToInsensitive: "The value equals this, ignoring case.",
  inInsensitive: "The value is one of these, ignoring case.",
};

const NODE_ID =
  "Identifies this record among all types: the key for the caches of Relay, Apollo and urql. Opaque; `node` finds the record by it.";

const NODE = "A record that `node` finds by its `nodeId`.";

type FieldScope = GraphileBuild.ScopeObjectFieldsField;

/** A type, field, argument or value with this description, or with its own if there is none. */
const described = <Config extends object>(
  config: Config,
  description: string | null | undefined,
): Config => (description == null ? config : { ...config, description });

const sentences = (...texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined && text !== "").join(" ");

/** The fields of these columns. */
const fieldsOf = (
  build: GraphileBuild.Build,
  codec: PgCodecWithAttributes,
  columns: readonly string[],
): string =>
  columns
    .map((attributeName) => `\`${build.inflection.attribute({ codec, attributeName })}\``)
    .join(" and ");

/** The column of a GraphQL field name. */
function columnNamed(
  build: GraphileBuild.Build,
  codec: PgCodec,
  name: string,
): PgCodecAttribute | undefined {
  if (!isTable(codec)) return undefined;
  return Object.entries(codec.attributes).find(
    ([attributeName]) => build.inflection.attribute({ codec, attributeName }) === name,
  )?.[1];
}

const isTable = (codec: PgCodec | undefined): codec is PgCodecWithAttributes =>
  codec?.attributes !== undefined;

/** The row type in Markdown. */
function rowsOf(build: GraphileBuild.Build, codec: PgCodec | undefined): string {
  return isTable(codec) ? `\`${build.inflection.tableType(codec)}\`` : "value";
}

/** Describes a value of an orderBy enum. */
function orderText(
  build: GraphileBuild.Build,
  codec: PgCodecWithAttributes,
  value: string,
): string | undefined {
  const resource = build.pgTableResource(codec) as PgResource | null;
  if (resource === null) return undefined;
  const names = orderNames(build, resource);
  if (value === "NATURAL") {
    return names.has("PRIMARY_KEY_ASC") ? "The same as `PRIMARY_KEY_ASC`." : "In any order.";
  }
  const columns = names.get(value) ?? [];
  const [first] = columns;
  if (first === undefined) return undefined;
  const fields = fieldsOf(
    build,
    codec,
    columns.map(({ column }) => column),
  );
  const by = `By ${fields}, ${first.direction === "ASC" ? "ascending" : "descending"}.`;
  const column = codec.attributes[first.column];
  if (columns.length > 1 || column === undefined) return by;
  // An index sorts a null like an empty text: see cursors.ts.
  const isIndexed = resource.extensions?.servedOrders !== undefined;
  const nulls =
    column.notNull === true
      ? undefined
      : `Nulls come ${isIndexed === (first.direction === "ASC") ? "first" : "last"}.`;
  return sentences(by, nulls, column.description);
}

/** Describes a field that is neither a column nor a relation. */
function fieldText(build: GraphileBuild.Build, scope: FieldScope): string | undefined {
  const { fieldName } = scope;
  if (scope.isPageInfo === true) return PAGE_INFO[fieldName];
  if (scope.isConnectionEdgeType === true) return EDGE[fieldName];
  if (scope.isConnectionType === true) return CONNECTION[fieldName];
  if (scope.isRootQuery !== true) return fieldName === "nodeId" ? NODE_ID : undefined;

  const resource = scope.pgFieldResource as PgResource | undefined;
  if (scope.nodeAccessorTypeName !== undefined) {
    return `The \`${scope.nodeAccessorTypeName}\` with this \`nodeId\`, or null.`;
  }
  if (fieldName === "nodeId") return "Identifies the query itself, for Relay.";
  if (fieldName === "node") return "The record of any type with this `nodeId`, or null.";
  if (resource === undefined || resource.parameters || !isTable(resource.codec)) return undefined;
  const { codec } = resource;
  const row = rowsOf(build, codec);
  if (scope.isPgRowByUniqueConstraintField === true) {
    const unique = scope.pgFieldResourceUnique;
    return `The ${row} with this ${fieldsOf(build, codec, unique?.attributes ?? [])}, or null.`;
  }
  return scope.isPgFieldConnection === true
    ? sentences(`All rows of ${row} or a selection, in pages.`, codec.description)
    : undefined;
}

function orderByText(build: GraphileBuild.Build, resource: PgResource | undefined): string {
  const { servedOrders: served, rowOrder } = resource?.extensions ?? {};
  const last =
    rowOrder && isTable(resource?.codec)
      ? fieldsOf(build, resource.codec, rowOrder)
      : "the primary key";
  const text = `Sorts by these values, the first one first, and then by ${last}.`;
  if (resource === undefined || served === undefined) return text;
  const list = servedOrderList(served, orderNames(build, resource));
  return `${text} An index serves ${list}, all of one list \`_ASC\` or all \`_DESC\`.`;
}

export function makeDescriptionsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  const most = `0 to ${limits.page.toLocaleString("en")}`;
  const connectionArguments: Texts = {
    first: `The number of rows from the start, or after \`after\`: ${most}. Not together with \`last\`.`,
    last: `The number of rows from the end, or before \`before\`, in the requested order: ${most}. Not together with \`first\` or \`offset\`.`,
    offset:
      "The number of rows to skip, from `after` on. A large offset reads all rows that it skips; a cursor does not. Not together with `last`.",
    before: "Only rows before this cursor.",
    after: "Only rows after this cursor.",
    condition: "Only rows with all of these values. With `filter`, both apply.",
    filter: "Only rows for which all of this is true. With `condition`, both apply.",
  };

  return {
    name: "DescriptionsPlugin",
    description: "Describes every generated type, field, argument and value.",

    schema: {
      hooks: {
        GraphQLScalarType: (config) => described(config, SCALARS[config.name]),

        GraphQLInterfaceType: (config) =>
          described(config, config.name === "Node" ? NODE : undefined),

        GraphQLInterfaceType_fields_field: (field, _build, { scope }) =>
          described(field, scope.fieldName === "nodeId" ? NODE_ID : undefined),

        GraphQLEnumType(config, build, { scope }) {
          if (scope.isPgRowSortEnum !== true) return config;
          return described(config, `The orders of ${rowsOf(build, scope.pgCodec)}.`);
        },

        GraphQLEnumType_values_value(value, build, { scope }) {
          if (scope.isPgRowSortEnum !== true || !isTable(scope.pgCodec)) return value;
          return described(value, orderText(build, scope.pgCodec, scope.valueName));
        },

        GraphQLInputObjectType(config, build, { scope }) {
          const rows = rowsOf(build, scope.pgCodec);
          if (scope.isPgCondition === true) return described(config, `Values of a ${rows}.`);
          if (scope.isPgConnectionFilter === true) {
            return described(config, `Comparisons of a ${rows}; all must be true.`);
          }
          const compared = scope.pgConnectionFilterOperators?.inputTypeName;
          if (compared === undefined) return config;
          return described(
            config,
            `Comparisons of a value of type \`${compared}\`; all must be true. For a null only \`isNull: true\` is.`,
          );
        },

        GraphQLInputObjectType_fields_field(field, build, { scope }) {
          const { fieldName, pgCodec: codec } = scope;
          if (scope.isPgConnectionConditionInputField === true) {
            const column = scope.pgAttribute;
            const orNull = column?.notNull === true ? "" : ", or without a value if this is null";
            const rows = `Only rows with \`${fieldName}\` equal to this value${orNull}.`;
            return described(field, sentences(rows, column?.description));
          }
          if (scope.isPgConnectionFilterOperatorLogical === true) {
            return described(field, LOGICAL[fieldName]);
          }
          if (scope.isPgConnectionFilter === true && codec !== undefined) {
            const column = columnNamed(build, codec, fieldName);
            const compares = `Compares \`${fieldName}\`.`;
            return described(field, sentences(compares, column?.description));
          }
          const isOperator = scope.pgConnectionFilterOperators !== undefined;
          return isOperator ? described(field, OPERATORS[fieldName]) : field;
        },

        GraphQLObjectType(config, build, { scope }) {
          if (scope.isRootQuery === true) return described(config, "All queries.");
          if (scope.isRootSubscription === true) {
            return described(config, "What is pushed when the data change, by WebSocket.");
          }
          if (scope.isPageInfo === true) {
            return described(config, "Whether there are more rows, and the cursors to page on.");
          }
          const rows = rowsOf(build, scope.pgCodec);
          if (scope.isConnectionType === true) {
            return described(config, `A page of rows of ${rows}, and the number of all rows.`);
          }
          if (scope.isConnectionEdgeType === true) {
            return described(config, `A ${rows} of a page, and its cursor.`);
          }
          return config;
        },

        GraphQLObjectType_fields_field: (field, build, { scope }) =>
          described(field, fieldText(build, scope)),

        GraphQLObjectType_fields_field_args_arg(arg, build, { scope }) {
          const { argName } = scope;
          const resource =
            (scope.pgFieldResource as PgResource | undefined) ??
            (scope.isRootQuery === true ? functionNamed(build, scope.fieldName) : undefined);
          if (scope.isPgRowByUniqueConstraintField === true && resource !== undefined) {
            return described(arg, columnNamed(build, resource.codec, argName)?.description);
          }
          if (argName === "nodeId" && scope.isRootQuery === true) {
            return described(
              arg,
              `The \`nodeId\` of a \`${scope.nodeAccessorTypeName ?? "Node"}\`.`,
            );
          }
          const ofFunction = argumentText(resource, argName);
          if (ofFunction !== undefined) return described(arg, ofFunction);
          if (scope.isPgFieldConnection !== true) return arg;
          const isOrder = argName === "orderBy";
          return described(
            arg,
            isOrder ? orderByText(build, resource) : connectionArguments[argName],
          );
        },
      },
    },
  };
}
