// What a migration may contain: kinds of statements, and functions that they call. Only this is tried on the
// shadow database.
import type {
  AlterTableStmt,
  CreateFunctionStmt,
  CreateStmt,
  GrantStmt,
  Node,
  RangeVar,
  VariableSetStmt,
} from "libpg-query";
import { entriesOf, IS_STATEMENT, statementName, type KnownFunctions } from "./functions.ts";
import type { Rule, Violation } from "./rules.ts";

const words = (text: string): string[] => text.split(/\s+/);

const STATEMENTS = words(
  `AlterDefaultPrivileges AlterDomain AlterEnum AlterFunction AlterObjectSchema AlterStats AlterTable Comment
  CompositeType Create CreateDomain CreateEnum CreateFunction CreateSchema CreateSeq CreateStats CreateTableAs
  CreateTrig Delete Drop Grant Index Insert Merge RefreshMatView Reindex Rename Select Truncate Update
  VariableSet View`,
).map((name) => `${name}Stmt`);

/** Kinds with a rule that says what to do in their place. */
const REFUSED = new Map<string, Violation>(
  (
    [
      [
        "AlterOwner ReassignOwned AT_ChangeOwner",
        "owner",
        "it changes an owner: dex_owner owns all objects",
      ],
      [
        "CreatePolicy AlterPolicy AT_EnableRowSecurity AT_ForceRowSecurity",
        "row-security",
        "it hides all rows, or those without a policy",
      ],
      [
        "Cluster Vacuum AT_SetTableSpace AT_SetLogged AT_SetUnLogged AT_SetAccessMethod",
        "rewrites-table",
        "it rewrites a whole table",
      ],
      ["Do", "unseen", "the linter cannot analyse a `do` block"],
      ["Lock", "lock-table", "it locks a table until the migration commits"],
      [
        "Transaction",
        "transaction",
        "it begins or ends a transaction, but the migration is one transaction",
      ],
      [
        "CreateRole AlterRole AlterRoleSet DropRole GrantRole",
        "role",
        "roles belong to the whole server, not to this database",
      ],
      ["AT_DisableTrig AT_DisableTrigAll AT_DisableTrigUser", "trigger", "it disables triggers"],
    ] as const
  ).flatMap(([kinds, rule, what]) =>
    words(kinds).map(
      (kind) => [kind.startsWith("AT_") ? kind : `${kind}Stmt`, { rule, what }] as const,
    ),
  ),
);

const ALTERATIONS = words(
  `AddColumn AddColumnToView AddConstraint AddIdentity AlterColumnType AlterConstraint AttachPartition
  ColumnDefault DetachPartition DetachPartitionFinalize DropColumn DropConstraint DropExpression DropIdentity
  DropNotNull EnableTrig EnableTrigAll EnableTrigUser ResetOptions ResetRelOptions SetCompression SetExpression
  SetNotNull SetOptions SetRelOptions SetStatistics SetStorage ValidateConstraint`,
).map((name) => `AT_${name}`);

const OBJECTS = words(
  `ATTRIBUTE COLUMN DOMAIN DOMCONSTRAINT FUNCTION INDEX MATVIEW ROUTINE SCHEMA SEQUENCE STATISTIC_EXT
  TABCONSTRAINT TABLE TRIGGER TYPE VIEW`,
).map((name) => `OBJECT_${name}`);

const FUNCTION_OPTIONS = words("as cost language parallel rows security set strict volatility");

/** Settings of a function: where it finds names, and how it is planned. */
const FUNCTION_SETTING = new RegExp(
  "^(search_path|timezone|jit|work_mem|plan_cache_mode|default_statistics_target" +
    "|max_parallel_workers_per_gather|enable_\\w+)$",
  "i",
);

