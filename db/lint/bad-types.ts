// Finds columns of a type that rounds, or that depends on the session.
import type { CatalogObject } from "../check/catalog.ts";
import { isEqual, textOf } from "../check/object-facts.ts";
import type { Placed } from "./taken-away.ts";

/** Types that are no type of this project, with the reason. */
const BAD_TYPES: [RegExp, string][] = [
  [/^real\b/, "is rounded to 6 digits"],
  [/^double precision\b/, "is rounded to 15 digits"],
  [/^(timestamp|time)\b.* without time zone/, "depends on the time zone"],
];

export function findBadType(
  was: CatalogObject | undefined,
  { kind, name, facts }: CatalogObject,
  at: number,
): Placed[] {
  if (kind !== "column" && kind !== "domain") return [];
  const type = textOf(facts, kind === "column" ? "type" : "base");
  if (was !== undefined && isEqual(was.facts, facts)) return [];
  if (was?.facts["type"] === type) return [];
  return BAD_TYPES.filter(([pattern]) => pattern.test(type)).map(([, reason]): Placed => ({
    rule: "column-type",
    what: `${name} has a type that ${reason}`,
    at,
  }));
}
