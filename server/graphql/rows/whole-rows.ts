// Reads the rows of a page by one step, in place of one for each value of each row.
import {
  getNamedType,
  GraphQLScalarType,
  GraphQLString,
  isLeafType,
  isNonNullType,
  isObjectType,
  type DocumentNode,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLSchema,
} from "graphql";
import {
  TYPES,
  type PgCodec,
  type PgCodecAttribute,
  type PgCodecWithAttributes,
} from "postgraphile/@dataplan/pg";
import {
  Step,
  type ExecutionDetails,
  type FieldPlanResolver,
  type GrafastExecutionArgs,
} from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { asConnection, literalOf, selectOf, selectValue } from "../grafast-internals.ts";
import { askedFields, selectRows, withRows } from "./row-selections.ts";

/** The column behind a field. */
interface FieldColumn {
  name: string;
  codec: PgCodec;
  notNull: boolean;
}

declare module "graphql" {
  // The parameters must be those of the interface that is added to.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs = any> {
    /** The column that this field is, and nothing more. */
    ofColumn?: FieldColumn;
  }
}

/** A column of a row, and how its text from PostgreSQL becomes the value in the answer. */
interface Column {
  /** The value's name in the answer. */
  key: string;
  name: string;
  /** What is selected of the column. */
  asText: (column: SQL) => SQL;
  read: (text: string) => unknown;
  /** Where null is no answer, what to say. */
  nullError: string | undefined;
}

type Row = readonly (string | null)[];

/** The rows of a page as GraphQL objects. */
class WholeRowsStep extends Step<unknown> {
  static override $$export = { moduleName: "whole-rows", exportName: "WholeRowsStep" };
  override isSyncAndSafe = true;
  readonly #columns: Column[];
  readonly #rowsDep: number;
  readonly #selectDep: number;
  /** Where in a row each column is. */
  #positions: number[] = [];

  constructor($rows: Step, $select: Step, columns: Column[]) {
    super();
    this.#columns = columns;
    this.#rowsDep = this.addDependency($rows);
    this.#selectDep = this.addDependency($select);
  }

  /** Only now is it known which step selects the rows: some are merged. */
  override optimize(): this {
    const { step } = this.getDepOptions(this.#selectDep);
    this.#positions = this.#columns.map(({ name, asText }) =>
      selectValue(step, (alias) => asText(sql`${alias}.${sql.identifier(name)}`)),
    );
    return this;
  }

