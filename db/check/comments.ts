// Finds published objects without a comment.
import type { CatalogObject } from "./catalog.ts";
import { isGrantedToReader, isHidden, isSilent, textOf } from "./object-facts.ts";
import type { Finding } from "./finding.ts";

const RELATIONS = ["table", "view", "materialized view", "foreign table"];

/** The objects of these schemas that dex_reader may read and that have no description. */
export function findUndescribed(catalog: CatalogObject[], exposed: string[]): Finding[] {
  const ofSchemas = catalog.filter(({ partOf }) => exposed.includes(partOf ?? ""));
  const relations = ofSchemas.filter(
    (object) => RELATIONS.includes(object.kind) && !isHidden(object),
  );
  const columns = Map.groupBy(
    catalog.filter(({ kind }) => kind === "column"),
    ({ partOf }) => partOf,
  );
  const published = [
    ...ofSchemas.filter(isPublishedFunction),
    ...relations.flatMap((relation) => {
      const its = columns.get(relation.name) ?? [];
      const read = isGrantedToReader(relation) ? its : its.filter(isGrantedToReader);
      return read.length > 0 || isGrantedToReader(relation) ? [relation, ...read] : [];
    }),
  ];
  return published.filter(isSilent).map(({ kind, name }) => ({
    check: "comments",
    object: `${kind} ${name}`,
    problem: "it is visible to clients and has no comment",
    remedy: `Add one in a migration: comment on ${kind} ${name} is '…'; or hide it with the tag @behavior -*.`,
  }));
}

/** A volatile function would be a mutation, and GraphQL shows none. */
function isPublishedFunction(object: CatalogObject): boolean {
  const { kind, facts } = object;
  if (kind !== "function" || facts["volatility"] === "volatile") return false;
  return !textOf(facts, "result").endsWith("trigger") && isGrantedToReader(object);
}
