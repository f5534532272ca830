// Checks that new public objects have comments and grants.
import type { CreateFunctionStmt, Node } from "libpg-query";
import type { Violation } from "./rules.ts";
import { EXPOSED_SCHEMA } from "./published.ts";
import { rangeName, schemaOf, signature, stringOf, type Standing } from "./standing.ts";

/** Finds public objects that a statement creates and that lack a comment or a grant after the migration. */
export function findUndescribed(node: Node, before: Standing, after: Standing): Violation[] {
  if ("CreateFunctionStmt" in node) return inFunction(node.CreateFunctionStmt, before, after);
  const range =
    "CreateStmt" in node
      ? node.CreateStmt.relation
      : "ViewStmt" in node
        ? node.ViewStmt.view
        : "CreateTableAsStmt" in node
          ? node.CreateTableAsStmt.into?.rel
          : "AlterTableStmt" in node
            ? node.AlterTableStmt.relation
            : undefined;
  const name = rangeName(range);
  const relation = after.relations.get(name);
  if (range?.relpersistence === "t" || relation === undefined) return [];
  if (schemaOf(name) !== EXPOSED_SCHEMA) return [];

  const stood = before.relations.get(name);
  const made = madeColumns(node, [...relation.columns.keys()]).filter(
    (column) => stood?.columns.has(column) !== true,
  );
  const silent = made.filter((column) => column !== "*" && relation.columns.get(column) === "");
  const isNew = stood === undefined && !("AlterTableStmt" in node);
  return [
    ...(made.includes("*")
      ? [{ rule: "star" as const, what: `${name} uses * in place of column names` }]
      : []),
    ...(isNew && relation.comment === "" ? [missingComment(name)] : []),
    ...silent.map((column) => missingComment(`${name}.${column}`)),
    ...(isNew && !relation.granted ? [missingGrant(`select on ${name}`)] : []),
  ];
}

/** The columns that a statement may create. */
function madeColumns(node: Node, all: string[]): string[] {
  if (!("AlterTableStmt" in node)) return all;
  return (node.AlterTableStmt.cmds ?? []).flatMap((command) => {
    if (!("AlterTableCmd" in command)) return [];
    const { def } = command.AlterTableCmd;
    return def !== undefined && "ColumnDef" in def ? [def.ColumnDef.colname ?? ""] : [];
  });
}

function inFunction(
  { funcname, parameters, returnType }: CreateFunctionStmt,
  before: Standing,
  after: Standing,
): Violation[] {
  const name = signature(funcname, parameters);
  const standing = after.functions.get(name);
  const isTrigger = stringOf(returnType?.names?.at(-1)) === "trigger";
  if (schemaOf(name) !== EXPOSED_SCHEMA || before.functions.has(name) || isTrigger) return [];
  if (standing === undefined) return [];
  return [
    ...(standing.comment === "" ? [missingComment(name)] : []),
    ...(standing.granted ? [] : [missingGrant(`execute on function ${name}`)]),
  ];
}

const missingComment = (name: string): Violation => ({
  rule: "comment",
  what: `${name} has no comment`,
});

const missingGrant = (right: string): Violation => ({
  rule: "grant",
  what: `dex_reader is not granted ${right}`,
});
