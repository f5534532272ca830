// Reads the rows of the CSV files of a day.
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { createGunzip } from "node:zlib";
import { KINDS } from "./format.ts";

/** By column; null where it is empty. */
export type Row = Record<string, string | null>;

/** Longer than any row: without a bound a file without line ends would be held whole. */
const LONGEST_LINE = 100_000;

const VALUE = /("(?:[^"]|"")*"|[^,]*)(?=,|$)/y;

/** Names the file where it is no gzip, or has rows of other columns. `onBytes` gets the length of each part after decompression, and may throw. */
export async function* rowsOf(
  path: string,
  kind: string,
  onBytes: (bytes: number) => void = () => undefined,
): AsyncGenerator<Row> {
  const source = createReadStream(path);
  const unzipped = source.pipe(createGunzip());
  source.on("error", (error) => unzipped.destroy(error));
  try {
    yield* parsed(linesOf(unzipped, basename(path), onBytes), kind, basename(path));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith("Z_") !== true) throw error;
    throw new Error(`${basename(path)} cannot be decompressed: ${message}`, { cause: error });
  } finally {
    source.destroy();
  }
}

async function* parsed(
  lines: AsyncIterable<string>,
  kind: string,
  file: string,
): AsyncGenerator<Row> {
  const columns = KINDS.find(({ name }) => name === kind)?.columns ?? [];
  const header = columns.map(({ name }) => name).join(",");
  let count = 0;
  for await (const line of lines) {
    count += 1;
    if (count === 1) {
      if (line !== header) throw new Error(`${file} begins with other columns`);
      continue;
    }
    const values = valuesOf(line);
    if (values.length !== columns.length) {
      throw new Error(
        `${file} line ${count} has ${values.length} values, and its header ${columns.length}`,
      );
    }
    const row: Row = {};
    for (const [n, { name }] of columns.entries()) {
      row[name] = values[n] === "" ? null : (values[n] ?? null);
    }
    yield row;
  }
}

function valuesOf(line: string): string[] {
  if (!line.includes('"')) return line.split(",");
  const values: string[] = [];
  for (let at = 0; at <= line.length; at = VALUE.lastIndex + 1) {
    VALUE.lastIndex = at;
    const value = VALUE.exec(line)?.[1] ?? "";
    values.push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value);
  }
  return values;
}

/** No value has a line feed. Node's readline ends lines at other characters too, which the name of an order can have. */
async function* linesOf(
  source: AsyncIterable<Buffer>,
  file: string,
  onBytes: (bytes: number) => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of source) {
    onBytes(chunk.length);
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE)
      throw new Error(`${file}: a line has more than ${LONGEST_LINE} characters`);
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/** Rows in the order of blocks, taken block by block. */
export class RowsByBlock {
  readonly #rows: AsyncGenerator<Row>;
  #ahead: Row | undefined;

  constructor(rows: AsyncGenerator<Row>) {
    this.#rows = rows;
  }

  async next(): Promise<Row | undefined> {
    if (this.#ahead === undefined) {
      const found = await this.#rows.next();
      this.#ahead = found.done === true ? undefined : found.value;
    }
    return this.#ahead;
  }

  async take(): Promise<Row | undefined> {
    const row = await this.next();
    this.#ahead = undefined;
    return row;
  }

  async end(): Promise<void> {
    await this.#rows.return(undefined);
  }

  /** Throws where the block has more rows than this. */
  async of(block: number, most: number): Promise<Row[]> {
    const taken: Row[] = [];
    for (let row = await this.next(); row !== undefined; row = await this.next()) {
      if (row["block"] !== String(block)) break;
      if (taken.length === most) throw new Error(`block ${block} has more than ${most} rows`);
      taken.push(row);
      this.#ahead = undefined;
    }
    return taken;
  }
}
