// Makes a test database: a clone of the migrated template.
import { randomBytes } from "node:crypto";
import {
  connect,
  makePool,
  urlForDatabase,
  type Client,
  type ConnectionOptions,
  type Database,
  type Pool,
  type Role,
} from "../db/connect.ts";
import { TEMPLATE } from "./cluster-setup.ts";

export interface TestDatabase extends AsyncDisposable {
  /** The superuser's URL. */
  url: string;
  /** The service's role. */
  reader: Pool;
  /** The loader's role. */
  writer: Pool;
  /** The migrations' role. */
  owner: Pool;
  /** A session of a role, or of the superuser, and another pool; both end before the database is dropped. */
  connect(role?: Role): Promise<Client>;
  pool(options?: ConnectionOptions): Pool;
  /** Runs this before the database is dropped, the last one first. */
  beforeDrop(end: () => unknown): void;
  /** Deletes all data. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

/** The superuser's URL of the server's maintenance database. */
export function clusterUrl(): string {
  const url = process.env["TEST_CLUSTER_URL"];
  if (url === undefined) throw new Error("test/cluster-setup.ts has not run");
  return url;
}

/** A slow machine takes long to open a connection. */
const PATIENT = { waitMs: 60_000 };

/** A session, and a pool, that `await using` ends. */
export const openClient = (
  url: string,
  options?: ConnectionOptions,
): Promise<Client & AsyncDisposable> => connect(url, { ...PATIENT, ...options });

export function openPool(url: string, options?: ConnectionOptions): Pool & AsyncDisposable {
  const pool = makePool(url, { ...PATIENT, ...options });
  const query = pool.query.bind(pool) as (...given: unknown[]) => unknown;
  // A slow machine is no database that does not answer: a statement that waits for an answer has as long as it takes.
  const patient = (statement: unknown, ...others: unknown[]): unknown =>
    query(isTimed(statement) ? { ...statement, query_timeout: 0 } : statement, ...others);
  Object.assign(pool, { query: patient });
  const end = async (): Promise<void> => {
    if (!pool.ended) await pool.end();
  };
  return Object.assign(pool, { [Symbol.asyncDispose]: end });
}

const isTimed = (statement: unknown): statement is object =>
  typeof statement === "object" && statement !== null && "query_timeout" in statement;

/** Clones the migrated template, or with `migrated: false` an empty database. */
export async function makeDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const name = `dex_test_${randomBytes(6).toString("hex")}`;
  const admin = await openClient(clusterUrl());
  const template = migrated ? TEMPLATE : "template0";
  await admin.query(`create database ${name} template ${template} strategy file_copy`);
  await admin.end();

  const url = urlForDatabase(clusterUrl(), name);
  const ends = new AsyncDisposableStack();
  ends.defer(async () => {
    const client = await openClient(clusterUrl());
    await client.query(`drop database ${name} with (force)`);
    await client.end();
  });
  const beforeDrop = (end: () => unknown): void => {
    ends.defer(async () => {
      await end();
    });
  };
  const pool = (options?: ConnectionOptions): Pool =>
    ends.use(openPool(url, { poolSize: 5, ...options }));
  const owner = pool({ role: "dex_owner" });
  return {
    url,
    reader: pool({ role: "dex_reader" }),
    writer: pool({ role: "dex_writer" }),
    owner,
    connect: async (role) => ends.use(await openClient(url, role && { role })),
    pool,
    beforeDrop,
    empty: () => emptyExchange(owner),
    drop: () => ends.disposeAsync(),
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}

/** The tables that nothing derives; a pair refers to its tokens, so it is before them. */
const HISTORY =
  "{dex_trade,dex_offer,dex_block,dex_pair,dex_token,dex_pool,dex_pool_state,dex_private.active_until,dex_private.cancellation,dex_private.offer_ref,dex_private.write_state}";

/** Beyond this a table is made anew: to delete its rows, or to go past those deleted, would take longer. */
const SMALL_BYTES = 262_144;

/** Deletes all data, as dex_owner or a superuser. */
export async function emptyExchange(owner: Database): Promise<void> {
  // A service may still read for a client that is gone: it expects the writer's state, so this is one transaction,
  // and it may wait for this, and this for it.
  await untilNoDeadlock(() =>
    owner.query(`
      -- What a failed test left locked fails those after it, and does not hold them up.
      set local lock_timeout = '60s';
      do $$
      declare
        history constant regclass[] = '${HISTORY}';
        emptied regclass;
      begin
        -- New files for nine tables and their indexes take longer than all else that most tests do.
        if (select max(pg_relation_size(each)) from unnest(history) as each) > ${SMALL_BYTES} then
          execute format('truncate %s', array_to_string(history, ', '));
          return;
        end if;
        foreach emptied in array history loop
          execute format('delete from %s', emptied);
        end loop;
      end
      $$;
      -- It also sets the sequence of the pairs.
      select ingest.rebuild();
    `),
  );
}

async function untilNoDeadlock(act: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await act();
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "40P01") throw error;
    }
  }
}
