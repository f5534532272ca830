// A model of the schema after some migrations: the properties of tables, views and functions that the rules
// need. It is built from the statements, so the linter needs no database.
import type {
  Constraint,
  FunctionParameter,
  GrantStmt,
  Node,
  RangeVar,
  TypeName,
} from "libpg-query";

export interface Relation {
  /** Comments by column name. */
  columns: Map<string, string>;
  comment: string;
  /** Whether dex_reader has select. */
  granted: boolean;
  constraints: Map<string, StandingConstraint>;
}

export interface StandingConstraint {
  isCheck: boolean;
  validated: boolean;
  /** The column that a check requires to be not null. */
  notNull: string | undefined;
}

export interface StandingFunction {
  comment: string;
  granted: boolean;
  /** Whether it is `security definer`. */
  isDefiner: boolean;
  setsSearchPath: boolean;
}

/** Tables, views and functions by qualified name, such as `public.dex_trade`. */
export class Standing {
  readonly relations = new Map<string, Relation>();
  readonly functions = new Map<string, StandingFunction>();
  /** The comments of constraints, by `name on public.dex_trade`. */
  readonly constraintComments = new Map<string, string>();

  /** Applies a statement; ignores statements that do not affect the model. */
  apply(node: Node): void {
    if ("CreateStmt" in node) {
      const relation = this.#make(node.CreateStmt.relation);
      for (const element of node.CreateStmt.tableElts ?? []) addElement(relation, element);
    } else if ("ViewStmt" in node) {
      this.#show(node.ViewStmt.view, node.ViewStmt.query, node.ViewStmt.aliases);
    } else if ("CreateTableAsStmt" in node) {
      const { into, query } = node.CreateTableAsStmt;
      this.#show(into?.rel, query, into?.colNames);
    } else if ("AlterTableStmt" in node) {
      this.#alter(node.AlterTableStmt.relation, node.AlterTableStmt.cmds ?? []);
    } else if ("RenameStmt" in node) {
      const { relation, renameType, subname = "", newname = "" } = node.RenameStmt;
      this.#rename(relation, renameType === "OBJECT_COLUMN" ? subname : undefined, newname);
    } else if ("DropStmt" in node) {
      for (const object of node.DropStmt.objects ?? []) {
        this.relations.delete(nameOf(object));
        this.functions.delete(functionName(object));
      }
    } else if ("CreateFunctionStmt" in node) {
      const { funcname, parameters, options } = node.CreateFunctionStmt;
      const name = signature(funcname, parameters);
      const { comment = "", granted = false } = this.functions.get(name) ?? {};
      const made = { comment, granted, isDefiner: false, setsSearchPath: false };
      this.functions.set(name, withOptions(made, options));
    } else if ("AlterFunctionStmt" in node) {
      const { func, actions } = node.AlterFunctionStmt;
      const name = func === undefined ? "" : functionName({ ObjectWithArgs: func });
      const known = this.functions.get(name);
      if (known) this.functions.set(name, withOptions(known, actions));
    } else if ("CommentStmt" in node) {
      this.#comment(node.CommentStmt.objtype, node.CommentStmt.object, node.CommentStmt.comment);
    } else if ("GrantStmt" in node) {
      this.#grant(node.GrantStmt);
    }
  }

  /** A deep copy. */
  copy(): Standing {
    const copy = new Standing();
    for (const [name, relation] of this.relations) {
      copy.relations.set(name, structuredClone(relation));
    }
    for (const [name, known] of this.functions) copy.functions.set(name, { ...known });
    for (const [name, comment] of this.constraintComments) {
      copy.constraintComments.set(name, comment);
    }
    return copy;
  }

