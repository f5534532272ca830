// Polls the database's catalogs, so that GraphQL can follow a migration.
//
// PostgreSQL notifies of schema changes only by event triggers, which only a superuser can create. Every
// role can read the catalogs, so polling needs no more privileges than dex_reader has.
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../db/connect.ts";
import { databaseFailure } from "../http/database-failure.ts";

export interface CatalogWatchOptions {
  db: Database;
  /** The state of the schema that is served; undefined if unknown. */
  known: string | undefined;
  /** Ends the polling. */
  signal: AbortSignal;
}

const POLL_MS = 500;

// Every change of an object gives its catalog row a new xmin; updates of statistics in the row do not.
// OIDs below 16384 belong to system objects. Schemas named pg_* include those of temporary tables.
const SELECT_STATE = {
  name: "catalog_state",
  text: `
    with
      namespaces as (
        select
          namespace.oid,
          namespace.xmin
        from pg_namespace as namespace
        where
          namespace.nspname !~ '^pg_'
          and namespace.nspname not in ('information_schema', 'graphile_migrate')
      ),
      classes as (
        select
          class.oid,
          class.xmin
        from pg_class as class
        join namespaces on namespaces.oid = class.relnamespace
        where class.oid >= 16384
      ),
      entries as (
        select concat_ws(' ', 'namespace', oid, xmin) as entry
        from namespaces
        union all
        select concat_ws(' ', 'class', oid, xmin)
        from classes
        union all
        select concat_ws(' ', 'attribute', attribute.attrelid, attribute.attnum, attribute.xmin)
        from pg_attribute as attribute
        join classes on classes.oid = attribute.attrelid
        where attribute.attnum > 0
        union all
        select concat_ws(' ', 'index', index.indexrelid, index.xmin, index.indisvalid)
        from pg_index as index
        join classes on classes.oid = index.indrelid
        union all
        select concat_ws(' ', 'constraint', constr.oid, constr.xmin)
        from pg_constraint as constr
        join namespaces on namespaces.oid = constr.connamespace
        union all
        select concat_ws(' ', 'function', proc.oid, proc.xmin)
        from pg_proc as proc
        join namespaces on namespaces.oid = proc.pronamespace
        union all
        select concat_ws(' ', 'type', type.oid, type.xmin)
        from pg_type as type
        join namespaces on namespaces.oid = type.typnamespace
        union all
        select concat_ws(' ', 'value', value.oid, value.xmin)
        from pg_enum as value
        union all
        select concat_ws(' ', 'comment', comment.objoid, comment.objsubid, comment.xmin)
        from pg_description as comment
        where comment.objoid >= 16384
        union all
        select concat_ws(' ', 'member', member.roleid, member.member, member.xmin)
        from pg_auth_members as member
      )
    select md5(string_agg(entries.entry, ',' order by entries.entry)) as state
    from entries
  `,
  query_timeout: 5000,
};

/** A hash that changes with every change of the schema, including comments and grants. */
export async function catalogState(db: Database): Promise<string | undefined> {
  const { rows } = await db.query<{ state: string }>(SELECT_STATE);
  return rows[0]?.state;
}

/**
 * Calls `onChange` after every change of the catalogs, one call at a time, until the signal aborts. A
 * call that fails because the database is unavailable is retried; any other error is logged.
 */
export async function followCatalogs(
  { db, known, signal }: CatalogWatchOptions,
  onChange: () => Promise<void>,
  log: (error: unknown) => void,
): Promise<void> {
  const pause = (): Promise<boolean> =>
    sleep(POLL_MS, true, { signal, ref: false }).catch(() => false);
  let current = known;
  while (await pause()) {
    const state = await catalogState(db).catch(() => current);
    if (state === current) continue;
    try {
      await onChange();
      current = state;
    } catch (error) {
      if (databaseFailure(error) !== undefined) continue;
      current = state;
      log(error);
    }
  }
}
