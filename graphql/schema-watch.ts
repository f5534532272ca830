// Polls the database's catalogs, so that GraphQL can follow a migration.
//
// PostgreSQL notifies of schema changes only by event triggers, which only a superuser can create. Every
// role can read the catalogs, so polling needs no more privileges than dex_reader has.
import { setTimeout as sleep } from "node:timers/promises";
import { makeIntrospectionQuery } from "pg-introspection";
import type { Database } from "../db/connect.ts";
import { databaseFailure } from "../http/database-failure.ts";

export interface CatalogWatchOptions {
  db: Database;
  /** The state of the schema that is served; undefined if unknown. */
  known: string | undefined;
  /** Ends the polling. */
  signal: AbortSignal;
}

const POLL_MS = 1000;

/** Statistics and transaction ids, which change without a change of the schema. */
const VOLATILE = '"rel(pages|tuples|allvisible|allfrozen|frozenxid|minmxid)": ?[^,}]*';

// PostGraphile's own introspection, so that it covers what a schema is built from, comments and grants
// included. The lists of databases and namespaces are left out: each session with a temporary table adds
// a namespace. So are roles and their members: they belong to the cluster, and other databases change them.
const SELECT_STATE = {
  name: "catalog_state",
  text: `
    with introspection (catalogs) as (${makeIntrospectionQuery()})
    select md5(regexp_replace((catalogs::jsonb - '{database,namespaces,roles,auth_members}'::text[])::text, $1, '', 'g')) as state
    from introspection
  `,
  values: [VOLATILE],
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
