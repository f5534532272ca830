// Reads which functions a migration may call, and what the bodies of functions contain.
import {
  parsePlPgSQLSync,
  parseSync,
  scanSync,
  type CreateFunctionStmt,
  type Node,
  type RangeVar,
} from "libpg-query";
import { PLACEHOLDER } from "./statements.ts";

/** PostgreSQL's functions that a migration may run: without an effect beyond their result. */
const OF_POSTGRESQL = new Set(
  `abs age array_agg array_append array_cat array_fill array_length array_ndims array_position array_prepend
  array_remove array_replace array_to_string array_upper avg bit_length bool_and bool_or btrim cardinality ceil
  ceiling char_length character_length chr clock_timestamp coalesce concat concat_ws convert_from convert_to
  count cume_dist current_setting date date_bin date_part date_trunc decode dense_rank div encode every exp
  extract first_value floor format gen_random_uuid generate_series generate_subscripts greatest hashtextextended
  initcap int4multirange int4range int8multirange int8range isempty isfinite json_agg json_build_array
  json_build_object jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length
  jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_object_agg jsonb_object_keys
  jsonb_populate_record jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof lag last_value lead least left length
  like_escape ln log lower lpad ltrim make_date make_interval make_timestamptz max md5 min mod normalize now
  nth_value ntile nullif num_nonnulls num_nulls numeric octet_length overlaps overlay percent_rank
  pg_backend_pid pg_current_xact_id position power quote_ident quote_literal quote_nullable random range_agg
  rank regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table repeat replace
  reverse right round row_number row_to_json rpad rtrim scale sha256 sign similar_to_escape split_part sqrt
  starts_with stddev string_agg string_to_array string_to_table strpos substr substring sum text timezone to_char to_date to_hex
  to_json to_jsonb to_number to_timestamp translate trim_array trim_scale trunc unnest upper variance
  width_bucket`.split(/\s+/),
);

/** Those that only a function may call that no migration runs. */
const IN_BODIES = new Set(["currval", "nextval", "setval"]);

/** Statements of a function's body. VacuumStmt is `analyze` there. */
const OF_BODIES = /^(Select|Insert|Update|Delete|Merge|Return|Vacuum)Stmt$/;

/** A statement in a tree of libpg-query. */
export const IS_STATEMENT = /^[A-Z]\w+Stmt$/;

/** PL/pgSQL whose effect can be read: without `execute`, transactions and cursors. */
const OF_PLPGSQL =
  /^(assert|assign|block|case|execsql|exit|foreach_a|fori|fors|getdiag|if|loop|perform|raise|return|return_next|return_query|while)$/;

/** Every property of the tree, from the top. */
export function entriesOf(tree: unknown): [key: string, value: never][] {
  if (typeof tree !== "object" || tree === null) return [];
  return Object.entries(tree).flatMap(([key, value]) => [
    ...(Array.isArray(tree) ? [] : [[key, value] as [string, never]]),
    ...entriesOf(value),
  ]);
}

export function stringOf(node: Node | undefined): string {
  return node !== undefined && "String" in node ? (node.String.sval ?? "") : "";
}

/** The name of a table or view; the search path of migrations is `public`. */
export function rangeName(range: RangeVar | undefined): string {
  return `${range?.schemaname ?? "public"}.${range?.relname ?? ""}`;
}

const lastOf = (names: Node[] = []): string => stringOf(names.at(-1));

/** The names, without schema, of the functions that a tree calls, also as `row.function`. */
export function callsIn(tree: unknown): { calls: string[]; fields: string[] } {
  const entries: [string, { funcname?: Node[]; fields?: Node[]; indirection?: Node[] }][] =
    entriesOf(tree);
  return {
    calls: entries.flatMap(([key, value]) => (key === "FuncCall" ? lastOf(value.funcname) : [])),
    fields: entries.flatMap(([key, value]) => {
      if (key === "ColumnRef") return lastOf(value.fields);
      return key === "A_Indirection" ? (value.indirection ?? []).map(stringOf) : [];
    }),
  };
}

/** The names of this project's functions, those that may write apart. */
export class KnownFunctions {
  readonly reading = new Set<string>();
  readonly writing = new Set<string>();
  readonly #ofServer: ReadonlySet<string>;

  /** `ofServer` are the names of PostgreSQL's functions, which a call without a schema means. */
  constructor(ofServer: ReadonlySet<string> = new Set()) {
    this.#ofServer = ofServer;
  }

  /** A function that is volatile, or that a later statement could make so, may write. */
  add(made: CreateFunctionStmt): void {
    this.#know(lastOf(made.funcname), isVolatile(made));
  }

  #know(name: string, writes: boolean): void {
    if (writes) this.writing.add(name);
    else if (!this.#ofServer.has(name)) this.reading.add(name);
  }