/** Whether all of a statement is of the list, and all functions that it runs are known. */
export function findNotAllowed(node: Node, text: string, functions: KnownFunctions): Violation[] {
  if ("CreateFunctionStmt" in node) return inFunction(node.CreateFunctionStmt, text, functions);
  if ("AlterFunctionStmt" in node) return inOptions(node.AlterFunctionStmt.actions, false);
  const found = entriesOf(node).flatMap(([key, value]): Violation[] => {
    if (IS_STATEMENT.test(key)) return inStatement(key, value);
    // Also in a part of a `union`, which has no name.
    return key === "lockingClause"
      ? [{ rule: "lock-table", what: "it locks rows until the migration commits" }]
      : [];
  });
  const called = functions.refused(node);
  return [...found, ...(called.length === 0 ? [] : [calling(called)])];
}

const calling = (names: string[]): Violation => ({
  rule: "function",
  what: `it calls ${names.join(" and ")}, which a migration may not run`,
});

const notAllowed = (what: string): Violation => ({
  rule: "statement",
  what: `${what} is not among what a migration may contain`,
});

function inStatement(kind: string, value: unknown): Violation[] {
  const isAnalyze = kind === "VacuumStmt" && !("is_vacuumcmd" in (value as object));
  if (isAnalyze) return [];
  const known = REFUSED.get(kind);
  if (known !== undefined) return [known];
  if (kind === "CopyStmt" && (value as { filename?: string }).filename !== undefined) {
    return [{ rule: "server-file", what: "it runs a program or accesses a file on the server" }];
  }
  if (!STATEMENTS.includes(kind)) return [notAllowed(`\`${statementName(kind)}\``)];
  switch (kind) {
    case "VariableSetStmt":
      return inSetting(value as VariableSetStmt);
    case "UpdateStmt":
    case "DeleteStmt":
    case "InsertStmt":
    case "MergeStmt": {
      // An update of pg_settings sets one, and is no `set`.
      const { schemaname, relname = "" } = (value as { relation?: RangeVar }).relation ?? {};
      const isCatalog = /^(pg_|information_schema$)/.test(schemaname ?? relname);
      return isCatalog ? [notAllowed(`a write to ${relname}`)] : [];
    }
    case "AlterTableStmt":
      return inAlterations(value as AlterTableStmt);
    case "CreateStmt": {
      const { inhRelations, partbound } = value as CreateStmt;
      return inhRelations === undefined || partbound !== undefined
        ? []
        : [notAllowed("`inherits`, by which its rows are those of another table too,")];
    }
    case "GrantStmt":
      return inGrant(value as GrantStmt);
    case "AlterDefaultPrivilegesStmt":
      return inGrant((value as { action?: GrantStmt }).action ?? {});
    case "RefreshMatViewStmt":
      return (value as { concurrent?: boolean }).concurrent === true
        ? []
        : [{ rule: "rewrites-table", what: "it blocks readers of the view during the refresh" }];
    case "DropStmt":
    case "RenameStmt":
    case "CommentStmt":
    case "AlterObjectSchemaStmt": {
      const { removeType, renameType, objtype, objectType } = value as Partial<
        Record<string, string>
      >;
      const type = removeType ?? renameType ?? objtype ?? objectType ?? "";
      return OBJECTS.includes(type)
        ? []
        : [notAllowed(`\`${statementName(kind)} ${type.replace("OBJECT_", "").toLowerCase()}\``)];
    }
    default:
      return [];
  }
}

function inSetting({ kind, name = "", is_local }: VariableSetStmt): Violation[] {
  if (name === "session_replication_role")
    return [{ rule: "trigger", what: "it disables triggers" }];
  const isOfWaiting = ["lock_timeout", "statement_timeout"].includes(name);
  const isReset = kind === "VAR_RESET" || kind === "VAR_RESET_ALL" || kind === "VAR_SET_DEFAULT";
  if (isOfWaiting && (isReset || (kind === "VAR_SET_VALUE" && is_local === true))) return [];
  return [{ rule: "setting", what: `it sets ${name === "" ? "all settings" : name}` }];
}

function inAlterations({ cmds = [] }: AlterTableStmt): Violation[] {
  return cmds.flatMap((command): Violation[] => {
    const type = ("AlterTableCmd" in command ? command.AlterTableCmd.subtype : undefined) ?? "";
    const known = REFUSED.get(type);
    if (known !== undefined) return [known];
    return ALTERATIONS.includes(type)
      ? []
      : [notAllowed(`\`alter table\` with ${statementName(type.replace("AT_", ""))}`)];
  });
}

