// Finds published objects without a comment.
import { readFile } from "node:fs/promises";
import type { Database } from "../connect.ts";
import type { Finding } from "./finding.ts";

const UNDESCRIBED = new URL("./undescribed.sql", import.meta.url);

/** The objects of the exposed schemas that dex_reader may read and that have no description. */
export async function findUndescribed(db: Database, exposed: string[]): Promise<Finding[]> {
  const { rows } = await db.query<{ kind: string; name: string }>(
    await readFile(UNDESCRIBED, "utf8"),
    [exposed],
  );
  return rows.map(({ kind, name }) => ({
    check: "comments",
    object: `${kind} ${name}`,
    problem: "it is visible to clients and has no comment",
    remedy: `Add one in a migration: comment on ${kind} ${name} is '…'; or hide it with the tag @behavior -*.`,
  }));
}
