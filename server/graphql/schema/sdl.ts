// The GraphQL schema as text: what is tracked, so that a change of the contract is seen in review.
import { fileURLToPath } from "node:url";
import "../production.ts";
import { lexicographicSortSchema, printSchema, type GraphQLSchema } from "graphql";
import { makeSchema } from "postgraphile";
import type { Pool } from "../../../db/connect.ts";
import { GRAPHQL_LIMITS } from "../limits/limits.ts";
import { makePreset } from "../preset.ts";

/** Where it is tracked; `npm run schema:print` writes it. */
export const TRACKED_SDL = fileURLToPath(new URL("../schema.graphql", import.meta.url));

/** What the service makes of this database; whatever fails is thrown. */
export function presetOf(pool: Pool): GraphileConfig.Preset {
  const log = (error: unknown): void => {
    throw error;
  };
  return makePreset({ pool, log, limits: GRAPHQL_LIMITS });
}

/** Sorted, so that the order of things in the database does not count. */
export function printSdl(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}

/** The schema that the service makes of this database. */
export async function sdlOf(pool: Pool): Promise<string> {
  const { schema } = await makeSchema(presetOf(pool));
  return printSdl(schema);
}
