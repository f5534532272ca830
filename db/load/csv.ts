// Reads a CSV file row by row, with the line that each begins on.
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { parse, type CsvError, type Info } from "csv-parse";
import { LoadError } from "./load-error.ts";

export interface CsvRow {
  /** 1-based line of the file that the row begins on. */
  line: number;
  values: string[];
}

/** No row that is meant is as long; without a bound, an unclosed quote would take in the file. */
const LONGEST_ROW = 100_000;

/**
 * The rows of a CSV file (RFC 4180, UTF-8), its header first. A byte order mark, either line end
 * and empty lines are taken as they come. `name` is how errors call the file. Throws a LoadError
 * where it is no such file.
 */
export async function* readCsv(path: string, name: string): AsyncGenerator<CsvRow> {
  const parser = parse({
    info: true,
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: LONGEST_ROW,
  });
  // What fails here destroys the parser with the same error, and the loop below throws it.
  pipeline(
    createReadStream(path),
    (bytes: AsyncIterable<Buffer>) => decode(bytes, name),
    parser,
  ).catch(() => undefined);

  let linesCountedTwice = 0;
  let lastLine = 0;
  try {
    for await (const parsed of parser) {
      const { record, info } = parsed as { record: string[]; info: Info };
      let breaks = 0;
      for (const value of record) {
        if (!value.includes("\n")) continue;
        breaks += value.split("\n").length - 1;
        // The parser counts \r\n within quotes as two line ends.
        linesCountedTwice += value.split("\r\n").length - 1;
      }
      lastLine = info.lines - linesCountedTwice;
      yield { line: lastLine - breaks, values: record };
    }
  } catch (error) {
    throw explained(error, name, lastLine, linesCountedTwice);
  }
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

function explained(
  error: unknown,
  name: string,
  lastLine: number,
  linesCountedTwice: number,
): unknown {
  const { code, lines } = error as CsvError & { lines?: number };
  switch (code as string | undefined) {
    case "CSV_INVALID_CLOSING_QUOTE":
    case "INVALID_OPENING_QUOTE":
      return new LoadError(
        `${name} line ${(lines ?? 0) - linesCountedTwice}: a quote stands within a value: quotes ` +
          'enclose a whole value, and within one a quote is written twice, ""',
        { cause: error },
      );
    case "CSV_QUOTE_NOT_CLOSED":
    case "CSV_MAX_RECORD_SIZE":
      return new LoadError(
        `${name}: the row after line ${lastLine} has a quote that is not closed, or more than ` +
          `${LONGEST_ROW} bytes`,
        { cause: error },
      );
    default:
      return error;
  }
}
