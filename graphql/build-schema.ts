// Builds the GraphQL schema from the database. EXPOSED_SCHEMAS may add to the schema, but not change it.
import { findBreakingChanges, type GraphQLSchema } from "graphql";
import { makeSchema } from "postgraphile";
import type { Database } from "../db/connect.ts";
import { databaseFailure } from "../http/database-failure.ts";

/** EXPOSED_SCHEMAS conflicts with the service's own schema; the message names the conflict. */
export class SchemaConflict extends Error {
  override readonly name = "SchemaConflict";
}

export interface BuildOptions {
  /** Makes the preset that exposes these schemas beside `public`. */
  presetOf: (exposedSchemas: readonly string[]) => GraphileConfig.Preset;
  exposedSchemas: readonly string[];
  /** Finds the names that conflict. */
  db: Database;
}

/** Throws `SchemaConflict` if the schema can be built only without the exposed schemas. */
export async function buildSchema({
  presetOf,
  exposedSchemas,
  db,
}: BuildOptions): Promise<GraphQLSchema> {
  const { schema: own } = await makeSchema(presetOf([])).catch((error: unknown) => {
    // PostGraphile reads the tags of every schema, and names the table whose tag it cannot read.
    if (databaseFailure(error) !== undefined || exposedSchemas.length === 0) throw error;
    throw new SchemaConflict(`EXPOSED_SCHEMAS: ${oneLine(error as Error)}.`);
  });
  if (exposedSchemas.length === 0) return own;
  const whole = await makeSchema(presetOf(exposedSchemas)).then(
    ({ schema }) => schema,
    async (error: unknown) => {
      if (databaseFailure(error) !== undefined) throw error;
      const reasons = await sameNames(db, exposedSchemas);
      throw conflict(reasons.length > 0 ? reasons : [oneLine(error as Error)]);
    },
  );
  const changes = findBreakingChanges(own, whole).map(({ description }) => description);
  if (changes.length > 0) throw conflict(changes.map((change) => change.replace(/\.$/, "")));
  return whole;
}

const conflict = (reasons: string[]): SchemaConflict =>
  new SchemaConflict(
    `EXPOSED_SCHEMAS: ${reasons.join("; ")}. Rename your object in the database, or in GraphQL ` +
      "with the smart tag @name (a relation with @fieldName and @foreignFieldName).",
  );

/** PostGraphile's message without its link to documentation for plugin authors. */
export const oneLine = ({ message }: Error): string =>
  message
    .replace(/\s*Details: \S+\s*$/, "")
    .replace(/\s+/g, " ")
    .replace(/\.$/, "");

// Every table, view and enum has a type with its name, and a filter has a field of each column.
const SELECT_SAME_NAMES = `
  select format('%I.%I has the name of %I.%I', namespace.nspname, type.typname, other_namespace.nspname, other.typname) as reason
  from pg_type as type
  join pg_namespace as namespace on namespace.oid = type.typnamespace
  join pg_type as other on other.typname = type.typname
  join pg_namespace as other_namespace on other_namespace.oid = other.typnamespace
  where
    type.typtype in ('c', 'd', 'e')
    and other.typtype in ('c', 'd', 'e')
    and array_position($1::text[], namespace.nspname) > array_position($1::text[], other_namespace.nspname)
  union all
  select format('%I.%I has a column of the name of the filter''s own %I', namespace.nspname, class.relname, attribute.attname)
  from pg_attribute as attribute
  join pg_class as class on class.oid = attribute.attrelid
  join pg_namespace as namespace on namespace.oid = class.relnamespace
  where
    namespace.nspname = any ($1::text[])
    and class.relkind in ('r', 'v', 'm', 'f', 'p')
    and attribute.attname in ('and', 'or', 'not')
    and coalesce(col_description(class.oid, attribute.attnum), '') !~ '@(name|omit|behavior)'
  order by reason
`;

async function sameNames(db: Database, exposedSchemas: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ reason: string }>(SELECT_SAME_NAMES, [
    ["public", ...exposedSchemas],
  ]);
  return rows.map(({ reason }) => reason);
}
