// Whether everything that clients see is described.
import { readFile } from "node:fs/promises";
import type { Database } from "../connect.ts";
import type { Finding } from "./finding.ts";

const UNDESCRIBED = new URL("./undescribed.sql", import.meta.url);

/** The objects of the exposed schemas that dex_reader may read, and that no comment describes. */
export async function findUndescribed(db: Database, exposed: string[]): Promise<Finding[]> {
  const { rows } = await db.query<{ kind: string; name: string }>(
    await readFile(UNDESCRIBED, "utf8"),
    [exposed],
  );
  return rows.map(({ kind, name }) => ({
    check: "comments",
    object: `${kind} ${name}`,
    problem: "clients see it, and no comment says what it is",
    remedy: `Say it by a migration: comment on ${kind} ${name} is '…'; or hide it by the tag @behavior -*.`,
  }));
}
