// Follows the database's catalogs, so that GraphQL can show what a migration has changed.
//
// PostgreSQL tells nobody of a change but by event triggers, which only a superuser may make. The
// catalogs are for every role to read: they are asked, twice a second, for which of their rows there
// are. It takes the reader's rights and nothing more.
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../db/connect.ts";
import { databaseFailure } from "../http/database-failure.ts";

export interface CatalogWatchOptions {
  /** Asked for the state of the catalogs. */
  db: Database;
  /** The state that is known; undefined where none is. */
  known: string | undefined;
  /** Ends it. */
  signal: AbortSignal;
}

const ASK_MS = 500;

// Each change of an object writes its row anew, and so gives it another xmin; what PostgreSQL counts
// in its rows meanwhile does not. Objects below 16384 are PostgreSQL's own. Temporary tables come and
// go, and are nobody's schema.
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

/** A text that is another after every change of the schema, comments and grants among it. */
export async function catalogState(db: Database): Promise<string | undefined> {
  const { rows } = await db.query<{ state: string }>(SELECT_STATE);
  return rows[0]?.state;
}

/**
 * Calls `onChange` after every change of the catalogs, one call at a time, until the signal. Where
 * that fails because the database cannot be asked, it is called again; `log` hears of any other
 * failure, and the next call is for the next change.
 */
export async function followCatalogs(
  { db, known, signal }: CatalogWatchOptions,
  onChange: () => Promise<void>,
  log: (error: unknown) => void,
): Promise<void> {
  const pause = (): Promise<boolean> =>
    sleep(ASK_MS, true, { signal, ref: false }).catch(() => false);
  let shown = known;
  while (await pause()) {
    // A database that cannot be asked is as it was, as far as anybody knows.
    const state = await catalogState(db).catch(() => shown);
    if (state === shown) continue;
    try {
      await onChange();
      shown = state;
    } catch (error) {
      if (databaseFailure(error) !== undefined) continue;
      shown = state;
      log(error);
    }
  }
}
