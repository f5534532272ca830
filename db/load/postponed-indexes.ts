// Takes the indexes of empty tables away for a first load, and builds them once its rows are in: all
// entries sorted at once take a part of the time that they take row by row.
import type { Client } from "../connect.ts";

type Table = "dex_offer" | "dex_trade";

const TABLES: readonly Table[] = ["dex_offer", "dex_trade"];

export interface PostponedIndexes {
  /** Builds those of a table. `onBuilt` hears which part of them stands, up to 1. */
  build: (table: Table, onBuilt: (part: number) => void) => Promise<void>;
}

/** For fewer rows, building the indexes takes longer than it saves. */
const WORTH_POSTPONING = 10_000;

/** For how long the tables are waited for, in milliseconds. */
const LOCK_MS = 1000;

/** The tables are in use, or the session may not become their owner. */
const KEPT_AS_THEY_ARE = new Set(["55P03", "42501"]);

const NOTHING_POSTPONED: PostponedIndexes = { build: () => Promise.resolve() };

interface Index {
  table: Table;
  name: string;
  definition: string;
  comment: string | null;
}

/**
 * Drops the indexes of trades and offers, until they are built in the same transaction, where this saves
 * time and holds nobody up: of so many rows, into empty tables, with nobody else connected to the
 * database. Whoever connects meanwhile waits for the tables until the transaction ends. Where it does not
 * save time, or the session may not own the tables, nothing is dropped, and there is nothing to build.
 */
export async function postponeIndexes(client: Client, rows: number): Promise<PostponedIndexes> {
  if (rows < WORTH_POSTPONING || !(await isAlone(client))) return NOTHING_POSTPONED;
  await client.query("savepoint before_indexes");
  const indexes = await asOwner(client, () => dropThem(client)).catch(keptAsTheyAre);
  if (indexes === undefined) {
    // It gives the tables free again, too.
    await client.query("rollback to savepoint before_indexes");
    return NOTHING_POSTPONED;
  }
  return {
    build: (table, onBuilt) =>
      asOwner(client, async () => {
        const those = indexes.filter((index) => index.table === table);
        for (const [at, { name, definition, comment }] of those.entries()) {
          await client.query(definition);
          if (comment !== null) {
            await client.query(`comment on index ${name} is ${client.escapeLiteral(comment)}`);
          }
          onBuilt((at + 1) / those.length);
        }
      }),
  };
}

function keptAsTheyAre(error: unknown): undefined {
  if (!KEPT_AS_THEY_ARE.has((error as { code?: string }).code ?? "")) throw error;
}

// Of what others do a session may see no more than that they are there.
async function isAlone(client: Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `select
    from pg_stat_activity
    where datname = current_database()
      and pid <> pg_backend_pid()
      and backend_type is distinct from 'autovacuum worker'`,
  );
  return rowCount === 0;
}

/** Undefined where the tables hold something, and nothing is dropped. */
async function dropThem(client: Client): Promise<Index[] | undefined> {
  await client.query(`set local lock_timeout = ${LOCK_MS}`);
  await client.query(`lock table ${TABLES.join(", ")} in access exclusive mode`);
  await client.query("set local lock_timeout to default");
  if (!(await areEmpty(client))) return undefined;
  const indexes = await plainIndexes(client);
  for (const { name } of indexes) await client.query(`drop index ${name}`);
  return indexes;
}

async function areEmpty(client: Client): Promise<boolean> {
  const exists = TABLES.map((table) => `exists (select from ${table})`);
  const { rows } = await client.query<{ empty: boolean }>(
    `select not (${exists.join(" or ")}) as empty`,
  );
  return rows[0]?.empty ?? false;
}

/** Those that keep nothing unique, which the load itself asks, and that their definition says all of. */
async function plainIndexes(client: Client): Promise<Index[]> {
  const { rows } = await client.query<Index>(
    `select
      index.indrelid::regclass::text as table,
      index.indexrelid::regclass::text as name,
      pg_get_indexdef(index.indexrelid) as definition,
      obj_description(index.indexrelid, 'pg_class') as comment
    from pg_index as index
    join pg_class as indexed on indexed.oid = index.indexrelid
    where index.indrelid = any ($1::regclass[])
      and not index.indisunique
      and not index.indisclustered
      and index.indisvalid
      and indexed.reltablespace = 0
    order by index.indexrelid`,
    [TABLES],
  );
  return rows;
}

/** Does it as the tables' owner, and is afterwards who the session was. */
async function asOwner<Result>(client: Client, act: () => Promise<Result>): Promise<Result> {
  const { rows } = await client.query<{ name: string }>("select current_user as name");
  await client.query("set local role dex_owner");
  const result = await act();
  await client.query(`set local role ${client.escapeIdentifier(rows[0]?.name ?? "none")}`);
  return result;
}
