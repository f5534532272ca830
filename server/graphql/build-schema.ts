// Builds the GraphQL schema of what the database has. Schemas of the site's own add to it; they change
// nothing that is there without them.
import { findBreakingChanges, type GraphQLSchema } from "graphql";
import { makeSchema } from "postgraphile";
import type { Database } from "../../db/connect.ts";
import { databaseFailure } from "../http/database-failure.ts";

/** What EXPOSED_SCHEMAS names cannot be shown beside what is there; the message says why. */
export class SchemaConflict extends Error {
  override readonly name = "SchemaConflict";
}

export interface BuildOptions {
  /** The preset that shows these schemas beside `public`. */
  presetOf: (exposedSchemas: readonly string[]) => GraphileConfig.Preset;
  exposedSchemas: readonly string[];
  /** Asked for what is in the way of whom. */
  db: Database;
}

/** Throws `SchemaConflict` where it is the exposed schemas that stand in the way. */
export async function buildSchema({
  presetOf,
  exposedSchemas,
  db,
}: BuildOptions): Promise<GraphQLSchema> {
  const { schema: ours } = await makeSchema(presetOf([]));
  if (exposedSchemas.length === 0) return ours;
  const whole = await makeSchema(presetOf(exposedSchemas)).then(
    ({ schema }) => schema,
    async (error: unknown) => {
      if (databaseFailure(error) !== undefined) throw error;
      const reasons = await sameNames(db, exposedSchemas);
      throw conflict(reasons.length > 0 ? reasons : [oneLine(error as Error)]);
    },
  );
  const changes = findBreakingChanges(ours, whole).map(({ description }) => description);
  if (changes.length > 0) throw conflict(changes.map((change) => change.replace(/\.$/, "")));
  return whole;
}

const conflict = (reasons: string[]): SchemaConflict =>
  new SchemaConflict(
    `EXPOSED_SCHEMAS: ${reasons.join("; ")}. Rename what is yours in the database, or in GraphQL ` +
      "by the smart tag @name (of a relation, by @fieldName and @foreignFieldName).",
  );

/** PostGraphile's message, without the address of a page that is about its plugins. */
const oneLine = ({ message }: Error): string =>
  message
    .replace(/\s*Details: \S+\s*$/, "")
    .replace(/\s+/g, " ")
    .replace(/\.$/, "");

// A table, a view and an enum each have a type of their name.
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
  order by reason
`;

async function sameNames(db: Database, exposedSchemas: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ reason: string }>(SELECT_SAME_NAMES, [
    ["public", ...exposedSchemas],
  ]);
  return rows.map(({ reason }) => reason);
}
