// Lists publications of our tables, and finds those that make writes fail.
import { readFile } from "node:fs/promises";
import type { Database } from "../connect.ts";
import type { Findings } from "./finding.ts";

const PUBLICATIONS = new URL("./publications.sql", import.meta.url);

/** The publications that include tables of these schemas; the notes have the tables of each. */
export async function readPublications(db: Database, schemas: string[]): Promise<Findings> {
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
        problem: `it publishes updates or deletes of ${table}, which has no primary key, so they all fail`,
        remedy: `Publish whole rows: alter table ${table} replica identity full; or remove the table from the publication.`,
      })),
    ),
  };
}
