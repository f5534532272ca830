// Reads the blocks of a day from its CSV files, each with the rows of its facts, and bounds what is held of them.
import { join } from "node:path";
import { RowsByBlock, rowsOf, type Row } from "./exported-rows.ts";
import type { ListedFile } from "./manifest.ts";
import { FACT_KINDS, type FactKind, type PlannedDay } from "./planned-days.ts";

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
