// The contract as it is checked out: what docs/versions.md calls stable and a program can compare.
import { readFileSync } from "node:fs";
import { parse, print, visit } from "graphql";
import type { Database } from "../../../db/connect.ts";
import { formats } from "../../../db/load/csv-columns.ts";
import { settings } from "../../../server/settings.ts";
import { restLines, type RestDocument } from "./rest-lines.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

/** Other tests compare these tracked files with the service. */
const TRACKED = {
  sdl: "graphql/schema.graphql",
  openapi: "rest/openapi/openapi.json",
  metrics: "docs/operations.md",
};

/** Without descriptions, which are no promise. */
export const currentSdl = (): string => withoutDescriptions(read(TRACKED.sdl));

export function withoutDescriptions(sdl: string): string {
  const document = visit(parse(sdl), {
    enter: (node) => ("description" in node ? { ...node, description: undefined } : undefined),
  });
  return `${print(document)}\n`;
}

export const openapi = (): RestDocument => JSON.parse(read(TRACKED.openapi)) as RestDocument;

const metricsPart = (): string => read(TRACKED.metrics).split(/^## /m)[2] ?? "";

/** Lines by the name of their file. */
export async function currentLines(db: Database): Promise<Record<string, string[]>> {
  return {
    rest: restLines(openapi()),
    settings: settings().map(
      ({ name, defaultValue = "", accepted }) => `${name}: ${defaultValue}; ${accepted}`,
    ),
    metrics: [...metricsPart().matchAll(/^\| `(dex_\w+)`/gm)].map(([, name = ""]) => name),
    files: Object.entries(formats).flatMap(([file, { columns }]) =>
      Object.entries(columns).map(
        ([column, { required }]) =>
          `${file}.csv ${column}: ${required ? "required, must be given" : "optional"}`,
      ),
    ),
    ingest: await ingestFunctions(db),
  };
}

/** Those that a writer may call. */
async function ingestFunctions(db: Database): Promise<string[]> {
  const { rows } = await db.query<{ line: string }>(`
    select
      format(
        'ingest.%s(%s): %s',
        function.proname,
        pg_get_function_arguments(function.oid),
        pg_get_function_result(function.oid)
      ) as line
    from pg_proc as function
    where function.pronamespace = 'ingest'::regnamespace
      and has_function_privilege('dex_writer', function.oid, 'execute')
    order by line
  `);
  return rows.map(({ line }) => line);
}
