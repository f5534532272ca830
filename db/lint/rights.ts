// What a migration would change of who may do what: grants, owners, roles, and functions that run with
// the rights of their owner.
import type { GrantStmt, Node } from "libpg-query";
import type { Violation } from "./rules.ts";
import { functionName, isGrantedTo, signature, type Standing } from "./standing.ts";

/** Grants beyond reading, and what is not for a migration to say. */
export function findRights(node: Node, after: Standing): Violation[] {
  if ("GrantStmt" in node) return inGrant(node.GrantStmt);
  if ("AlterDefaultPrivilegesStmt" in node) {
    return inGrant(node.AlterDefaultPrivilegesStmt.action ?? {});
  }
  if ("AlterOwnerStmt" in node || "ReassignOwnedStmt" in node) return [OWNER];
  if (ABOUT_ROLES.some((kind) => kind in node)) {
    return [
      { rule: "role", what: "roles are of the whole server, and this database is one of its" },
    ];
  }
  if ("AlterTableStmt" in node) {
    return (node.AlterTableStmt.cmds ?? []).flatMap((command) => {
      const subtype = "AlterTableCmd" in command ? command.AlterTableCmd.subtype : undefined;
      if (subtype === "AT_ChangeOwner") return [OWNER];
      return subtype === "AT_EnableRowSecurity" || subtype === "AT_ForceRowSecurity"
        ? [{ rule: "row-security", what: "it hides all rows that no policy shows" }]
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
          what: `${name} runs with its owner's rights, and whoever calls it says by search_path what its names mean`,
        },
      ]
    : [];
}

const OWNER: Violation = { rule: "owner", what: "it gives what dex_owner made to another" };

const ABOUT_ROLES = [
  ...["CreateRoleStmt", "AlterRoleStmt", "AlterRoleSetStmt", "DropRoleStmt", "GrantRoleStmt"],
];

const OF_FUNCTIONS = ["OBJECT_FUNCTION", "OBJECT_PROCEDURE", "OBJECT_ROUTINE"];

function inGrant(grant: GrantStmt): Violation[] {
  if (grant.is_grant !== true) return [];
  const grantees = ["dex_reader", "public"].filter((role) => isGrantedTo(grant, role));
  if (OF_FUNCTIONS.includes(grant.objtype ?? "")) {
    return grantees.includes("public")
      ? [{ rule: "execute-grant", what: "everybody could call the function" }]
      : [];
  }
  return isOfWriting(grant)
    ? grantees.map((role) => ({ rule: "write-grant", what: `it lets ${role} do more than read` }))
    : [];
}

function isOfWriting({ objtype, privileges = [] }: GrantStmt): boolean {
  const reading = ["select", "connect", ...(objtype === "OBJECT_SEQUENCE" ? [] : ["usage"])];
  // `grant all` names none.
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
