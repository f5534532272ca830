// What of ours is published to other servers, and whether writing goes on under it.
import { readFile } from "node:fs/promises";
import type { Database } from "../connect.ts";
import type { Finding } from "./finding.ts";

const PUBLICATIONS = new URL("./publications.sql", import.meta.url);

export interface Publications {
  /** What each publishes: for a DBA to decide, and to know of. */
  notes: string[];
  findings: Finding[];
}

/** The publications that tables of these schemas are in. */
export async function readPublications(db: Database, schemas: string[]): Promise<Publications> {
  const { rows } = await db.query<{
    name: string;
    isOfAll: boolean;
    tables: string[];
    refused: string[];
  }>(await readFile(PUBLICATIONS, "utf8"), [schemas]);
  return {
    notes: rows.map(
      ({ name, isOfAll, tables }) =>
        `publication ${name} publishes ${isOfAll ? "all tables" : tables.join(", ")}`,
    ),
    findings: rows.flatMap(({ name, refused }) =>
      refused.map((table) => ({
        check: "publications",
        object: `publication ${name}`,
        problem: `it publishes updates or deletes of ${table}, which has no primary key, so that each of them fails`,
        remedy: `Have its whole rows published: alter table ${table} replica identity full; or take the table out.`,
      })),
    ),
  };
}
