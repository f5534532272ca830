// Exports the final days of a database into a folder, one after the other: each of one snapshot, in which it is final and
// the days that are listed are still the database's.
import { createHash } from "node:crypto";
import { connect, liftTimeouts, type Client } from "../connect.ts";
import { DataDirInUse, takeLock } from "../embedded/lock.ts";
import { CsvFile, csvLine } from "./csv-file.ts";
import { CannotExport, dayAfter, findBasis, knownDays, readDay, refuseOtherFacts } from "./days.ts";
import { FORMAT, KINDS, REGISTRIES } from "./format.ts";
import type { DayRange, Kind, Registry, RowSink, Value } from "./format.ts";
import { makeFilesFolder } from "./make-files-folder.ts";
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
  await makeFilesFolder(dir);
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
  options: ExportOptions,
): Promise<Contents | undefined> {
  let manifest = await readManifest(options.dir);
  let suspects = manifest?.days;
  for (;;) {
    options.signal?.throwIfAborted();
    const { basis, days } = await inSnapshot(client, async () => {
      if (manifest !== undefined) await refuseOtherFacts(client, manifest, suspects);
      return {
        basis: await findBasis(client),
        days: await nextDays(client, options, manifest?.days),
      };
    });
    if (basis === undefined || days.length === 0) return manifest;
    manifest = { format: FORMAT, basis, days: [...(manifest?.days ?? []), ...days] };
    await writeManifest(options.dir, manifest);
    for (const day of days) options.onDay?.(day);
    suspects = days.slice(-1);
  }
}

/** Those without rows, in which a gap may be long, and the one after them, whose files it writes. None is not final. */
async function nextDays(
  client: Client,
  { dir, finality, signal }: ExportOptions,
  listed: readonly ListedDay[] = [],
): Promise<ListedDay[]> {
  const last = listed.at(-1);
  const block = listed.findLast(({ lastBlock }) => lastBlock !== null)?.lastBlock ?? undefined;
  const known = await knownDays(client, finality, block);
  if (known === undefined) return [];
  const { next, notFinal } = known;
  const days: ListedDay[] = [];
  if (last !== undefined) {
    const empty = { firstBlock: null, lastBlock: null, digest: last.digest, files: [] };
    for (let day = dayAfter(last.day); day < notFinal && day !== next; day = dayAfter(day))
      days.push({ day, ...empty });
  }
  if (next !== null && next < notFinal) {
    days.push(await writeDay({ client, dir, day: next, signal }));
  }
  return days;
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

/** The transaction is over afterwards, whatever comes. */
async function inSnapshot<Found>(client: Client, read: () => Promise<Found>): Promise<Found> {
  await client.query("begin transaction isolation level repeatable read read only");
  try {
    // A site may set them for short statements.
    await liftTimeouts(client, undefined, true);
    return await read();
  } finally {
    // A lost connection has ended it.
    await client.query("rollback").catch(() => undefined);
  }
}

/** Of a day that has blocks with rows, in a transaction that the caller has begun. */
export async function writeDay({ client, dir, day, signal }: DayOptions): Promise<ListedDay> {
  const { digest, ...range } = await readDay(client, day);
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
