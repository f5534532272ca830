// Records the statements that a pool sends, or makes some of them fail.
import type { Pool } from "../db/connect.ts";

export interface Statement {
  text: string;
  /** Set once the statement has finished. */
  rows?: number | null;
}

/** Records the pool's statements from now on, oldest first; a test may empty the list. */
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

/** Makes every statement with this text fail from now on with PostgreSQL's error. */
export function failStatements(pool: Pool, text: string, error: object): void {
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const failing = (...args: unknown[]): unknown => {
      const [first] = args;
      const statement = typeof first === "string" ? first : (first as { text: string }).text;
      if (!statement.includes(text)) return query(...args);
      return Promise.reject(Object.assign(new Error("the statement failed"), error));
    };
    client.query = failing as typeof client.query;
  });
}