  #make(range: RangeVar | undefined): Relation {
    const name = rangeName(range);
    const standing = this.relations.get(name);
    if (standing !== undefined) return standing;
    const made: Relation = {
      columns: new Map(),
      comment: "",
      granted: false,
      constraints: new Map(),
    };
    this.relations.set(name, made);
    return made;
  }

  #show(range: RangeVar | undefined, query: Node | undefined, aliases: Node[] = []): void {
    const relation = this.#make(range);
    const names = aliases.length > 0 ? aliases.map(stringOf) : columnsOf(query);
    for (const name of names) {
      if (!relation.columns.has(name)) relation.columns.set(name, "");
    }
  }

  #alter(range: RangeVar | undefined, commands: Node[]): void {
    const relation = this.relations.get(rangeName(range));
    if (relation === undefined) return;
    for (const command of commands) {
      if (!("AlterTableCmd" in command)) continue;
      const { subtype, name = "", def } = command.AlterTableCmd;
      if (subtype === "AT_DropColumn") relation.columns.delete(name);
      if (subtype === "AT_DropConstraint") relation.constraints.delete(name);
      if (def !== undefined && (subtype === "AT_AddColumn" || subtype === "AT_AddConstraint")) {
        addElement(relation, def);
      }
      const constraint = relation.constraints.get(name);
      if (subtype === "AT_ValidateConstraint" && constraint) constraint.validated = true;
    }
  }

  #rename(range: RangeVar | undefined, column: string | undefined, to: string): void {
    const name = rangeName(range);
    const relation = this.relations.get(name);
    if (relation === undefined) return;
    if (column === undefined) {
      this.relations.delete(name);
      this.relations.set(`${schemaOf(name)}.${to}`, relation);
      return;
    }
    relation.columns.set(to, relation.columns.get(column) ?? "");
    relation.columns.delete(column);
  }

  #comment(type: string | undefined, object: Node | undefined, comment = ""): void {
    if (object === undefined) return;
    if (type === "OBJECT_FUNCTION") {
      const standing = this.functions.get(functionName(object));
      if (standing) standing.comment = comment;
    } else if (type === "OBJECT_COLUMN") {
      const [table, column] = columnName(object);
      const relation = this.relations.get(table);
      if (relation?.columns.has(column)) relation.columns.set(column, comment);
    } else if (type === "OBJECT_TABCONSTRAINT") {
      const [table, constraint] = columnName(object);
      this.constraintComments.set(`${constraint} on ${table}`, comment);
    } else {
      const relation = this.relations.get(nameOf(object));
      if (relation) relation.comment = comment;
    }
  }

  #grant(grant: GrantStmt): void {
    if (!readsFor(grant, "dex_reader")) return;
    const granted = grant.is_grant === true;
    if (grant.targtype === "ACL_TARGET_ALL_IN_SCHEMA") {
      const schemas = (grant.objects ?? []).map(stringOf);
      for (const [name, object] of [...this.relations, ...this.functions]) {
        if (schemas.includes(schemaOf(name))) object.granted = granted;
      }
      return;
    }
    for (const object of grant.objects ?? []) {
      const standing =
        "RangeVar" in object
          ? this.relations.get(rangeName(object.RangeVar))
          : this.functions.get(functionName(object));
      if (standing) standing.granted = granted;
    }
  }
}

/** A function after these options of `create function` or `alter function`. */
function withOptions(known: StandingFunction, options: Node[] = []): StandingFunction {
  const changed = { ...known };
  for (const option of options) {
    if (!("DefElem" in option)) continue;
    const { defname, arg } = option.DefElem;
    if (defname === "security" && arg !== undefined && "Boolean" in arg) {
      changed.isDefiner = arg.Boolean.boolval === true;
    }
    if (defname !== "set" || arg === undefined || !("VariableSetStmt" in arg)) continue;
    const { kind, name } = arg.VariableSetStmt;
    if (kind === "VAR_RESET_ALL" || (kind === "VAR_RESET" && name === "search_path")) {
      changed.setsSearchPath = false;
    } else if (name === "search_path") changed.setsSearchPath = kind === "VAR_SET_VALUE";
  }
  return changed;
}

function addElement(relation: Relation, element: Node): void {
  if ("ColumnDef" in element) {
    const { colname = "", constraints = [] } = element.ColumnDef;
    if (!relation.columns.has(colname)) relation.columns.set(colname, "");
    for (const constraint of constraints) addElement(relation, constraint);
  } else if ("Constraint" in element && element.Constraint.conname !== undefined) {
    const { conname, contype, skip_validation } = element.Constraint;
    relation.constraints.set(conname, {
      isCheck: contype === "CONSTR_CHECK",
      validated: skip_validation !== true,
      notNull: notNullColumn(element.Constraint),
    });
  }
}

function notNullColumn({ raw_expr }: Constraint): string | undefined {
  if (raw_expr === undefined || !("NullTest" in raw_expr)) return undefined;
  const { arg, nulltesttype } = raw_expr.NullTest;
  if (nulltesttype !== "IS_NOT_NULL" || arg === undefined || !("ColumnRef" in arg))
    return undefined;
  return stringOf(arg.ColumnRef.fields?.at(-1));
}

