// Sees what is asked of a database through a pool: records it, or has some of it fail.
import type { Pool } from "../db/connect.ts";

export interface Statement {
  text: string;
  /** Known once it is answered. */
  rows?: number | null;
}

/** What is sent through the pool from now on, oldest first; a test empties it as it needs. */
export function recordStatements(pool: Pool): Statement[] {
  const statements: Statement[] = [];
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const recording = (...args: unknown[]): unknown => {
      const [first] = args;
      const statement: Statement = {
        text: typeof first === "string" ? first : (first as { text: string }).text,
      };
      statements.push(statement);
      const answer = query(...args);
      if (answer instanceof Promise) {
        answer.then(
          (result: { rowCount: number | null }) => (statement.rows = result.rowCount),
          () => undefined,
        );
      }
      return answer;
    };
    client.query = recording as typeof client.query;
  });
  return statements;
}

/** Has every statement with this text in it fail from now on as PostgreSQL would have it fail. */
export function failStatements(pool: Pool, text: string, error: object): void {
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const failing = (...args: unknown[]): unknown => {
      const [first] = args;
      const asked = typeof first === "string" ? first : (first as { text: string }).text;
      if (!asked.includes(text)) return query(...args);
      return Promise.reject(Object.assign(new Error("a statement has failed"), error));
    };
    client.query = failing as typeof client.query;
  });
}
