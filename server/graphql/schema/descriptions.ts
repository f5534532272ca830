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
import { orderNames, servedOrderList } from "../paging/served-orders.ts";

const SCALARS: Record<string, string> = {
  BigFloat:
    'A decimal number, exact, as a string: `"2767.366770993491790787"`. A float would lose digits past the 15th: keep the string, or read it into a decimal type.',
  BigInt: 'An integer of 64 bits, as a string: `"1992"`. It may be more than a float can hold.',
  Cursor:
    "A place in a list, to be given back as `after` or `before`. It means nothing else, and is good for the order and direction that it was made in.",
  Datetime:
    'A time in ISO 8601, to the microsecond and in UTC: `"2026-01-31T12:00:00.000000+00:00"`. Given without an offset, it is taken as UTC.',
};

const PAGE_INFO: Record<string, string> = {
  hasNextPage: "Whether rows follow behind the page, in whichever direction it was asked for.",
  hasPreviousPage: "Whether rows stand before the page, in whichever direction it was asked for.",
  startCursor: "The cursor of the page's first row, for `before`. Null where the page is empty.",
  endCursor: "The cursor of the page's last row, for `after`. Null where the page is empty.",
};

const CONNECTION: Record<string, string> = {
  nodes: "The page's rows, in the order asked for. None is null.",
  edges: "The same rows, each with its cursor. None is null.",
  pageInfo: "Whether there is more, and the cursors to go on from.",
  totalCount: "How many rows there are in all pages together, of the same moment as the page.",
};

const EDGE: Record<string, string> = {
  cursor: "The row's place in the list, for `after` and `before`. Never null.",
  node: "The row. Never null.",
};

const LOGICAL: Record<string, string> = {
  and: "Holds where all of these do.",
  or: "Holds where at least one of these does.",
  not: "Holds where this is false. A comparison with a value that is null is neither true nor false.",
};

const OPERATORS: Record<string, string> = {
  isNull: "`true`: the value is null. `false`: it is not.",
  equalTo: "The value is this.",
  notEqualTo: "The value is another than this, and not null.",
  in: "The value is one of these.",
  notIn: "The value is none of these, and not null.",
  lessThan: "The value is less than this.",
  lessThanOrEqualTo: "The value is this or less.",
  greaterThan: "The value is greater than this.",
  greaterThanOrEqualTo: "The value is this or greater.",
  equalToInsensitive: "The value is this, in upper or lower case.",
  inInsensitive: "The value is one of these, in upper or lower case.",
};

type FieldScope = GraphileBuild.ScopeObjectFieldsField;

const NODE_ID =
  "Names this record, and no other of any type: what Relay, Apollo and urql keep it under. Opaque; `node` finds the record by it.";

const sentences = (...texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined && text !== "").join(" ");

const quoted = (names: readonly string[]): string =>
  names.map((name) => `\`${name}\``).join(" and ");

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
  if (value === build.inflection.builtin("NATURAL")) {
    return names.has("PRIMARY_KEY_ASC") ? "The same as `PRIMARY_KEY_ASC`." : "In any order.";
  }
  const columns = names.get(value) ?? [];
  const [first] = columns;
  if (first === undefined) return undefined;
  const named = columns.map(({ column }) =>
    build.inflection.attribute({ codec, attributeName: column }),
  );
  const by = `By ${quoted(named)}, ${first.direction === "ASC" ? "ascending" : "descending"}.`;
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
  const nodeIdName = build.inflection.nodeIdFieldName();
  if (scope.isPageInfo === true) return PAGE_INFO[fieldName];
  if (scope.isConnectionEdgeType === true) return EDGE[fieldName];
  if (scope.isConnectionType === true) return CONNECTION[fieldName];
  if (scope.isRootQuery !== true) return fieldName === nodeIdName ? NODE_ID : undefined;

  const resource = scope.pgFieldResource as PgResource | undefined;
  if (scope.nodeAccessorTypeName !== undefined) {
    return `The \`${scope.nodeAccessorTypeName}\` of this \`${nodeIdName}\`. Null where there is none.`;
  }
  if (fieldName === nodeIdName) return "Names the query itself, for Relay.";
  if (fieldName === build.inflection.builtin("node")) {
    return `The record of this \`${nodeIdName}\`, whatever its type. Null where there is none.`;
  }
  if (resource === undefined || resource.parameters || !isTable(resource.codec)) return undefined;
  const { codec } = resource;
  const row = rowsOf(build, codec);
  if (scope.isPgRowByUniqueConstraintField === true) {
    const unique = scope.pgFieldResourceUnique;
    const key = (unique?.attributes ?? []).map((attributeName) =>
      build.inflection.attribute({ codec, attributeName }),
    );
    return `The ${row} of this ${quoted(key)}. Null where there is none.`;
  }
  return scope.isPgFieldConnection === true
    ? sentences(`Every ${row}, or those asked for, by pages.`, codec.description)
    : undefined;
}

/** Reads the description of a function's argument from its tag `@argument depth How many levels.` */
function argumentText(resource: PgResource | undefined, argName: string): string | undefined {
  if (resource?.parameters === undefined) return undefined;
  return [resource.extensions?.tags?.["argument"] ?? []]
    .flat()
    .map(String)
    .find((text) => text.startsWith(`${argName} `))
    ?.slice(argName.length + 1);
}

function orderByText(build: GraphileBuild.Build, resource: PgResource | undefined): string {
  const served = resource?.extensions?.servedOrders;
  const text =
    "In the order of these, the first one first; rows that tie are in the order of the primary key.";
  if (resource === undefined || served === undefined) return text;
  const list = servedOrderList(served, orderNames(build, resource));
  return `${text} Served are ${list}, all of one list \`_ASC\` or all \`_DESC\`.`;
}

