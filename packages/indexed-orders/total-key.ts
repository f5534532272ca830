// Finds the columns that make any order of a table's rows total.
import type { PgResource } from "postgraphile/@dataplan/pg";

/** The first unique key without a nullable column: several rows can have null. Undefined where there is none. */
export const totalKey = ({ codec, uniques }: PgResource): readonly string[] | undefined =>
  uniques.find(({ attributes }) =>
    attributes.every((column) => codec.attributes?.[column]?.notNull === true),
  )?.attributes;
