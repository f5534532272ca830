// Reads a CSV file row by row, with the line that each begins on.
import { createReadStream } from "node:fs";
import { LoadError } from "./load-error.ts";

export interface CsvRow {
  /** 1-based line of the file that the row begins on. */
  line: number;
  values: string[];
}

/** No row that is meant is as long; without a bound, an unclosed quote would take in the file. */
const LONGEST_ROW = 100_000;

/**
 * The rows of a CSV file (RFC 4180, UTF-8), its header first, as many at a time as are read. A byte
 * order mark, either line end and empty lines are taken as they come. `name` is how errors call the
 * file. Throws a LoadError where it is no such file. By hand, since most rows hold no quote: a parser
 * that looks at each character takes twice the time.
 */
export async function* readCsv(path: string, name: string): AsyncGenerator<CsvRow[]> {
  let lines = 0;
  let first = 1;
  let open = "";
  let rest = "";
  const refuse = (problem: string): never => {
    throw new LoadError(`${name} line ${first}: ${problem}`);
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

  for await (const text of decode(createReadStream(path), name)) {
    const ends = (rest + text).split("\n");
    rest = ends.pop() ?? "";
    yield ends.flatMap((end) => rowOf(end) ?? []);
    if (rest.length > LONGEST_ROW) refuse(NOT_CLOSED);
  }
  const last = rowOf(rest);
  if (last !== undefined) yield [last];
  if (open !== "") refuse(NOT_CLOSED);
}

const NOT_CLOSED = `the row has a quote that is not closed, or more than ${LONGEST_ROW} characters`;

/** A value in quotes, a quote that is not closed, or a value without quotes. */
const VALUE = /"([^"]*(?:""[^"]*)*)(?:"(?=,|$)|($))|([^",]*)(?=,|$)/y;

/** The values of a row, or undefined where one goes on in the next line. */
function split(row: string, refuse: (problem: string) => never): string[] | undefined {
  if (!row.includes('"')) return row.split(",");
  const values: string[] = [];
  for (let at = 0; at <= row.length; at = VALUE.lastIndex + 1) {
    VALUE.lastIndex = at;
    const [found, quoted, open, plain] = VALUE.exec(row) ?? [];
    if (found === undefined) {
      refuse(
        "a quote stands within a value: quotes enclose a whole value, and within one a quote is " +
          'written twice, ""',
      );
    }
    if (open !== undefined) return undefined;
    values.push(plain ?? quoted?.replaceAll('""', '"') ?? "");
  }
  return values;
}

async function* decode(bytes: AsyncIterable<Buffer>, name: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let read = 0;
  try {
    for await (const chunk of bytes) {
      yield decoder.decode(chunk, { stream: true });
      read += chunk.length;
    }
    yield decoder.decode();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_ENCODING_INVALID_ENCODED_DATA") throw error;
    throw new LoadError(`${name} is not in UTF-8: it has other bytes after byte ${read}`, {
      cause: error,
    });
  }
}
