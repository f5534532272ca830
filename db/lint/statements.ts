// Splits a migration into statements with PostgreSQL's own parser, each with the comments above it.
import { loadModule, parseSync, scanSync, type Node } from "libpg-query";

export interface Statement {
  node: Node;
  /** With graphile-migrate's placeholders, and without the semicolon. */
  text: string;
  /** Byte offsets. */
  start: number;
  end: number;
  /** 1-based line of its start. */
  line: number;
  /** The comments between the end of the previous statement and its own end. */
  comments: { text: string; line: number }[];
}

/** The text is not valid SQL. */
export class SqlSyntaxError extends Error {
  override readonly name = "SqlSyntaxError";
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

/** graphile-migrate's placeholders. */
export const PLACEHOLDER = /:(DATABASE_(?:NAME|OWNER))\b/g;

/** The statements in text order. Throws a SqlSyntaxError. */
export async function readStatements(text: string): Promise<Statement[]> {
  await loadModule();
  // Without the colon a placeholder is an identifier, and with a space it has the same length.
  const sql = text.replace(PLACEHOLDER, " $1");
  const bytes = Buffer.from(text);
  const lineOf = (offset: number): number =>
    bytes.subarray(0, offset).toString().split("\n").length;
  try {
    const comments = scanSync(sql)
      .tokens.filter(({ tokenName }) => /^(SQL|C)_COMMENT$/.test(tokenName))
      .map((token) => ({ start: token.start, text: token.text, line: lineOf(token.start) }));
    let before = 0;
    return (parseSync(sql).stmts ?? []).flatMap(({ stmt, stmt_location, stmt_len }) => {
      const start = stmt_location ?? 0;
      const end = stmt_len === undefined ? bytes.length : start + stmt_len;
      const above = comments.filter((comment) => comment.start >= before && comment.start < end);
      before = end;
      if (stmt === undefined) return [];
      const own = bytes.subarray(start, end).toString();
      return [{ node: stmt, text: own, start, end, line: lineOf(start), comments: above }];
    });
  } catch (error) {
    const details = (error as { sqlDetails?: { cursorPosition: number } }).sqlDetails;
    throw new SqlSyntaxError(
      (error as Error).message,
      sql.slice(0, details?.cursorPosition ?? 0).split("\n").length,
    );
  }
}
