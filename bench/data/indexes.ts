// Drops the indexes of a table before it is filled, and remembers their definitions.
import type { Client } from "../../db/connect.ts";

export interface Definition {
  name: string;
  sql: string;
}

/**
 * Drops all indexes except the primary key's, which is filled in order, and saves their definitions in
 * bench.dropped_index.
 */
export async function dropIndexes(client: Client, table: string): Promise<void> {
  const { rows } = await client.query<Definition & { drop: string }>(
    `select
      class.relname as name,
      case
        when constraint_.oid is null then pg_get_indexdef(index_.indexrelid)
        else format(
          'alter table %I add constraint %I %s',
          $1::text,
          constraint_.conname,
          pg_get_constraintdef(constraint_.oid)
        )
      end as sql,
      case
        when constraint_.oid is null then format('drop index %I', class.relname)
        else format('alter table %I drop constraint %I', $1::text, constraint_.conname)
      end as drop
    from pg_index as index_
    join pg_class as class on class.oid = index_.indexrelid
    left join pg_constraint as constraint_
      on constraint_.conindid = index_.indexrelid
      and constraint_.contype = 'u'
    where index_.indrelid = $1::regclass
      and not index_.indisprimary
    order by class.relname`,
    [table],
  );
  for (const { name, sql, drop } of rows) {
    await client.query("insert into bench.dropped_index (name, sql) values ($1, $2)", [name, sql]);
    await client.query(drop);
  }
}

/** The definitions of the dropped indexes, by name. */
export async function droppedIndexes(client: Client): Promise<Definition[]> {
  const { rows } = await client.query<Definition>(
    "select name, sql from bench.dropped_index order by name",
  );
  return rows;
}
