// How the connections of a pool run statements: with less work than by `pg` alone, and never one that is stale.
import { LRUCache } from "lru-cache";
import type { Pool, PooledClient, QueryClass } from "./connection-types.ts";

/** What `pg` makes of the columns, in its result. */
interface Described {
  fields: readonly unknown[];
  _parsers: unknown;
  _prebuiltEmptyResultObject: unknown;
}

/** The members of pg's query that its own client uses. */
interface QueryOfPg {
  name: string | undefined;
  query_timeout: number | undefined;
  _rowMode: string | undefined;
  _result: Described;
  _results: Described;
  hasBeenParsed(connection: Connection): unknown;
  prepare(connection: Connection): void;
  handleRowDescription(message: { fields: readonly unknown[] }): void;
  _accumulateRows: unknown;
}

interface Connection {
  describe: (message: unknown) => void;
}

/** A statement by its name, and nothing that `pg` treats otherwise. */
interface Named {
  name: string;
  text: string;
  values?: unknown;
  rowMode?: string;
  query_timeout?: number;
}

const OF_NAMED = new Set(["name", "text", "values", "rowMode", "query_timeout"]);

function isNamed(config: unknown): config is Named {
  if (typeof config !== "object" || config === null) return false;
  for (const key in config) if (!OF_NAMED.has(key)) return false;
  const { name, text } = config as Partial<Named>;
  return typeof name === "string" && name !== "" && typeof text === "string";
}

/** Of one connection's statements: some 300 kB. Others are asked for again. */
const KEPT_COLUMNS = 2000;

interface Known {
  columns: LRUCache<string, Described>;
  /** The connection, but it does not ask. */
  silent: Connection;
}

const ofConnections = new WeakMap<Connection, Known>();

function knownOf(connection: Connection): Known {
  let known = ofConnections.get(connection);
  if (known === undefined) {
    const columns = new LRUCache<string, Described>({
      maxSize: KEPT_COLUMNS,
      sizeCalculation: ({ fields }) => Math.max(1, fields.length),
    });
    const describe = (): void => undefined;
    known = {
      columns,
      silent: Object.assign(Object.create(connection) as Connection, { describe }),
    };
    ofConnections.set(connection, known);
  }
  return known;
}

type Callback = (error: Error | null, result: unknown) => void;

/**
 * Asks for the columns of a prepared statement once per connection, where `pg` asks with each run: PostgreSQL fails a run
 * whose columns would differ. Takes `pg`'s own classes, which connect.ts imports.
 */
export function describedOnce({ Query, Result }: QueryClass): (client: PooledClient) => void {
  const Base = Query as unknown as new (text: string, values: unknown, done: Callback) => QueryOfPg;

  class DescribedQuery extends Base {
    #columns: Known["columns"] | undefined;

    // Not with the whole object: `pg` copies it property by property.
    constructor({ name, text, values, rowMode, query_timeout }: Named, done: Callback) {
      super(text, values, done);
      this.name = name;
      this.query_timeout = query_timeout;
      if (rowMode === undefined) return;
      this._rowMode = rowMode;
      this._result = this._results = new Result(
        rowMode,
        undefined as never,
      ) as unknown as Described;
    }

    override prepare(connection: Connection): void {
      const { columns, silent } = knownOf(connection);
      const known = this.hasBeenParsed(connection) ? columns.get(this.name ?? "") : undefined;
      if (known === undefined) {
        // Until the answer nothing is known: the name may have been given to another statement.
        columns.delete(this.name ?? "");
        this.#columns = columns;
        super.prepare(connection);
        return;
      }
      Object.assign(this._result, known);
      this._accumulateRows = true;
      super.prepare(silent);
    }

    override handleRowDescription(message: { fields: readonly unknown[] }): void {
      super.handleRowDescription(message);
      const { fields, _parsers, _prebuiltEmptyResultObject } = this._result;
      this.#columns?.set(this.name ?? "", { fields, _parsers, _prebuiltEmptyResultObject });
    }
  }

  return (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const described = (config: unknown, values?: unknown, done?: unknown): unknown =>
      isNamed(config) && values === undefined && typeof done === "function"
        ? query(new DescribedQuery(config, done as Callback))
        : query(config, values, done);
    client.query = described as PooledClient["query"];
  };
}

