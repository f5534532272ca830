// The types of connections to PostgreSQL.
import type pg from "pg";

/** A pool or a single connection. */
export type Database = Pick<pg.Pool, "query">;
export type Pool = pg.Pool;
export type PooledClient = pg.PoolClient;
export type Client = pg.Client;
/** Receives a connection of a pool. */
export type Connected = NonNullable<Parameters<Pool["connect"]>[0]>;
export type QueryClass = Pick<typeof pg, "Query" | "Result">;
