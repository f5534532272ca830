// Asks for the columns of a prepared statement once per connection, where `pg` asks with each run. PostgreSQL fails a run
// whose columns would differ from those, with 0A000: bounded-pool.ts then drops the connection.
import { LRUCache } from "lru-cache";
import type { PooledClient, QueryClass } from "./connect.ts";

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

/** `pg`'s own classes, which connect.ts imports. */
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
