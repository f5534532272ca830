// Reads the rows of the CSV files of a day, and its blocks, each with the rows of its facts; bounds what is held of them.
import { createReadStream } from "node:fs";
import { basename, join } from "node:path";
import { createGunzip } from "node:zlib";
import { csvRows } from "../load/read-csv.ts";
import { KINDS } from "./format.ts";
import type { ListedFile } from "./manifest.ts";
import { FACT_KINDS, type FactKind, type PlannedDay } from "./planned-days.ts";

/** By column; null where it is empty. */
export type Row = Record<string, string | null>;

/** Names the file where it is no gzip, or has rows of other columns. `onBytes` gets the length of each part after decompression, and may throw. */
export async function* rowsOf(
  path: string,
  kind: string,
  onBytes: (bytes: number) => void = () => undefined,
): AsyncGenerator<Row> {
  const file = basename(path);
  const columns = (KINDS.find(({ name }) => name === kind)?.columns ?? []).map(({ name }) => name);
  let isHeader = true;
  for await (const lines of csvRows(unzipped(path, onBytes), file)) {
    for (const { line, values } of lines) {
      if (isHeader && values.join(",") !== columns.join(",")) {
        throw new Error(`${file} begins with other columns`);
      }
      if (values.length !== columns.length) {
        throw new Error(
          `${file} line ${line} has ${values.length} values, and its header ${columns.length}`,
        );
      }
      if (!isHeader) yield rowOf(columns, values);
      isHeader = false;
    }
  }
}

function rowOf(columns: readonly string[], values: readonly string[]): Row {
  const row: Row = {};
  for (const [n, name] of columns.entries())
    row[name] = values[n] === "" ? null : (values[n] ?? null);
  return row;
}

async function* unzipped(path: string, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  const source = createReadStream(path);
  const bytes = source.pipe(createGunzip());
  source.on("error", (error) => bytes.destroy(error));
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      onBytes(chunk.length);
      yield chunk;
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith("Z_") !== true) throw error;
    throw new Error(`${basename(path)} cannot be decompressed: ${message}`, { cause: error });
  } finally {
    source.destroy();
  }
}

/** Rows in the order of blocks, taken block by block. */
class RowsByBlock {
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

/** No chain makes a block of so many rows, or of so many bytes of them. */
const MAX_BLOCK_ROWS = 200_000;
const MAX_BLOCK_BYTES = 64 * 1024 * 1024;

export type Facts = Record<Exclude<FactKind, "blocks">, Row[]>;

export interface DayBlock {
  number: number;
  row: Row;
  facts: Facts;
  /** How much of all files was read up to here, without compression. */
  bytes: number;
}

/** Throws for files that are not of such blocks, have other rows than the manifest says, or more bytes than `maxBytes`. */
export async function* blocksOfDay(
  dir: string,
  { files, firstBlock, lastBlock }: PlannedDay,
  maxBytes = Infinity,
): AsyncGenerator<DayBlock> {
  let [bytes, beforeBlock] = [0, 0];
  let last: number | undefined;
  const onBytes = (more: number): void => {
    bytes += more;
    if (bytes > maxBytes) {
      throw new Error(
        `its files have more than ${maxBytes} bytes without compression (--max-day-bytes)`,
      );
    }
    if (bytes - beforeBlock > MAX_BLOCK_BYTES) {
      throw new Error(`block ${last ?? firstBlock} has rows of more than ${MAX_BLOCK_BYTES} bytes`);
    }
  };
  const rows = Object.fromEntries(
    FACT_KINDS.map((kind) => [
      kind,
      new RowsByBlock(counted(rowsOf(join(dir, files[kind].name), kind, onBytes), files[kind])),
    ]),
  ) as Record<FactKind, RowsByBlock>;
  try {
    for (let row = await rows.blocks.take(); row !== undefined; row = await rows.blocks.take()) {
      const given = row["number"] ?? "";
      const number = Number(given);
      if (String(number) !== given) {
        throw new Error(
          `${files.blocks.name} has the block ${given}, which is no number in digits`,
        );
      }
      if (last === undefined && number !== firstBlock) {
        throw new Error(`its first block is ${number}, and not ${firstBlock}`);
      }
      if (!(number > (last ?? -1)) || number > lastBlock) {
        throw new Error(`block ${number} is not after block ${last ?? ""} and up to ${lastBlock}`);
      }
      last = number;
      beforeBlock = bytes;
      const facts = await factsOf(number, row["time"] ?? "", rows);
      yield { number, row, facts, bytes };
    }
    if (last !== lastBlock) {
      throw new Error(`its last block is ${last ?? "none"}, and not ${lastBlock}`);
    }
    for (const kind of FACT_KINDS) {
      const left = await rows[kind].next();
      if (left === undefined) continue;
      throw new Error(
        `${files[kind].name} has rows of block ${left["block"] ?? ""}, which is not in ${files.blocks.name}`,
      );
    }
  } finally {
    for (const kind of FACT_KINDS) await rows[kind].end();
  }
}

async function* counted(
  rows: AsyncIterable<Row>,
  { name, rows: listed }: ListedFile,
): AsyncGenerator<Row> {
  let count = 0;
  for await (const row of rows) {
    count += 1;
    if (count > listed) break;
    yield row;
  }
  if (count === listed) return;
  throw new Error(
    `${name} has ${count > listed ? "more" : "less"} rows than the ${listed} that the manifest says`,
  );
}

async function factsOf(
  number: number,
  time: string,
  rows: Record<FactKind, RowsByBlock>,
): Promise<Facts> {
  const of = async (kind: keyof Facts): Promise<Row[]> => {
    const found = await rows[kind].of(number, MAX_BLOCK_ROWS);
    const other = found.find((row) => row["time"] !== time);
    if (other === undefined) return found;
    throw new Error(
      `block ${number} is at ${time}, and a row of its ${kind} at ${other["time"] ?? ""}`,
    );
  };
  return {
    ...{ offers: await of("offers"), trades: await of("trades") },
    ...{ ends: await of("ends"), pools: await of("pools") },
  };
}