export function makeDescriptionsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  const most = `0 to ${limits.page.toLocaleString("en")}`;
  const connectionArguments: Record<string, string> = {
    first: `So many rows from the front, or behind \`after\`: ${most}. Not together with \`last\`.`,
    last: `So many rows from the end, or before \`before\`, in the order asked for: ${most}. Not together with \`first\` or \`offset\`.`,
    offset:
      "Passes over so many rows, counted from `after`. A deep one reads all that it passes over, where a cursor does not. Not together with `last`.",
    before: "Only rows before this cursor.",
    after: "Only rows behind this cursor.",
    condition:
      "Only rows whose fields have these values, all of them. With `filter` given too, both hold.",
    filter: "Only rows for which all of this holds. With `condition` given too, both hold.",
  };

  return {
    name: "DescriptionsPlugin",
    version: "1.0.0",
    description: "Describes every generated type, field, argument and value.",

    schema: {
      hooks: {
        GraphQLScalarType(config) {
          const description = SCALARS[config.name];
          return description === undefined ? config : { ...config, description };
        },

        GraphQLInterfaceType(config, build) {
          if (config.name !== build.inflection.builtin("Node")) return config;
          return { ...config, description: "A record that `node` finds by its `nodeId`." };
        },

        GraphQLInterfaceType_fields_field(field, build, { scope }) {
          if (scope.fieldName !== build.inflection.nodeIdFieldName()) return field;
          return { ...field, description: NODE_ID };
        },

        GraphQLEnumType(config, build, { scope }) {
          if (scope.isPgRowSortEnum !== true) return config;
          const description = `What ${rowsOf(build, scope.pgCodec)} can be ordered by.`;
          return { ...config, description };
        },

        GraphQLEnumType_values_value(value, build, { scope }) {
          if (scope.isPgRowSortEnum !== true || !isTable(scope.pgCodec)) return value;
          const description = orderText(build, scope.pgCodec, scope.valueName);
          return description === undefined ? value : { ...value, description };
        },

        GraphQLInputObjectType(config, build, { scope }) {
          const rows = rowsOf(build, scope.pgCodec);
          if (scope.isPgCondition === true) {
            const description = `Values that the fields of a ${rows} have, all of them.`;
            return { ...config, description };
          }
          if (scope.isPgConnectionFilter === true) {
            const description = `What holds for the fields of a ${rows}, all of it.`;
            return { ...config, description };
          }
          const compared = scope.pgConnectionFilterOperators?.inputTypeName;
          if (compared === undefined) return config;
          const description = `What holds for a value of type \`${compared}\`, all of it. Where the value is null, only \`isNull: true\` holds.`;
          return { ...config, description };
        },

        GraphQLInputObjectType_fields_field(field, build, { scope }) {
          const { fieldName } = scope;
          if (scope.isPgConnectionConditionInputField === true) {
            const column = scope.pgAttribute;
            const orNull = column?.notNull === true ? "" : ", or null";
            const value = `The value that \`${fieldName}\` has${orNull}.`;
            return { ...field, description: sentences(value, column?.description) };
          }
          if (scope.isPgConnectionFilterOperatorLogical === true) {
            return { ...field, description: LOGICAL[fieldName] ?? field.description };
          }
          if (scope.isPgConnectionFilter === true && scope.pgCodec !== undefined) {
            const column = columnNamed(build, scope.pgCodec, fieldName);
            const holds = `What holds for \`${fieldName}\`.`;
            return { ...field, description: sentences(holds, column?.description) };
          }
          if (scope.pgConnectionFilterOperators !== undefined) {
            return { ...field, description: OPERATORS[fieldName] ?? field.description };
          }
          return field;
        },

        GraphQLObjectType(config, build, { scope }) {
          if (scope.isRootQuery === true) {
            return { ...config, description: "What the service can be asked for." };
          }
          if (scope.isPageInfo === true) {
            return { ...config, description: "Whether there is more, and from where to go on." };
          }
          const rows = rowsOf(build, scope.pgCodec);
          if (scope.isConnectionType === true) {
            return { ...config, description: `A page of ${rows}, and how many there are in all.` };
          }
          if (scope.isConnectionEdgeType === true) {
            return { ...config, description: `A ${rows} of a page, and its cursor.` };
          }
          return config;
        },

        GraphQLObjectType_fields_field(field, build, { scope }) {
          const description = fieldText(build, scope);
          return description === undefined ? field : { ...field, description };
        },

        GraphQLObjectType_fields_field_args_arg(arg, build, { scope }) {
          const { argName } = scope;
          const resource = scope.pgFieldResource as PgResource | undefined;
          if (scope.isPgRowByUniqueConstraintField === true && resource !== undefined) {
            const column = columnNamed(build, resource.codec, argName);
            return { ...arg, description: column?.description ?? arg.description };
          }
          if (argName === build.inflection.nodeIdFieldName() && scope.isRootQuery === true) {
            const owner = scope.nodeAccessorTypeName ?? build.inflection.builtin("Node");
            return { ...arg, description: `The \`nodeId\` of a \`${owner}\`.` };
          }
          const ofFunction = argumentText(resource, argName);
          if (ofFunction !== undefined) return { ...arg, description: ofFunction };
          if (scope.isPgFieldConnection !== true) return arg;
          if (argName === "orderBy") {
            return { ...arg, description: orderByText(build, resource) };
          }
          const description = connectionArguments[argName];
          return description === undefined ? arg : { ...arg, description };
        },
      },
    },
  };
}
