// Reads all rows of a page in one step instead of one step for each value.
import {
  getNamedType,
  isLeafType,
  isNonNullType,
  isObjectType,
  type DocumentNode,
  type GraphQLObjectType,
  type GraphQLSchema,
} from "graphql";
import type { PgCodec, PgCodecAttribute, PgCodecWithAttributes } from "postgraphile/@dataplan/pg";
import {
  Step,
  type ExecutionDetails,
  type FieldPlanResolver,
  type GrafastExecutionArgs,
} from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { asConnection, literalOf, selectOf, selectValue } from "../grafast-internals.ts";
import { selectedFields, selectRows, withRows } from "./row-selections.ts";

/** The column behind a field. */
interface FieldColumn {
  name: string;
  codec: PgCodec;
  notNull: boolean;
}

declare module "graphql" {
  // Declaration merging requires the type parameters of the original interface.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs = any> {
    /** Set if the field returns a column unchanged. */
    column?: FieldColumn;
  }
}

/** A selected column, and the conversion of PostgreSQL's text to the value in the response. */
interface Column {
  /** The response key. */
  key: string;
  name: string;
  asText: (column: SQL) => SQL;
  fromText: (text: string) => unknown;
  /** The error for a null; undefined if the field is nullable. */
  nullError: string | undefined;
}

type Row = readonly (string | null)[];

class WholeRowsStep extends Step<unknown> {
  static override $$export = { moduleName: "whole-rows", exportName: "WholeRowsStep" };
  override isSyncAndSafe = true;
  readonly #columns: Column[];
  readonly #rowsDep: number;
  readonly #selectDep: number;
  /** The position of each column in a row. */
  #positions: number[] = [];

  constructor($rows: Step, $select: Step, columns: Column[]) {
    super();
    this.#columns = columns;
    this.#rowsDep = this.addDependency($rows);
    this.#selectDep = this.addDependency($select);
  }

  /** grafast may merge steps before `optimize`: only here is the step that selects the rows final. */
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
    for (const [n, { key, fromText, nullError }] of this.#columns.entries()) {
      const text = row[this.#positions[n] ?? -1] ?? null;
      if (text === null && nullError !== undefined) throw new Error(nullError);
      object[key] = text === null ? null : fromText(text);
    }
    return object;
  }
}

function columnsOf(of: string, rowType: GraphQLObjectType): Column[] {
  const fields = rowType.getFields();
  return selectedFields(of).map(({ key, field: fieldName }) => {
    const field = fields[fieldName];
    const type = field && getNamedType(field.type);
    const column = field?.extensions.column;
    if (!isLeafType(type) || column === undefined) {
      throw new Error(`${rowType.name}.${fieldName} is not a column`);
    }
    const { name, codec, notNull } = column;
    return {
      key,
      name,
      asText: (sqlColumn) =>
        codec.castFromPg?.(sqlColumn, notNull) ?? sql`${sql.parens(sqlColumn)}::text`,
      fromText: (text) => type.serialize(codec.fromPg(text)),
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
    if (!isObjectType(rowType)) throw new Error(`${connectionType.name} has no field "nodes"`);
    const columns = columnsOf(String(literalOf(fieldArgs.getRaw("of"))), rowType);
    const $rows = $connection.nodes() as Step;
    const $select = selectOf($connection);
    return new WholeRowsStep($rows, $select, columns);
  };
}

// Weak keys: an entry lives as long as grafserv caches the parsed document or uses the schema.
const schemas = new WeakMap<GraphQLSchema, GraphQLSchema>();
const documents = new WeakMap<DocumentNode, DocumentNode>();

function withWholeRows({
  schema,
  document,
}: GrafastExecutionArgs): Pick<GrafastExecutionArgs, "schema" | "document"> {
  let changed = documents.get(document);
  if (changed === undefined) {
    changed = selectRows(document, schema, ({ extensions }) => extensions.column !== undefined);
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
  description: "Reads all rows of a page in one step if only columns are selected.",

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
        // A computed or joined value is not selected as a column of the row.
        if (entry === undefined || attribute.via !== undefined || attribute.expression) {
          return field;
        }
        const [name] = entry;
        const { codec, notNull = false } = attribute;
        return {
          ...field,
          extensions: { ...field.extensions, column: { name, codec, notNull } },
        };
      },
    },
  },

  grafast: {
    middleware: {
      async execute(next, { args }) {
        const { schema, document } = args;
        Object.assign(args, withWholeRows(args));
        try {
          return await next();
        } finally {
          // Later middleware sees the client's own document.
          Object.assign(args, { schema, document });
        }
      },
    },
  },
};
