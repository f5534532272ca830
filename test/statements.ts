// Records the statements that a pool sends, or makes some of them fail.
import type { Pool } from "../db/connect.ts";

export interface Statement {
  text: string;
  values?: unknown[] | undefined;
  /** Set once the statement has finished. */
  rows?: number | null;
}

/** From now on `intercept` gets the text of each of the pool's statements, what sends it, and its values. */
export function interceptStatements(
  pool: Pool,
  intercept: (text: string, send: () => unknown, values?: unknown[]) => unknown,
): void {
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const intercepted = (...args: unknown[]): unknown => {
      const [first] = args;
      const { text, values } = typeof first === "string" ? { text: first } : (first as Statement);
      return intercept(text, () => query(...args), values);
    };
    client.query = intercepted as typeof client.query;
  });
}

/** Records the pool's statements from now on, oldest first; a test may empty the list. */
export function recordStatements(pool: Pool, statements: Statement[] = []): Statement[] {
  interceptStatements(pool, (text, send, values) => {
    const statement: Statement = { text, values };
    statements.push(statement);
    const answer = send();
    if (answer instanceof Promise) {
      answer.then(
        (result: { rowCount: number | null }) => (statement.rows = result.rowCount),
        () => undefined,
      );
    }
    return answer;
  });
  return statements;
}

/** Makes every statement with this text fail from now on with PostgreSQL's error. */
export function failStatements(pool: Pool, failing: string, error: object): void {
  interceptStatements(pool, (text, send) =>
    text.includes(failing)
      ? Promise.reject(Object.assign(new Error("the statement failed"), error))
      : send(),
  );
}
