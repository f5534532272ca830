// Says where two records of one thing differ.

/**
 * SQL for a comparison: `differ` holds where any of the columns does, and `kept` and `given` are
 * their values as text, for `describeDifferences`.
 */
export function comparison(
  kept: string,
  given: string,
  columns: readonly string[],
): { differ: string; values: string } {
  const list = (of: string, cast = ""): string =>
    columns.map((column) => `${of}.${column}${cast}`).join(", ");
  return {
    differ: `(${list(kept)}) is distinct from (${list(given)})`,
    values: `array[${list(kept, "::text")}] as kept, array[${list(given, "::text")}] as given`,
  };
}

/** What a query with `values` gives. */
export interface Compared {
  kept: (string | null)[];
  given: (string | null)[];
}

/** Each column that differs, with both its values: `lot_amt is 1.5 there, 2.5 here`. */
export function describeDifferences(
  columns: readonly string[],
  { kept, given }: Compared,
  [there, here]: readonly [string, string],
): string {
  return columns
    .map((column, at) => ({ column, old: kept[at] ?? "empty", new: given[at] ?? "empty" }))
    .filter((value) => value.old !== value.new)
    .map((value) => `${value.column} is ${value.old} ${there}, ${value.new} ${here}`)
    .join("; ");
}