  override execute({ indexMap, values }: ExecutionDetails): readonly (object[] | null)[] {
    const pages = values[this.#rowsDep];
    return indexMap((n) => {
      const rows = pages?.at(n) as Row[] | null | undefined;
      return rows?.map((row) => this.#objectOf(row)) ?? null;
    });
  }

  #objectOf(row: Row): object {
    const object: Record<string, unknown> = {};
    for (const [n, { key, read, nullError }] of this.#columns.entries()) {
      const text = row[this.#positions[n] ?? -1] ?? null;
      if (text === null && nullError !== undefined) throw new Error(nullError);
      object[key] = text === null ? null : read(text);
    }
    return object;
  }
}

const same = (text: string): string => text;

/** A scalar that is declared without `serialize`, as PostGraphile declares those of exact text. */
const PLAIN_SCALAR = new GraphQLScalarType({ name: "PlainScalar" });

/** Whether this type hands on a text as it is. */
const handsOn = (type: GraphQLLeafType): boolean =>
  [GraphQLString, PLAIN_SCALAR].some((scalar) => scalar.serialize === type.serialize);

/** How a column's text becomes the value of this type. */
function readerFor({ fromPg }: PgCodec, type: GraphQLLeafType): Column["read"] {
  const isText = fromPg === TYPES.text.fromPg;
  // Most columns: a call less for each value.
  if (isText && handsOn(type)) return same;
  return (text) => type.serialize(fromPg(text));
}

function columnsOf(of: string, rowType: GraphQLObjectType): Column[] {
  const fields = rowType.getFields();
  return askedFields(of).map(({ key, field: fieldName }) => {
    const field = fields[fieldName];
    const type = field && getNamedType(field.type);
    const column = field?.extensions.ofColumn;
    if (!isLeafType(type) || column === undefined) throw new Error(`${fieldName} is no column`);
    const { name, codec, notNull } = column;
    return {
      key,
      name,
      asText: (sqlColumn) =>
        codec.castFromPg?.(sqlColumn, notNull) ?? sql`${sql.parens(sqlColumn)}::text`,
      read: readerFor(codec, type),
      nullError: isNonNullType(field?.type)
        ? `Cannot return null for non-nullable field ${rowType.name}.${fieldName}.`
        : undefined,
    };
  });
}

function planRows(connectionType: GraphQLObjectType): FieldPlanResolver {
  return ($parent, fieldArgs) => {
    const $connection = asConnection($parent);
    const nodes = connectionType.getFields()["nodes"];
    const rowType = nodes && getNamedType(nodes.type);
    if (!isObjectType(rowType)) throw new Error(`${connectionType.name} has no nodes`);
    const columns = columnsOf(String(literalOf(fieldArgs.getRaw("of"))), rowType);
    const $rows = $connection.nodes() as Step;
    const $select = selectOf($connection);
    return new WholeRowsStep($rows, $select, columns);
  };
}

/** What is run in place of a query: for each schema and document, as they are kept by grafserv. */
const schemas = new WeakMap<GraphQLSchema, GraphQLSchema>();
const documents = new WeakMap<DocumentNode, DocumentNode>();

function inPlaceOf({
  schema,
  document,
}: GrafastExecutionArgs): Pick<GrafastExecutionArgs, "schema" | "document"> {
  let changed = documents.get(document);
  if (changed === undefined) {
    changed = selectRows(document, schema, ({ extensions }) => extensions.ofColumn !== undefined);
    documents.set(document, changed);
  }
  if (changed === document) return { schema, document };
  let extended = schemas.get(schema);
  if (extended === undefined) {
    extended = withRows(schema, planRows);
    schemas.set(schema, extended);
  }
  return { schema: extended, document: changed };
}

export const WholeRowsPlugin: GraphileConfig.Plugin = {
  name: "WholeRowsPlugin",
  version: "1.0.0",
  description: "Reads the rows of a page by one step, where columns only are asked for.",

  schema: {
    hooks: {
      GraphQLObjectType(config, _build, { scope }) {
        const { isConnectionType, pgCodec } = scope as {
          isConnectionType?: true;
          pgCodec?: PgCodec;
        };
        return isConnectionType === true && pgCodec?.attributes !== undefined
          ? { ...config, extensions: { ...config.extensions, hasRows: true } }
          : config;
      },
      GraphQLObjectType_fields_field(field, _build, { scope }) {
        const { isPgClassType, pgCodec, pgFieldAttribute } = scope;
        const attribute = pgFieldAttribute as PgCodecAttribute | undefined;
        const { attributes } = (pgCodec ?? {}) as Partial<PgCodecWithAttributes>;
        if (isPgClassType !== true || attribute === undefined) return field;
        const entry = Object.entries(attributes ?? {}).find(([, one]) => one === attribute);
        // What is computed or fetched from elsewhere is more than a column.
        if (entry === undefined || attribute.via !== undefined || attribute.expression)
          return field;
        const [name] = entry;
        const { codec, notNull = false } = attribute;
        return {
          ...field,
          extensions: { ...field.extensions, ofColumn: { name, codec, notNull } },
        };
      },
    },
  },

  grafast: {
    middleware: {
      async execute(next, { args }) {
        const { schema, document } = args;
        Object.assign(args, inPlaceOf(args));
        try {
          return await next();
        } finally {
          // Whoever looks at the arguments afterwards finds what the client asked.
          Object.assign(args, { schema, document });
        }
      },
    },
  },
};
