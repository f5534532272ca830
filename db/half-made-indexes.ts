// Drops the invalid indexes of interrupted migrations. After an interrupted `create index concurrently`
// PostgreSQL keeps an invalid index, which `if not exists` would accept.
import { committedMigrations } from "./committed.ts";
import { connect } from "./connect.ts";
import { recordedMigrations } from "./applied-migrations.ts";

/**
 * Drops the invalid indexes that a pending migration of this folder creates again, and resolves to their
 * names. Another invalid index may still be under construction; `db:check` reports those.
 */
export async function dropHalfMadeIndexes(url: string, folder: string): Promise<string[]> {
  await using client = await connect(url, { role: "dex_owner" });
  const { rows: invalid } = await client.query<{ name: string; qualified: string }>(
    `select
      indexed.relname as name,
      format('%I.%I', schema.nspname, indexed.relname) as qualified
    from pg_index as index
    join pg_class as indexed on indexed.oid = index.indexrelid
    join pg_namespace as schema on schema.oid = indexed.relnamespace
    where not index.indisvalid
      and indexed.relkind = 'i'
      and indexed.relowner = 'dex_owner'::regrole
    order by qualified`,
  );
  if (invalid.length === 0) return [];
  const applied = new Set((await recordedMigrations(client)).map(({ filename }) => filename));
  const pending = (await committedMigrations(folder)).filter(
    ({ recordedAs }) => !applied.has(recordedAs),
  );
  const made = new Set(pending.map(({ body }) => madeConcurrently(body)));
  const dropped = invalid.filter(({ name }) => made.has(name)).map(({ qualified }) => qualified);
  for (const index of dropped) await client.query(`drop index concurrently ${index}`);
  return dropped;
}

/** The name of the index that a migration of one statement creates concurrently. */
function madeConcurrently(body: string): string | undefined {
  const making =
    /^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?"?(\w+)"?\s/im;
  return making.exec(body)?.[1];
}
