// Decides whether the condition and filter of a list read nothing but the table's own columns. The epoch of
// the table says nothing of other tables, which a filter through a relation or on a function reads.
import type { PgResource } from "postgraphile/@dataplan/pg";

/** Filters within a filter. */
const LOGICAL = new Set(["and", "or", "not"]);

/** The names in GraphQL of a table's columns. A filter on a composite type may have functions of it. */
export function columnNames(build: GraphileBuild.Build, { codec }: PgResource): Set<string> {
  const columns = Object.entries(codec.attributes ?? {}).filter(
    ([, attribute]) => attribute.codec.attributes === undefined,
  );
  const nameOf = (attributeName: string): string =>
    build.inflection.attribute({ attributeName, codec: codec as never });
  return new Set(columns.map(([attributeName]) => nameOf(attributeName)));
}

const isFilterOfColumns = (filter: unknown, columns: ReadonlySet<string>): boolean =>
  Object.entries(filter ?? {}).every(([name, value]) =>
    LOGICAL.has(name)
      ? [value].flat().every((inner) => isFilterOfColumns(inner, columns))
      : columns.has(name),
  );

/** False also with an argument of another plugin, which may read anything. */
export const isOfColumns = (
  { condition, filter, ...others }: Record<string, unknown>,
  columns: ReadonlySet<string>,
): boolean =>
  Object.keys(condition ?? {}).every((name) => columns.has(name)) &&
  isFilterOfColumns(filter, columns) &&
  Object.values(others).every((value) => value == null);
