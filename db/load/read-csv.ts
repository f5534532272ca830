// Reads CSV row by row, with the number of each row's first line.
import { createReadStream } from "node:fs";
import { LoadError } from "./load-error.ts";

export interface CsvRow {
  /** 1-based number of the row's first line. */
  line: number;
  values: string[];
}

/** Longer than any valid row. Without a limit an unclosed quote would buffer the whole file. */
const LONGEST_ROW = 100_000;

/** The rows of a file, as `csvRows`. */
export const readCsv = (path: string, name: string): AsyncGenerator<CsvRow[]> =>
  csvRows(bytesOf(path, name), name);

/**
 * Reads the rows of a CSV file (RFC 4180, UTF-8), header first, in batches. Accepts a byte order mark,
 * both line ends and empty lines. Error messages call the file `name`. Throws a LoadError if the file
 * is malformed. Not a library, because most rows have no quote: a parser that examines each character
 * takes twice the time.
 */
export async function* csvRows(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<CsvRow[]> {
  let lines = 0;
  let first = 1;
  let open = "";
  let rest = "";
  const refuse = (problem: string, line = first): never => {
    throw new LoadError(`${name} line ${line}: ${problem}`);
  };
  const rowOf = (end: string): CsvRow | undefined => {
    lines += 1;
    if (open === "") first = lines;
    const text = open + end;
    const row = text.endsWith("\r") ? text.slice(0, -1) : text;
    if (row === "") return undefined;
    const goesOn = open !== "" && !end.includes('"');
    const values = goesOn ? undefined : split(row, refuse);
    open = values === undefined ? `${text}\n` : "";
    if (open.length > LONGEST_ROW) refuse(NOT_CLOSED);
    return values && { line: first, values };
  };

  for await (const text of decode(bytes, name)) {
    const ends = (rest + text).split("\n");
    rest = ends.pop() ?? "";
    yield ends.flatMap((end) => rowOf(end) ?? []);
    if (rest.length > LONGEST_ROW) refuse(NOT_CLOSED, open === "" ? lines + 1 : first);
  }
  const last = rowOf(rest);
  if (last !== undefined) yield [last];
  if (open !== "") refuse(NOT_CLOSED);
}

const NOT_CLOSED = `the row has an unclosed quote, or more than ${LONGEST_ROW} characters`;

/** A quoted value, an unclosed quote, or an unquoted value. */
const VALUE = /"([^"]*(?:""[^"]*)*)(?:"(?=,|$)|($))|([^",]*)(?=,|$)/y;

/** The values of a row, or undefined if a value continues on the next line. */
function split(row: string, refuse: (problem: string) => never): string[] | undefined {
  if (!row.includes('"')) return row.split(",");
  const values: string[] = [];
  for (let at = 0; at <= row.length; at = VALUE.lastIndex + 1) {
    VALUE.lastIndex = at;
    const [found, quoted, open, plain] = VALUE.exec(row) ?? [];
    if (found === undefined) {
      refuse(
        "a quote is inside a value; put the whole value in quotes, and write a quote inside it " +
          'twice, ""',
      );
    }
    if (open !== undefined) return undefined;
    values.push(plain ?? quoted?.replaceAll('""', '"') ?? "");
  }
  return values;
}

async function* bytesOf(path: string, name: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(path)) yield chunk as Buffer;
  } catch (error) {
    throw new LoadError(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

async function* decode(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let read = 0;
  const textOf = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (error) {
      const problem = `is not valid UTF-8: it has invalid bytes after byte ${read}`;
      throw new LoadError(`${name} ${problem}`, { cause: error });
    }
  };
  for await (const chunk of bytes) {
    yield textOf(chunk);
    read += chunk.length;
  }
  yield textOf();
}
