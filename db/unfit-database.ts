// Refuses a database that was created in an encoding without every symbol, or that lacks the rights of the roles.
import type { Client } from "./connect.ts";

/** For dex_owner. PostgreSQL refuses such a database too, in the middle of a migration, without a remedy. */
export async function refuseUnfit(client: Client, isNew: boolean): Promise<void> {
  const { rows } = await client.query<{ database: string; encoding: string; mayCreate: boolean }>(
    `select
      datname::text as database,
      pg_encoding_to_char(encoding)::text as encoding,
      has_database_privilege(oid, 'create')
        and has_schema_privilege('public', 'create') as "mayCreate"
    from pg_database
    where datname = current_database()`,
  );
  const [found] = rows;
  if (found === undefined) throw new Error("pg_database does not have the current database");
  const { database, encoding, mayCreate } = found;
  if (isNew && encoding !== "UTF8") {
    throw new Error(
      `The encoding of this database is ${encoding}, which cannot hold every symbol: create the database with UTF8, ` +
        "by `create database … encoding 'UTF8' template template0`",
    );
  }
  if (mayCreate) return;
  throw new Error(
    `dex_owner may not create schemas in ${database}, or tables in its schema public: run \`npm run db:roles\``,
  );
}
