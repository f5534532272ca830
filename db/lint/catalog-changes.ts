// Compares the catalogs before and after a migration, and attributes each difference to a statement.
import type { CatalogObject } from "../check/catalog.ts";
import { isEqual } from "../check/object-facts.ts";
import type { Catalog } from "./effects.ts";

export interface Changes {
  before: Catalog;
  after: Catalog;
  /** Dropped or renamed objects, without their parts. `at` is the number of the statement. */
  removed: { object: CatalogObject; newName: string | undefined; at: number }[];
  made: { object: CatalogObject; at: number }[];
  /** Objects that are there before and after, also under another name. */
  changed: { was: CatalogObject; is: CatalogObject; at: (fact: string) => number }[];
}

/** Rows are lost if one is dropped, even if it is created again under the same name. */
const WITH_ROWS = ["table", "materialized view", "sequence"];

/** The differences between the first and the last catalog; `steps` are the catalogs after each statement. */
export function findChanges(before: Catalog, steps: Catalog[]): Changes {
  const catalogs = [before, ...steps];
  const after = steps.at(-1) ?? before;
  const idsOf = new Map(
    catalogs.map((catalog) => [
      catalog,
      new Map([...catalog.values()].map((object) => [object.id, object])),
    ]),
  );
  const find = (catalog: Catalog, key: string, id: string): CatalogObject | undefined =>
    catalog.get(key) ?? idsOf.get(catalog)?.get(id);
  const lastStep = (valueOf: (catalog: Catalog) => unknown): number =>
    steps.findLastIndex(
      (step, index) => !isEqual(valueOf(catalogs[index] ?? before), valueOf(step)),
    );

  const holdsRows = ({ kind, partOf }: CatalogObject): boolean =>
    WITH_ROWS.includes(kind) || (kind === "column" && before.has(`table ${partOf}`));
  const removed = [...before].filter(([key, object]) => {
    const is = after.get(key);
    return is === undefined || (holdsRows(object) && is.id !== object.id);
  });
  const removedKeys = new Set(removed.map(([key]) => key));
  const removedNames = new Set(removed.map(([, { name }]) => name));
  return {
    before,
    after,
    removed: removed
      .filter(([, { partOf }]) => partOf === null || !removedNames.has(partOf))
      .map(([key, object]) => ({
        object,
        newName: idsOf.get(after)?.get(object.id)?.name,
        at: lastStep((catalog) => catalog.get(key)?.id),
      })),
    made: [...after]
      .filter(([key, { id }]) => {
        const isAnother = !before.has(key) || removedKeys.has(key);
        return isAnother && idsOf.get(before)?.has(id) !== true;
      })
      .map(([key, object]) => ({ object, at: lastStep((catalog) => catalog.get(key)?.id) })),
    changed: [...before].flatMap(([key, was]) => {
      const is = removedKeys.has(key) ? idsOf.get(after)?.get(was.id) : after.get(key);
      if (is === undefined || isEqual(was.facts, is.facts)) return [];
      const at = (fact: string): number =>
        lastStep((catalog) => find(catalog, key, was.id)?.facts[fact]);
      return [{ was, is, at }];
    }),
  };
}
