// All rows of all tables of a database, to be compared before and after.
import type { Database } from "../db/connect.ts";

/** By table, its rows as text, in the order of that text. Asked as somebody who may read all. */
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
