// Exports the final days of a database into a folder, one after the other: the files of a day, of one snapshot.
import { createHash } from "node:crypto";
import { connect, type Client } from "../connect.ts";
import { DataDirInUse, takeLock } from "../embedded/lock.ts";
import { makeFolder } from "../make-folder.ts";
import { CsvFile, csvLine } from "./csv-file.ts";
import { CannotExport, dayAfter, knownDays, readBasis, readDay, refuseOtherFacts } from "./days.ts";
import { FORMAT, KINDS, REGISTRIES } from "./format.ts";
import type { DayRange, Kind, Registry, RowSink, Value } from "./format.ts";
import { readManifest, writeManifest } from "./manifest.ts";
import type { Contents, ListedDay, ListedFile } from "./manifest.ts";
import { NewFile, removeAbandoned, syncFolder, writeWhole } from "./new-file.ts";
import { ParquetFile } from "./parquet-file.ts";

export interface ExportOptions {
  url: string;
  dir: string;
  /** How many blocks the chain may take back; default: what an indexer has recorded, or 64. */
  finality?: number | undefined;
  /** Whether the connection keeps its session. */
  prepare?: boolean;
  signal?: AbortSignal | undefined;
  onDay?: (day: ListedDay) => void;
}

/**
 * Exports the days that are final and not in the manifest. Each day is in the manifest when its files are on the disk, so
 * that an interrupted export goes on with the next one. Returns the manifest; undefined where no day is final yet.
 */
export async function exportDays(options: ExportOptions): Promise<Contents | undefined> {
  const { url, dir } = options;
  await makeFolder(dir);
  const release = await takeLock(dir).catch((error: unknown) => {
    if (!(error instanceof DataDirInUse)) throw error;
    throw new CannotExport(`process ${error.pid} exports into ${dir} at the moment`);
  });
  try {
    await removeAbandoned(dir);
    await using client = await connect(url, {
      role: "dex_reader",
      applicationName: "dex export",
      prepare: options.prepare ?? true,
    });
    return await exportMissing(client, options);
  } finally {
    await release();
  }
}

async function exportMissing(
  client: Client,
  { dir, finality, signal, onDay }: ExportOptions,
): Promise<Contents | undefined> {
  let manifest = await readManifest(dir);
  if (manifest !== undefined) await refuseOtherFacts(client, manifest);
  const known = await knownDays(client, finality);
  if (known === undefined) return manifest;
  const last = manifest?.days.at(-1)?.day;
  let next = last === undefined ? known.first : dayAfter(last);
  for (; next < known.notFinal; next = dayAfter(next)) {
    signal?.throwIfAborted();
    const day = await exportDay({ client, dir, day: next, signal });
    const basis = await readBasis(client);
    manifest = { format: FORMAT, basis, days: [...(manifest?.days ?? []), day] };
    // A day without files can be read again: a long gap would have the manifest written for each of its days.
    if (day.files.length > 0 || dayAfter(next) === known.notFinal)
      await writeManifest(dir, manifest);
    onDay?.(day);
  }
  return manifest;
}

/** Rows that are read at once. */
const BATCH = 2000;

const FORMATS: Record<string, (kind: Kind) => RowSink> = {
  "csv.gz": (kind) => new CsvFile(kind),
  parquet: (kind) => new ParquetFile(kind),
};

interface DayOptions {
  client: Client;
  dir: string;
  day: string;
  signal?: AbortSignal | undefined;
}

/** Of one snapshot. The transaction is over afterwards, whatever comes. */
async function exportDay(options: DayOptions): Promise<ListedDay> {
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
