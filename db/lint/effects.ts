// What a statement of a migration does to the tables and views that stood before it: locks, scans, rewrites.
import type { CatalogObject } from "../check/catalog.ts";
import type { Client } from "../connect.ts";

/** Modes of locks for which readers or writers of a table wait. */
export const BLOCKING = ["ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"];

export type Catalog = Map<string, CatalogObject>;

/** What one statement did to the tables and views that stood before the migration. */
export interface Effects {
  catalog: Catalog;
  locked: { name: string; mode: string }[];
  /** Whether it ran while the migration blocked readers or writers of such a table. */
  holds: boolean;
  /** The lock_timeout of the statement in milliseconds; 0 is none. */
  waitMs: number;
  /** Tables that were read from end to end. */
  scanned: string[];
  /** Tables of which all rows were written again. */
  rewritten: string[];
  /** Why PostgreSQL refuses the statement. */
  error?: string;
}

export interface Measured {
  waitMs: number;
  locks: string[];
  relations: Map<string, { name: string; file: string; scans: number }>;
}

/** In SQL: all schemas but PostgreSQL's. */
export const SCHEMAS = `array(
  select schema.nspname::text
  from pg_namespace as schema
  where schema.nspname !~ '^pg_'
    and schema.nspname <> 'information_schema'
)`;

export async function measure(client: Client): Promise<Measured> {
  const session = await client.query<{ waitMs: number; locks: string[] }>(
    `select
      (select setting::float8 from pg_settings where name = 'lock_timeout') as "waitMs",
      array(
        select held.relation || ' ' || held.mode
        from pg_locks as held
        where held.pid = pg_backend_pid()
          and held.locktype = 'relation'
          and held.granted
      ) as locks`,
  );
  const relations = await client.query<{ oid: string; name: string; file: string; scans: number }>(
    `select
      relation.oid::text as oid,
      format('%I.%I', schema.nspname, relation.relname) as name,
      pg_relation_filenode(relation.oid)::text as file,
      coalesce(counted.seq_scan, 0)::integer as scans
    from pg_class as relation
    join pg_namespace as schema on schema.oid = relation.relnamespace
    left join pg_stat_xact_user_tables as counted on counted.relid = relation.oid
    where schema.nspname = any (${SCHEMAS})
      and relation.relkind in ('r', 'p', 'v', 'm')`,
  );
  const { waitMs = 0, locks = [] } = session.rows[0] ?? {};
  return { waitMs, locks, relations: new Map(relations.rows.map((row) => [row.oid, row])) };
}

export function effectsOf(
  start: Measured,
  last: Measured,
  now: Measured,
  catalog: Catalog,
  error: string | undefined,
): Effects {
  const held = new Set(last.locks);
  const locked = now.locks
    .filter((lock) => !held.has(lock))
    .flatMap((lock) => {
      const [oid = "", mode = ""] = lock.split(" ");
      const name = start.relations.get(oid)?.name;
      return name === undefined ? [] : [{ name, mode }];
    })
    .sort((one, other) => one.name.localeCompare(other.name));
  const stood = [...start.relations].flatMap(([oid, { name }]) => {
    const [was, is] = [last.relations.get(oid), now.relations.get(oid)];
    return was === undefined || is === undefined ? [] : [{ name, was, is }];
  });
  return {
    catalog,
    locked,
    holds: last.locks.some((lock) => {
      const [oid = "", mode = ""] = lock.split(" ");
      return start.relations.has(oid) && BLOCKING.includes(mode);
    }),
    waitMs: last.waitMs,
    scanned: stood.filter(({ was, is }) => is.scans > was.scans).map(({ name }) => name),
    rewritten: stood.filter(({ was, is }) => is.file !== was.file).map(({ name }) => name),
    ...(error === undefined ? {} : { error }),
  };
}
