// Whether the tracked SDL is that of the schema which the migrations make.
import { readFile } from "node:fs/promises";
import { makePool } from "../../../db/connect.ts";
import { sdlOf, TRACKED_SDL } from "./sdl.ts";
import type { Finding } from "../../../db/check/finding.ts";

/** Compares it with what the service would serve of this database. */
export async function findStaleSdl(url: string): Promise<Finding[]> {
  const pool = makePool(url, { role: "dex_reader", poolSize: 2 });
  try {
    const [made, tracked] = [
      (await sdlOf(pool)).split("\n"),
      (await readFile(TRACKED_SDL, "utf8")).split("\n"),
    ];
    const first = made.findIndex((line, index) => line !== tracked[index]);
    if (first === -1 && made.length === tracked.length) return [];
    const at = first === -1 ? made.length : first;
    const quoted = (line: string | undefined): string =>
      line === undefined ? "its end" : `\`${line.trim()}\``;
    return [
      {
        check: "sdl",
        object: "server/graphql/schema.graphql",
        problem:
          `it is not the schema that the migrations make, from line ${at + 1} on: ` +
          `${quoted(tracked[at])}, where it should have ${quoted(made[at])}`,
        remedy: "Write it by `npm run schema:print`, and look at what has changed for clients.",
      },
    ];
  } finally {
    await pool.end();
  }
}
