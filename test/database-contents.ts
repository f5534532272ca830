// Reads all rows of all tables of a database, and its schema, for comparison with another database.
import { readCatalog, type CatalogObject } from "../db/check/catalog.ts";
import type { Database } from "../db/connect.ts";

/** The rows of each table as sorted text. The connection needs to read all tables. */
export async function contentsOf(db: Database): Promise<Record<string, string[]>> {
  const { rows: tables } = await db.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name
    from pg_tables
    where schemaname in ('public', 'dex_private', 'ingest')
    order by name`,
  );
  const contents: Record<string, string[]> = {};
  for (const { name } of tables) {
    const { rows } = await db.query<{ line: string }>(
      `select kept::text as line
      from ${name} as kept
      order by line`,
    );
    contents[name] = rows.map(({ line }) => line);
  }
  return contents;
}

/** The schema's objects without their ids, which differ between two databases. */
export async function schemaOf(db: Database): Promise<Omit<CatalogObject, "id">[]> {
  const objects = await readCatalog(db, ["public", "dex_private", "ingest"]);
  return objects.map(({ kind, name, partOf, facts }) => ({ kind, name, partOf, facts }));
}
