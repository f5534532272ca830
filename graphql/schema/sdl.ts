// The GraphQL schema as SDL. The SDL is tracked, so that a review shows every change of the contract.
import { fileURLToPath } from "node:url";
import { readFile } from "node:fs/promises";
import "../production.ts";
import {
  buildSchema,
  findBreakingChanges,
  lexicographicSortSchema,
  printSchema,
  type GraphQLSchema,
} from "graphql";
import { makeSchema } from "postgraphile";
import { makePool, type Client, type Pool } from "../../db/connect.ts";
import { GRAPHQL_LIMITS } from "../limits/limits.ts";
import { makePreset } from "../preset.ts";
import { oneLine } from "../build-schema.ts";
import type { Finding } from "../../db/check/finding.ts";

/** `npm run generate -- schema` writes this file. */
export const TRACKED_SDL = fileURLToPath(new URL("../schema.graphql", import.meta.url));

/** The service's preset; it throws errors that the service would log. */
export function presetOf(pool: Pool, exposedSchemas: string[] = []): GraphileConfig.Preset {
  const log = (error: unknown): void => {
    throw error;
  };
  return makePreset({ pool, log, limits: GRAPHQL_LIMITS, exposedSchemas });
}

/** Sorted, because the order of the database's objects does not matter. */
export function printSdl(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}

/**
 * Reads what a session sees in its transaction, as dex_reader, also of those of the exposed schemas that there are. Throws, in
 * one line, why there can be no schema.
 */
export const sdlReader =
  (exposedSchemas: readonly string[]) =>
  async (client: Client): Promise<string> => {
    const { rows } = await client.query<{ name: string }>(
      "select nspname as name from pg_namespace where nspname = any ($1::text[])",
      [exposedSchemas],
    );
    const connect = (): unknown =>
      Promise.resolve(Object.assign(client, { release: () => undefined }));
    const preset = presetOf(
      { connect } as unknown as Pool,
      rows.map(({ name }) => name),
    );
    try {
      return printSdl((await makeSchema(preset)).schema);
    } catch (error) {
      throw new Error(oneLine(error as Error), { cause: error });
    }
  };

/** What clients of one schema cannot ask, or read, of the other one. */
export function lostBetween(before: string, after: string): string[] {
  if (before === after) return [];
  return findBreakingChanges(buildSchema(before), buildSchema(after)).map(({ description }) =>
    description.replace(/\.$/, ""),
  );
}

export async function findStaleSdl(url: string): Promise<Finding[]> {
  const pool = makePool(url, { role: "dex_reader", poolSize: 2 });
  try {
    const actual = printSdl((await makeSchema(presetOf(pool))).schema);
    const tracked = await readFile(TRACKED_SDL, "utf8");
    if (actual === tracked) return [];
    const [actualLines, trackedLines] = [actual.split("\n"), tracked.split("\n")];
    const differing = actualLines.findIndex((line, index) => line !== trackedLines[index]);
    const at = differing === -1 ? actualLines.length : differing;
    const quoted = (line: string | undefined): string =>
      line === undefined ? "the end of the file" : `\`${line.trim()}\``;
    return [
      {
        check: "sdl",
        object: "graphql/schema.graphql",
        problem:
          `differs from the schema that the migrations create: line ${at + 1} is ` +
          `${quoted(trackedLines[at])}, not ${quoted(actualLines[at])}`,
        remedy: "Run `npm run generate -- schema`, and review what changes for clients.",
      },
    ];
  } finally {
    await pool.end();
  }
}
