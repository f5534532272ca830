// Exports the final days of a database into a folder, one after the other.
import { connect } from "../connect.ts";
import { DataDirInUse, takeLock } from "../embedded/lock.ts";
import { makeFolder } from "../make-folder.ts";
import { CannotExport, dayAfter, knownDays, readBasis, refuseOtherFacts } from "./days.ts";
import { exportDay } from "./export-day.ts";
import { FORMAT } from "./format.ts";
import { readManifest, writeManifest, type Contents, type ListedDay } from "./manifest.ts";
import { removeAbandoned } from "./new-file.ts";

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
    const client = await connect(url, {
      role: "dex_reader",
      applicationName: "dex export",
      prepare: options.prepare ?? true,
    });
    try {
      return await exportMissing(client, options);
    } finally {
      await client.end();
    }
  } finally {
    await release();
  }
}

async function exportMissing(
  client: Awaited<ReturnType<typeof connect>>,
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