  /** What a statement makes known: a new function, or a new name. */
  learn(node: Node): void {
    if ("CreateFunctionStmt" in node) this.add(node.CreateFunctionStmt);
    if (!("RenameStmt" in node)) return;
    const { object, newname = "" } = node.RenameStmt;
    if (object === undefined || !("ObjectWithArgs" in object)) return;
    const name = lastOf(object.ObjectWithArgs.objname);
    if (this.reading.has(name)) this.#know(newname, false);
    if (this.writing.has(name)) this.#know(newname, true);
  }

  copy(): KnownFunctions {
    const copy = new KnownFunctions(this.#ofServer);
    for (const name of this.reading) copy.reading.add(name);
    for (const name of this.writing) copy.writing.add(name);
    return copy;
  }

  /** The functions that a statement would run, or a view, and that it may not. */
  refused(tree: unknown): string[] {
    const { calls, fields } = callsIn(tree);
    const isAllowed = (name: string): boolean =>
      !this.writing.has(name) && (this.reading.has(name) || OF_POSTGRESQL.has(name));
    return unique([
      ...calls.filter((name) => !isAllowed(name)),
      ...fields.filter((name) => this.writing.has(name)),
    ]);
  }

  /** What is not allowed in this function's body. Throws if it cannot be read. */
  refusedInBody(made: CreateFunctionStmt, text: string): { unseen: string[]; calls: string[] } {
    const body = readBody(made, text);
    const trees = [body.statements, made.parameters];
    // Its own volatility says so: the name may be that of other functions too.
    const isReading = !isVolatile(made);
    const unseen = entriesOf(body.statements).flatMap(([key]) => {
      const isAllowed = isReading ? /^(Select|Return)Stmt$/ : OF_BODIES;
      return IS_STATEMENT.test(key) && !isAllowed.test(key) ? statementName(key) : [];
    });
    unseen.push(...body.unseen);
    if (isReading) return { unseen: unique(unseen), calls: this.refused(trees) };
    const calls = callsIn(trees).calls.filter(
      (name) =>
        !OF_POSTGRESQL.has(name) &&
        !IN_BODIES.has(name) &&
        !this.reading.has(name) &&
        !this.writing.has(name),
    );
    return { unseen: unique(unseen), calls: unique(calls) };
  }
}

/** `AlterTableStmt` as `alter table`. */
export function statementName(kind: string): string {
  return kind
    .replace(/Stmt$/, "")
    .replace(/\B([A-Z])/g, " $1")
    .toLowerCase();
}

export function option(options: Node[], name: string): Node | undefined {
  const found = options.find((one) => "DefElem" in one && one.DefElem.defname === name);
  return found !== undefined && "DefElem" in found ? found.DefElem.arg : undefined;
}

function isVolatile({ options = [] }: CreateFunctionStmt): boolean {
  return !["immutable", "stable"].includes(stringOf(option(options, "volatility")));
}

const unique = (names: string[]): string[] => [...new Set(names)];

function readBody(
  { sql_body, options = [] }: CreateFunctionStmt,
  text: string,
): { statements: unknown[]; unseen: string[] } {
  if (sql_body !== undefined) return { statements: [sql_body], unseen: [] };
  const language = stringOf(option(options, "language"));
  const as = option(options, "as");
  const source = as !== undefined && "List" in as ? (as.List.items ?? []).map(stringOf) : [];
  if (language === "sql" && source.length === 1) {
    return { statements: [parseSync(source[0] ?? "").stmts ?? []], unseen: [] };
  }
  if (language !== "plpgsql") return { statements: [], unseen: [`language ${language}`] };
  const entries = entriesOf(parsePlPgSQLSync(text.replace(PLACEHOLDER, " $1")));
  return {
    statements: entries.flatMap(([key, value]) =>
      key === "PLpgSQL_expr" ? readExpression(value) : [],
    ),
    unseen: entries.flatMap(([key]) => {
      const kind = /^PLpgSQL_stmt_(\w+)$/.exec(key)?.[1] ?? "if";
      if (key === "dynquery") return "execute";
      return OF_PLPGSQL.test(kind) ? [] : kind.replace(/^dyn/, "");
    }),
  };
}

/** PL/pgSQL's own kinds of expressions: a statement, an expression, or an assignment. */
function readExpression({ query, parseMode }: { query: string; parseMode: number }): unknown[] {
  if (parseMode === 0) return [parseSync(query)];
  if (parseMode === 2) return [parseSync(`select ${query}`)];
  let depth = 0;
  const assigns = scanSync(query).tokens.find(({ text }) => {
    depth += Number(text === "[") - Number(text === "]");
    return depth === 0 && (text === ":=" || text === "=");
  });
  if (assigns === undefined) throw new Error("an assignment without :=");
  const bytes = Buffer.from(query);
  return [bytes.subarray(0, assigns.start), bytes.subarray(assigns.end)].map((part) =>
    parseSync(`select ${part.toString()}`),
  );
}
