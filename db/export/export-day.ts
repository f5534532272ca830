// Writes the files of a day, of one snapshot of the database.
import type { Client } from "../connect.ts";
import { CsvFile, csvLine } from "./csv-file.ts";
import { readDay } from "./days.ts";
import { KINDS, REGISTRIES, type DayRange, type Kind, type Registry } from "./format.ts";
import type { ListedDay, ListedFile } from "./manifest.ts";
import { NewFile, syncFolder, writeWhole } from "./new-file.ts";
import { ParquetFile } from "./parquet-file.ts";
import type { RowSink, Value } from "./row-sink.ts";
import { createHash } from "node:crypto";

/** Rows that are read at once. */
const BATCH = 2000;

const FORMATS: Record<string, (kind: Kind) => RowSink> = {
  "csv.gz": (kind) => new CsvFile(kind),
  parquet: (kind) => new ParquetFile(kind),
};

export interface DayOptions {
  client: Client;
  dir: string;
  day: string;
  signal?: AbortSignal | undefined;
}

/** The transaction is over afterwards, whatever comes. */
export async function exportDay(options: DayOptions): Promise<ListedDay> {
  const { client } = options;
  await client.query("begin transaction isolation level repeatable read read only");
  try {
    // A site may set them for short statements.
    await client.query("set local statement_timeout = 0");
    await client.query("set local idle_in_transaction_session_timeout = 0");
    return await writeDay(options);
  } finally {
    // A lost connection has ended it.
    await client.query("rollback").catch(() => undefined);
  }
}

/** In a transaction that the caller has begun. */
export async function writeDay({ client, dir, day, signal }: DayOptions): Promise<ListedDay> {
  const { digest, hasBlocks, ...range } = await readDay(client, day);
  if (!hasBlocks) return { day, firstBlock: null, lastBlock: null, digest, files: [] };
  const files: ListedFile[] = [];
  for (const kind of KINDS) {
    files.push(...(await exportKind({ client, dir, day, signal, kind, range })));
  }
  for (const registry of REGISTRIES) files.push(await exportRegistry(client, dir, registry));
  await syncFolder(dir);
  return { day, firstBlock: range.first, lastBlock: range.last, digest, files };
}

interface KindOptions extends DayOptions {
  kind: Kind;
  range: DayRange;
}

async function exportKind(options: KindOptions): Promise<ListedFile[]> {
  const { dir, day, kind } = options;
  const outputs: { file: NewFile; sink: RowSink }[] = [];
  try {
    for (const [extension, sinkOf] of Object.entries(FORMATS)) {
      const file = await NewFile.create(dir, `${kind.name}-${day}.${extension}`);
      outputs.push({ file, sink: sinkOf(kind) });
    }
    let rows = 0;
    for await (const batch of rowsOf(options)) {
      options.signal?.throwIfAborted();
      rows += batch.length;
      for (const { file, sink } of outputs) await writeAll(file, sink.add(batch));
    }
    const files: ListedFile[] = [];
    for (const { file, sink } of outputs) {
      await writeAll(file, sink.end());
      const { name, ...rest } = await file.finish();
      files.push({ name, kind: kind.name, rows, ...rest });
    }
    return files;
  } finally {
    for (const { file } of outputs) await file.abandon();
  }
}

async function writeAll(file: NewFile, pieces: Uint8Array[]): Promise<void> {
  for (const piece of pieces) await file.write(piece);
}

async function* rowsOf({ client, kind, range }: KindOptions): AsyncGenerator<Value[][]> {
  await client.query(
    `declare rows_of_day no scroll cursor for ${kind.text}`,
    kind.values(range) as unknown[],
  );
  for (;;) {
    const { rows } = await client.query<Value[]>({
      text: `fetch forward ${BATCH} from rows_of_day`,
      rowMode: "array",
    });
    if (rows.length > 0) yield rows;
    if (rows.length < BATCH) break;
  }
  await client.query("close rows_of_day");
}

/** Named by its bytes: most days share it. */
async function exportRegistry(
  client: Client,
  dir: string,
  { name: kind, columns, text: select }: Registry,
): Promise<ListedFile> {
  const { rows } = await client.query<Value[]>({ text: select, rowMode: "array" });
  const text = [columns, ...rows].map(csvLine).join("");
  const name = `${kind}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}.csv`;
  const written = await writeWhole(dir, name, text);
  return { kind, rows: rows.length, ...written };
}