/** Errors by which PostgreSQL rejects a stale prepared statement. */
const STALE_STATEMENT = new Set([
  // cached plan must not change result type
  "0A000",
  // prepared statement does not exist
  "26000",
]);

/**
 * Drops connections with a stale prepared statement. After a schema change PostgreSQL rejects that
 * statement for the rest of the connection's life.
 */
export function forgetStaleConnections(pool: Pool): void {
  const stale = new WeakSet<PooledClient>();
  pool.on("connect", (client) => {
    const { connection } = client as unknown as { connection: NodeJS.EventEmitter };
    connection.on("errorMessage", ({ code = "" }: { code?: string }) => {
      if (STALE_STATEMENT.has(code)) stale.add(client);
    });
  });
  pool.on("release", (_error, client) => {
    // The pool drops a connection that is ending on release.
    if (stale.has(client)) void client.end();
  });
}

/**
 * Replaces `pg`'s promises by promises around callbacks. `pg` sets a query's callback after creating the
 * query, and V8 then keeps each result with its rows until the next full garbage collection: copying them
 * took a tenth of the time of a GraphQL page.
 */
export function promiseByCallback(client: PooledClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const promised = (config: unknown, values?: unknown, callback?: unknown): unknown => {
    const hasCallback = typeof values === "function" || typeof callback === "function";
    // A query object with its own `submit`, such as COPY, has no callback.
    if (hasCallback || typeof (config as { submit?: unknown } | null)?.submit === "function") {
      return query(config, values, callback);
    }
    return new Promise((resolve, reject) => {
      query(config, values, (error: Error | null, result: unknown) => {
        if (error == null) resolve(result);
        else reject(error);
      });
    }).catch((error: unknown) => {
      // Like `pg`: the stack starts at the caller and not at the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    });
  };
  // One function implements both overloads, promise and callback.
  client.query = promised as PooledClient["query"];
}

/** Prepared statements of a connection that GraphQL has used last. */
const KEPT_STATEMENTS = 100;

interface Prepared {
  connection: {
    parsedStatements: Partial<Record<string, string>>;
    /** What @dataplan/pg asks before each statement, where it finds one. */
    _graphilePreparedStatementCache?: Pick<Map<string, true>, "get">;
  };
}

/**
 * Stands in for the cache of @dataplan/pg, which releases a statement as soon as another takes its place: in the middle of
 * a transaction, whose next statement may be that one, and is sent before the driver knows that it is gone. This one
 * waits until the connection is returned. The driver has no interface for it: https://github.com/brianc/node-postgres/issues/1889.
 */
export function keepPreparedStatements(pool: Pool): void {
  const usedBy = new WeakMap<PooledClient, Set<string>>();
  pool.on("connect", (client) => {
    // In the order of their last use.
    const used = new Set<string>();
    usedBy.set(client, used);
    (client as unknown as Prepared).connection._graphilePreparedStatementCache = {
      get(name) {
        used.delete(name);
        used.add(name);
        return true;
      },
    };
  });
  pool.on("release", (_error, client) => {
    const used = usedBy.get(client);
    if (used === undefined || used.size <= KEPT_STATEMENTS) return;
    const { connection } = client as unknown as Prepared;
    const oldest = [...used].slice(0, used.size - KEPT_STATEMENTS);
    const prepared = oldest.filter((name) => connection.parsedStatements[name] !== undefined);
    for (const name of oldest) {
      used.delete(name);
      Reflect.deleteProperty(connection.parsedStatements, name);
    }
    if (prepared.length === 0) return;
    // Where it fails, which statements are left is unknown.
    client
      .query(prepared.map((name) => `deallocate ${client.escapeIdentifier(name)}`).join("; "))
      .catch(() => client.end());
  });
}

/** Removes the names of statements: the next transaction may run in another session. */
export function withoutNames(client: Pick<PooledClient, "query">): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const unnamed = (config: unknown, ...rest: unknown[]): unknown => {
    const isNamed = typeof config === "object" && config !== null && "name" in config;
    return query(isNamed ? { ...config, name: undefined } : config, ...rest);
  };
  client.query = unnamed as PooledClient["query"];
}
