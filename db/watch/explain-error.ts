// Says of an error of the current migration what is wrong, and in which line of which file.
import { connect, type Client } from "../connect.ts";
import { currentLines, type CurrentLine } from "./current-lines.ts";

/** What is known of an error that PostgreSQL, or graphile-migrate around it, has given. */
export interface MigrationError extends Error {
  code?: string;
  detail?: string;
  hint?: string;
  /** graphile-migrate's words, where PostgreSQL says at which letter it is. */
  _gmMessageOverride?: string;
  /** Whether it is of the migration, and not of what is around it. */
  _gmlogged?: boolean;
}

interface Place {
  /** Counted from 1, in the text that is run. */
  line: number;
  /** Counted from 1; absent where only the statement is known. */
  column?: number;
}

/** How many lines before the one in question are shown. */
const SHOWN_BEFORE = 3;

/** A few lines for whoever writes the migration. `url` is the database that it was refused by. */
export async function explainError(error: MigrationError, url: string): Promise<string> {
  const lines = await currentLines();
  const place = placeSaid(error) ?? (await placeTried(lines, url));
  const { message, code, detail, hint } = error;
  const said = [
    code === undefined ? message : `${message} (${code})`,
    ...(detail === undefined ? [] : [`Detail: ${detail}`]),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
  ];
  const at = place && lines[place.line - 1]?.from;
  if (place === undefined || at === undefined) return said.join("\n");
  const column = place.column === undefined ? "" : `:${place.column}`;
  return [`${at.file}:${at.line}${column}: ${said.join("\n")}`, ...excerpt(lines, place)].join(
    "\n",
  );
}

function placeSaid({ _gmMessageOverride: told = "" }: MigrationError): Place | undefined {
  const [, line, column] = /at line (\d+), column (\d+) of/.exec(told) ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column) };
}

/**
 * Where PostgreSQL does not say it, as of "already exists": the statement that fails when they are
 * run one by one, in a transaction that is rolled back.
 */
async function placeTried(lines: CurrentLine[], url: string): Promise<Place | undefined> {
  const text = Buffer.from(lines.map((line) => line.text).join("\n"));
  const starts = await statementStarts(text);
  const client = await connect(url, { role: "dex_owner" });
  try {
    await client.query("begin");
    for (const [n, start] of starts.entries()) {
      const statement = text.subarray(start, starts[n + 1]).toString();
      if (await fails(client, statement)) {
        const before = text.subarray(0, start).toString();
        return { line: before.split("\n").length };
      }
    }
    return undefined;
  } finally {
    await client.end();
  }
}

const fails = (client: Client, statement: string): Promise<boolean> =>
  client.query(statement).then(
    () => false,
    () => true,
  );

/** At which byte each statement begins; none where the text is no SQL. */
async function statementStarts(text: Buffer): Promise<number[]> {
  // Loaded where it is used: it is for those who develop, and is not there where they do not.
  const { parse } = await import("libpg-query");
  const { stmts = [] } = await parse(text.toString()).catch(() => ({ stmts: [] }));
  return stmts.map(({ stmt_location = 0 }) => stmt_location);
}

/** The line with those before it in its file, and a mark below the column. */
function excerpt(lines: CurrentLine[], { line, column }: Place): string[] {
  const file = lines[line - 1]?.from?.file;
  const shown = lines
    .slice(Math.max(0, line - 1 - SHOWN_BEFORE), line)
    .filter(({ from }) => from?.file === file)
    .map(({ text }) => `  ${text}`.trimEnd());
  return column === undefined ? shown : [...shown, `${" ".repeat(column + 1)}^`];
}