const ROLES = ["dex_owner", "dex_writer", "dex_reader"];

function inGrant({
  objtype = "OBJECT_TABLE",
  grant_option,
  is_grant,
  grantees = [],
}: GrantStmt): Violation[] {
  const others = grantees.flatMap((grantee) => {
    const { roletype, rolename = "" } = "RoleSpec" in grantee ? grantee.RoleSpec : {};
    return roletype === "ROLESPEC_PUBLIC" || ROLES.includes(rolename) ? [] : [rolename];
  });
  if (is_grant === true && others.length > 0) {
    const what = `it grants a right to ${others.join(" and ")}, but migrations have the roles ${ROLES.join(", ")}`;
    return [{ rule: "role", what }];
  }
  if (grant_option === true) {
    return [{ rule: "write-grant", what: "it lets the role grant the right to others" }];
  }
  const isOfObject = OBJECTS.includes(objtype) || objtype === "OBJECT_PROCEDURE";
  return isOfObject
    ? []
    : [notAllowed(`a grant on a ${objtype.replace("OBJECT_", "").toLowerCase()}`)];
}

function inFunction(
  made: CreateFunctionStmt,
  text: string,
  functions: KnownFunctions,
): Violation[] {
  if (made.is_procedure === true) return [notAllowed("`create procedure`")];
  const found = inOptions(made.options, true);
  try {
    const { unseen, calls } = functions.refusedInBody(made, text);
    const unread: Violation = {
      rule: "unseen",
      what: `the linter does not accept ${unseen.join(" and ")} in this function`,
    };
    return [
      ...found,
      ...(unseen.length === 0 ? [] : [unread]),
      ...(calls.length === 0 ? [] : [calling(calls)]),
    ];
  } catch (error) {
    const what = `the linter cannot read the function's body: ${(error as Error).message}`;
    return [...found, { rule: "unseen", what }];
  }
}

/** An altered function keeps its volatility: by that its body was read. */
function inOptions(options: Node[] = [], isCreated: boolean): Violation[] {
  return options.flatMap((one): Violation[] => {
    const { defname = "", arg } = "DefElem" in one ? one.DefElem : {};
    if (!FUNCTION_OPTIONS.includes(defname) || (!isCreated && defname === "volatility")) {
      return [notAllowed(`the option ${defname} of a function`)];
    }
    const setting = arg !== undefined && "VariableSetStmt" in arg ? arg.VariableSetStmt : undefined;
    const name = setting?.name ?? "search_path";
    if (defname !== "set" || FUNCTION_SETTING.test(name)) return [];
    return [{ rule: "setting", what: `it sets ${name} in the function` }];
  });
}

/** Whether it can run outside a transaction only: not a `refresh`. */
function isConcurrent(node: Node): boolean {
  const found = entriesOf(node).some(
    ([key, value]: [string, unknown]) =>
      (key === "concurrent" && value === true) || (key === "defname" && value === "concurrently"),
  );
  return found && !("RefreshMatViewStmt" in node);
}

/** Whether CONCURRENTLY stands where it can run. */
export function findMisplaced(node: Node, index: number, inTransaction: boolean): Violation[] {
  const violation = (rule: Rule, what: string): Violation[] => [{ rule, what }];
  if (inTransaction) {
    return isConcurrent(node)
      ? violation(
          "concurrently-in-transaction",
          "CONCURRENTLY cannot run in a transaction, but this migration is one",
        )
      : [];
  }
  if (index > 0) {
    return violation(
      "one-statement",
      "a migration without a transaction has more than one statement",
    );
  }
  const isOfIndex = ["IndexStmt", "DropStmt", "ReindexStmt"].some((kind) => kind in node);
  return isConcurrent(node) || isOfIndex
    ? []
    : violation("transaction", "without a transaction it may be applied and not recorded");
}