/** Whether the grant is to this role directly; `public` means PUBLIC. */
export function isGrantedTo({ grantees = [] }: GrantStmt, role: string): boolean {
  return grantees.some(
    (grantee) =>
      "RoleSpec" in grantee &&
      (role === "public"
        ? grantee.RoleSpec.roletype === "ROLESPEC_PUBLIC"
        : grantee.RoleSpec.rolename === role),
  );
}

/** Whether the grant is a right to read, to this role or to PUBLIC. */
export function readsFor(grant: GrantStmt, role: string): boolean {
  const { privileges = [] } = grant;
  const isRead = (privilege: Node): boolean =>
    "AccessPriv" in privilege &&
    ["select", "execute"].includes(privilege.AccessPriv.priv_name ?? "") &&
    privilege.AccessPriv.cols === undefined;
  const isFor = isGrantedTo(grant, role) || isGrantedTo(grant, "public");
  return isFor && (privileges.length === 0 || privileges.some(isRead));
}

export function stringOf(node: Node | undefined): string {
  return node !== undefined && "String" in node ? (node.String.sval ?? "") : "";
}

export function schemaOf(name: string): string {
  return name.slice(0, name.indexOf("."));
}

export function rangeName(range: RangeVar | undefined): string {
  return `${range?.schemaname ?? "public"}.${range?.relname ?? ""}`;
}

function qualified(parts: string[]): string {
  return `${parts.at(-2) ?? "public"}.${parts.at(-1) ?? ""}`;
}

const listOf = (node: Node): string[] =>
  "List" in node ? (node.List.items ?? []).map(stringOf) : [];

/** The qualified name of a table or view in `drop` and `comment on`. */
export function nameOf(object: Node): string {
  return qualified(listOf(object));
}

/** The names of the table and of the column or constraint in `comment on`. */
export function columnName(object: Node): [table: string, column: string] {
  const parts = listOf(object);
  return [qualified(parts.slice(0, -1)), parts.at(-1) ?? ""];
}

/** A function's name with argument types in `drop`, `grant` and `comment on`. */
export function functionName(object: Node): string {
  if (!("ObjectWithArgs" in object)) return "";
  const { objname = [], objargs = [] } = object.ObjectWithArgs;
  return `${qualified(objname.map(stringOf))}(${objargs.map(typeOf).join(", ")})`;
}

/** A function's name with argument types in `create function`. */
export function signature(name: Node[] = [], parameters: Node[] = []): string {
  const types = parameters
    .filter(
      (parameter): parameter is { FunctionParameter: FunctionParameter } =>
        "FunctionParameter" in parameter &&
        !["FUNC_PARAM_OUT", "FUNC_PARAM_TABLE"].includes(parameter.FunctionParameter.mode ?? ""),
    )
    .map(({ FunctionParameter: { argType } }) => typeName(argType));
  return `${qualified(name.map(stringOf))}(${types.join(", ")})`;
}

const typeOf = (node: Node): string => ("TypeName" in node ? typeName(node.TypeName) : "");

function typeName(type: TypeName | undefined): string {
  const name = stringOf(type?.names?.at(-1));
  return (type?.arrayBounds ?? []).length > 0 ? `${name}[]` : name;
}

/** The names of a query's columns; `*` if the query uses it. */
export function columnsOf(query: Node | undefined): string[] {
  if (query === undefined || !("SelectStmt" in query)) return [];
  const { larg, targetList = [] } = query.SelectStmt;
  if (larg !== undefined) return columnsOf({ SelectStmt: larg });
  return targetList.map((target) => ("ResTarget" in target ? targetName(target.ResTarget) : ""));
}

function targetName({ name, val }: { name?: string; val?: Node }): string {
  if (name !== undefined) return name;
  if (val === undefined) return "";
  if ("TypeCast" in val) return targetName({ ...(val.TypeCast.arg && { val: val.TypeCast.arg }) });
  if ("FuncCall" in val) return stringOf(val.FuncCall.funcname?.at(-1));
  if (!("ColumnRef" in val)) return "?column?";
  const last = val.ColumnRef.fields?.at(-1);
  return last !== undefined && "A_Star" in last ? "*" : stringOf(last);
}
