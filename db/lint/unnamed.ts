// Finds statements of whose effect a part is not written down: dependents, and columns as `*`.
import type { Node } from "libpg-query";
import { entriesOf, stringOf } from "./functions.ts";
import type { Violation } from "./rules.ts";

export function findUnnamed(node: Node): Violation[] {
  const cascades = entriesOf(node).filter(
    ([key, value]: [string, unknown]) => key === "behavior" && value === "DROP_CASCADE",
  );
  return [
    ...findStar(node),
    ...cascades.map((): Violation => {
      return { rule: "cascade", what: "it drops or changes objects that it does not name" };
    }),
  ];
}

/** Names of columns as `*`, which depend on when the view is created. */
function findStar(node: Node): Violation[] {
  const [range, query] =
    "ViewStmt" in node
      ? [node.ViewStmt.view, node.ViewStmt.query]
      : "CreateTableAsStmt" in node
        ? [node.CreateTableAsStmt.into?.rel, node.CreateTableAsStmt.query]
        : [undefined, undefined];
  if (range === undefined || (range.schemaname ?? "public") !== "public") return [];
  return hasStar(query)
    ? [{ rule: "star", what: `public.${range.relname} uses * in place of column names` }]
    : [];
}

function hasStar(query: Node | undefined): boolean {
  if (query === undefined || !("SelectStmt" in query)) return false;
  const { larg, targetList = [] } = query.SelectStmt;
  if (larg !== undefined) return hasStar({ SelectStmt: larg });
  return targetList.some((target) => {
    const value = "ResTarget" in target ? target.ResTarget.val : undefined;
    const last =
      value !== undefined && "ColumnRef" in value ? value.ColumnRef.fields?.at(-1) : undefined;
    return last !== undefined && "A_Star" in last && stringOf(last) === "";
  });
}
