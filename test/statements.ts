// Records what is asked of a database through a pool, and how many rows came.
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
