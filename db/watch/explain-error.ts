// Formats an error of the current migration, with its file and line.
import { connect, type Client } from "../connect.ts";
import { currentLines, type CurrentLine } from "./current-lines.ts";

/** An error of PostgreSQL, with the properties that graphile-migrate adds. */
export interface MigrationError extends Error {
  code?: string;
  detail?: string;
  hint?: string;
  /** graphile-migrate's message, if PostgreSQL gives a position. */
  _gmMessageOverride?: string;
  /** Whether the migration's SQL caused the error. */
  _gmlogged?: boolean;
}

interface Place {
  /** 1-based line of the text that graphile-migrate runs. */
  line: number;
  /** 1-based column; undefined if only the statement is known. */
  column?: number;
}

/** Number of lines shown before the line of the error. */
const SHOWN_BEFORE = 3;

/** The error as a few lines for the author of the migration. `url` is the database that raised it. */
export async function explainError(error: MigrationError, url: string): Promise<string> {
  const lines = await currentLines();
  const place = reportedPlace(error) ?? (await findPlace(lines, url));
  const { message, code, detail, hint } = error;
  const text = [
    code === undefined ? message : `${message} (${code})`,
    ...(detail === undefined ? [] : [`Detail: ${detail}`]),
    ...(hint === undefined ? [] : [`Hint: ${hint}`]),
  ];
  const at = place && lines[place.line - 1]?.from;
  if (place === undefined || at === undefined) return text.join("\n");
  const column = place.column === undefined ? "" : `:${place.column}`;
  return [`${at.file}:${at.line}${column}: ${text.join("\n")}`, ...excerpt(lines, place)].join(
    "\n",
  );
}

function reportedPlace({ _gmMessageOverride: message = "" }: MigrationError): Place | undefined {
  const [, line, column] = /at line (\d+), column (\d+) of/.exec(message) ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column) };
}

/**
 * For errors without a position, such as "already exists": runs the statements one by one, in a
 * transaction that is rolled back, to find the one that fails.
 */
async function findPlace(lines: CurrentLine[], url: string): Promise<Place | undefined> {
  const text = Buffer.from(lines.map((line) => line.text).join("\n"));
  const starts = await statementStarts(text);
  await using client = await connect(url, { role: "dex_owner" });
  await client.query("begin");
  for (const [n, start] of starts.entries()) {
    const statement = text.subarray(start, starts[n + 1]).toString();
    if (await fails(client, statement)) {
      const before = text.subarray(0, start).toString();
      return { line: before.split("\n").length };
    }
  }
  return undefined;
}

const fails = (client: Client, statement: string): Promise<boolean> =>
  client.query(statement).then(
    () => false,
    () => true,
  );

/** The byte offset of each statement; empty if the text is not valid SQL. */
async function statementStarts(text: Buffer): Promise<number[]> {
  // Imported here because it is a development dependency, missing in production.
  const { parse } = await import("libpg-query");
  const { stmts = [] } = await parse(text.toString()).catch(() => ({ stmts: [] }));
  return stmts.map(({ stmt_location = 0 }) => stmt_location);
}

/** The line with the preceding lines of its file, and a mark below the column. */
function excerpt(lines: CurrentLine[], { line, column }: Place): string[] {
  const file = lines[line - 1]?.from?.file;
  const shown = lines
    .slice(Math.max(0, line - 1 - SHOWN_BEFORE), line)
    .filter(({ from }) => from?.file === file)
    .map(({ text }) => `  ${text}`.trimEnd());
  return column === undefined ? shown : [...shown, `${" ".repeat(column + 1)}^`];
}
