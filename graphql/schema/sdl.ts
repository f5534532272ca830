// The GraphQL schema as SDL. The SDL is tracked, so that a review shows every change of the contract.
import { fileURLToPath } from "node:url";
import "../production.ts";
import { lexicographicSortSchema, printSchema, type GraphQLSchema } from "graphql";
import { makeSchema } from "postgraphile";
import type { Pool } from "../../db/connect.ts";
import { GRAPHQL_LIMITS } from "../limits/limits.ts";
import { makePreset } from "../preset.ts";

/** `npm run generate -- schema` writes this file. */
export const TRACKED_SDL = fileURLToPath(new URL("../schema.graphql", import.meta.url));

/** The service's preset; it throws errors that the service would log. */
export function presetOf(pool: Pool): GraphileConfig.Preset {
  const log = (error: unknown): void => {
    throw error;
  };
  return makePreset({ pool, log, limits: GRAPHQL_LIMITS });
}

/** Sorted, because the order of the database's objects does not matter. */
export function printSdl(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}

export async function sdlOf(pool: Pool): Promise<string> {
  const { schema } = await makeSchema(presetOf(pool));
  return printSdl(schema);
}
