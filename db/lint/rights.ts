// Finds changes of rights: grants, owners, roles, and functions that run with the rights of their owner.
import type { GrantStmt, Node } from "libpg-query";
import type { Violation } from "./rules.ts";
import { functionName, isGrantedTo, signature, type Standing } from "./standing.ts";

/** Finds grants beyond reading, and statements about rights that do not belong in a migration. */
export function findRights(node: Node, after: Standing): Violation[] {
  if ("GrantStmt" in node) return inGrant(node.GrantStmt);
  if ("AlterDefaultPrivilegesStmt" in node) {
    return inGrant(node.AlterDefaultPrivilegesStmt.action ?? {});
  }
  if ("AlterOwnerStmt" in node || "ReassignOwnedStmt" in node) return [OWNER];
  if (ABOUT_ROLES.some((kind) => kind in node)) {
    return [{ rule: "role", what: "roles belong to the whole server, not to this database" }];
  }
  if ("AlterTableStmt" in node) {
    return (node.AlterTableStmt.cmds ?? []).flatMap((command) => {
      const subtype = "AlterTableCmd" in command ? command.AlterTableCmd.subtype : undefined;
      if (subtype === "AT_ChangeOwner") return [OWNER];
      return subtype === "AT_EnableRowSecurity" || subtype === "AT_ForceRowSecurity"
        ? [{ rule: "row-security", what: "it hides all rows without a policy" }]
        : [];
    });
  }
  const name =
    "CreateFunctionStmt" in node
      ? signature(node.CreateFunctionStmt.funcname, node.CreateFunctionStmt.parameters)
      : "AlterFunctionStmt" in node && node.AlterFunctionStmt.func !== undefined
        ? functionName({ ObjectWithArgs: node.AlterFunctionStmt.func })
        : "";
  const standing = after.functions.get(name);
  return standing?.isDefiner === true && !standing.setsSearchPath
    ? [
        {
          rule: "search-path",
          what: `${name} runs with its owner's rights, but the caller's search_path resolves its names`,
        },
      ]
    : [];
}

const OWNER: Violation = { rule: "owner", what: "it changes the owner of an object of dex_owner" };

const ABOUT_ROLES = [
  ...["CreateRoleStmt", "AlterRoleStmt", "AlterRoleSetStmt", "DropRoleStmt", "GrantRoleStmt"],
];

const OF_FUNCTIONS = ["OBJECT_FUNCTION", "OBJECT_PROCEDURE", "OBJECT_ROUTINE"];

function inGrant(grant: GrantStmt): Violation[] {
  if (grant.is_grant !== true) return [];
  const grantees = ["dex_reader", "public"].filter((role) => isGrantedTo(grant, role));
  if (OF_FUNCTIONS.includes(grant.objtype ?? "")) {
    return grantees.includes("public")
      ? [{ rule: "execute-grant", what: "it lets every role call the function" }]
      : [];
  }
  return isOfWriting(grant)
    ? grantees.map((role) => ({ rule: "write-grant", what: `it lets ${role} do more than read` }))
    : [];
}

function isOfWriting({ objtype, privileges = [] }: GrantStmt): boolean {
  const reading = ["select", "connect", ...(objtype === "OBJECT_SEQUENCE" ? [] : ["usage"])];
  // `grant all` lists no privileges.
  const isAll =
    privileges.length === 0 && objtype !== "OBJECT_TYPE" && objtype !== "OBJECT_LANGUAGE";
  return (
    isAll ||
    privileges.some(
      (privilege) =>
        "AccessPriv" in privilege && !reading.includes(privilege.AccessPriv.priv_name ?? ""),
    )
  );
}
