// Finds a tracked SDL that differs from the schema that the migrations create.
import { readFile } from "node:fs/promises";
import { makePool } from "../../db/connect.ts";
import { sdlOf, TRACKED_SDL } from "./sdl.ts";
import type { Finding } from "../../db/check/finding.ts";

export async function findStaleSdl(url: string): Promise<Finding[]> {
  const pool = makePool(url, { role: "dex_reader", poolSize: 2 });
  try {
    const actual = await sdlOf(pool);
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
