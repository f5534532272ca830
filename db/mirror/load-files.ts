// Loads the days of another service's files that a database lacks: each whole and checked, or not at all.
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../connect.ts";
import { DataDirInUse, takeLock } from "../embedded/lock.ts";
import { findBasis } from "../export/days.ts";
import { MANIFEST, parseManifest, type Contents } from "../export/manifest.ts";
import { refuseOtherBasis } from "./basis.ts";
import { download } from "./download.ts";
import { MirrorError, OriginUnavailable } from "./mirror-error.ts";
import { Origin } from "./origin.ts";
import { KINDS, missingDays, plan, type PlannedDay } from "./plan.ts";
import { MAX_REGISTRY_BYTES, registrationsOfFiles, type Registrations } from "./origin-registry.ts";
import { writeDay } from "./write-day.ts";

/** Some thirty years of days. */
const MAX_MANIFEST_BYTES = 32 * 1024 * 1024;

const ATTEMPTS = 5;

export interface LoadFilesOptions {
  client: Client;
  /** Of the folder: /v2/files/ of a service, or where else it is. */
  url: string;
  /** Where files are until their day is written. */
  dir: string;
  /** Of the files of a day, compressed or not. */
  maxDayBytes: number;
  signal?: AbortSignal | undefined;
  onDay?: (day: PlannedDay) => void;
  /** Between two attempts; it doubles. */
  pauseMs?: number;
}

export interface LoadedFiles {
  /** How many were written. */
  days: number;
  /** The last one that the origin has. */
  last: PlannedDay | undefined;
}

/** A day is in the database when it is checked; an interrupted load goes on with the next one. Throws a MirrorError. */
export async function loadFiles(options: LoadFilesOptions): Promise<LoadedFiles> {
  const { dir } = options;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const release = await takeLock(dir).catch((error: unknown) => {
    if (!(error instanceof DataDirInUse)) throw error;
    throw new MirrorError(`process ${error.pid} loads by ${dir} at the moment`);
  });
  try {
    return await loadMissing(options);
  } finally {
    await release();
  }
}

async function loadMissing(options: LoadFilesOptions): Promise<LoadedFiles> {
  const { client, url, dir, maxDayBytes, onDay } = options;
  const origin = new Origin(url);
  const manifest = await readManifestOf(origin, options);
  const own = await findBasis(client);
  if (own !== undefined) refuseOtherBasis(own, manifest.basis);
  const planned = plan(manifest, maxDayBytes);
  const missing = await missingDays(client, planned);
  const last = planned.at(-1);
  await removeOthers(dir, missing);
  if (last === undefined || missing.length === 0) return { days: 0, last };
  const stop = new AbortController();
  const given = options.signal === undefined ? [] : [options.signal];
  const fetching = { ...options, origin, signal: AbortSignal.any([stop.signal, ...given]) };
  let ahead: Promise<void> | undefined;
  try {
    let registrations: Registrations | undefined = await fetchRegistrations(last, fetching);
    ahead = fetchDay(missing[0], fetching);
    for (const [n, day] of missing.entries()) {
      await ahead;
      ahead = fetchDay(missing[n + 1], fetching);
      // It is waited for after this day.
      ahead.catch(() => undefined);
      await writeDay({ client, dir, day, maxDayBytes, registrations, basis: manifest.basis });
      registrations = undefined;
      await removeDay(dir, day);
      onDay?.(day);
      options.signal?.throwIfAborted();
    }
    return { days: missing.length, last };
  } finally {
    stop.abort();
    await ahead?.catch(() => undefined);
  }
}

async function readManifestOf(
  origin: Origin,
  { signal, pauseMs = 500 }: LoadFilesOptions,
): Promise<Contents> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return parseManifest(await origin.text(MANIFEST, MAX_MANIFEST_BYTES, { signal }));
    } catch (error) {
      if (!(error instanceof OriginUnavailable) || attempt === ATTEMPTS) throw error;
      await sleep(error.retryMs ?? pauseMs * 2 ** attempt, undefined, { signal });
    }
  }
}

type Fetching = LoadFilesOptions & { origin: Origin };

async function fetchDay(day: PlannedDay | undefined, options: Fetching): Promise<void> {
  await Promise.all(
    KINDS.flatMap((kind) => (day === undefined ? [] : [download(day.files[kind], options)])),
  );
}

async function fetchRegistrations({ registries }: PlannedDay, options: Fetching) {
  for (const { name, bytes } of Object.values(registries)) {
    if (bytes > MAX_REGISTRY_BYTES) {
      throw new MirrorError(
        `${name} has ${bytes} bytes, more than the ${MAX_REGISTRY_BYTES} that it may have`,
      );
    }
  }
  const tokens = await download(registries.tokens, options);
  const markets = await download(registries.markets, options);
  const found = await registrationsOfFiles({ tokens, markets });
  await rm(tokens);
  await rm(markets);
  return found;
}

async function removeDay(dir: string, { files }: PlannedDay): Promise<void> {
  for (const kind of KINDS) await rm(join(dir, files[kind].name), { force: true });
}

/** Of another run, which are not needed any more. */
async function removeOthers(dir: string, missing: readonly PlannedDay[]): Promise<void> {
  const needed = new Set(missing.flatMap(({ files }) => KINDS.map((kind) => files[kind].name)));
  for (const name of await readdir(dir)) {
    const isOurs = /\.csv(\.gz)?(\.partial)?$/.test(name);
    if (isOurs && !needed.has(name.replace(/\.partial$/, ""))) await rm(join(dir, name));
  }
}
