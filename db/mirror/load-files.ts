// Loads the days of another service's files that a database lacks: each whole and checked, or not at all.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../connect.ts";
import { DataDirInUse, takeLock } from "../embedded/lock.ts";
import { versionProblem } from "../export/check-files.ts";
import { findBasis } from "../export/days.ts";
import { MANIFEST, NAME, parseManifest, type Contents } from "../export/manifest.ts";
import { FACT_KINDS, plannedDays, type PlannedDay } from "../export/planned-days.ts";
import { isFirstWriter } from "../first-writer.ts";
import { makeFolder } from "../make-folder.ts";
import { refuseOtherBasis } from "./basis.ts";
import { download } from "./download.ts";
import { MirrorError, OriginUnavailable } from "./mirror-error.ts";
import { Origin } from "./origin.ts";
import { MAX_REGISTRY_BYTES, registrationsOfFiles, type Registrations } from "./origin-registry.ts";
import { writeDays } from "./write-days.ts";

/** Some thirty years of days. */
const MAX_MANIFEST_BYTES = 32 * 1024 * 1024;

const ATTEMPTS = 5;

/** Days are written together up to so many trades and offers, unless one alone has more. */
const BATCH_ROWS = 2_000_000;

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
  await makeFolder(dir, 0o700);
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
  if (!(await isFirstWriter(client))) {
    throw new MirrorError("an indexer or another mirror writes to the database: stop it first");
  }
  const origin = new Origin(url);
  const manifest = await readManifestOf(origin, options);
  const own = await findBasis(client);
  // An empty database has no basis to compare with.
  const problem = versionProblem(manifest.basis.version);
  if (problem !== undefined) throw new MirrorError(problem);
  if (own !== undefined) refuseOtherBasis(own, manifest.basis);
  const planned = plannedDays(manifest);
  refuseLongDays(planned, maxDayBytes);
  const missing = await missingDays(client, planned);
  const last = planned.at(-1);
  await removeOthers(dir, missing);
  if (last === undefined || missing.length === 0) return { days: 0, last };
  const stop = new AbortController();
  const given = options.signal === undefined ? [] : [options.signal];
  const fetching = { ...options, origin, signal: AbortSignal.any([stop.signal, ...given]) };
  const nothing = Promise.resolve<Fetched>({ days: [] });
  let ahead = nothing;
  try {
    let registrations: Registrations | undefined = await fetchRegistrations(last, fetching);
    const [first, ...others] = batchesOf(missing, maxDayBytes);
    ahead = fetchDays(first, fetching);
    for (const next of [...others, undefined]) {
      const { days, failure }: Fetched = await ahead;
      // While these are written.
      ahead = failure === undefined ? fetchDays(next, fetching) : nothing;
      const onWritten = async (day: PlannedDay): Promise<void> => {
        await removeDay(dir, day);
        onDay?.(day);
      };
      if (days.length > 0) {
        const { basis } = manifest;
        const { signal } = options;
        const to = { client, dir, days, maxDayBytes, registrations, basis, onWritten, signal };
        await writeDays(to);
      }
      registrations = undefined;
      if (failure !== undefined) throw failure.error;
      options.signal?.throwIfAborted();
    }
    return { days: missing.length, last };
  } finally {
    stop.abort();
    await ahead;
  }
}

/** The days that the database lacks. Throws a MirrorError that names the first day whose digest is another here. */
async function missingDays(client: Client, planned: readonly PlannedDay[]): Promise<PlannedDay[]> {
  const { rows } = await client.query<{ at: string; here: string | null }>(
    `select
      listed.at - 1 as at,
      dex_block_digest(block) as here
    from unnest($1::integer[], $2::text[]) with ordinality as listed (number, digest, at)
    cross join (
      select max(recorded.number) as number
      from dex_block as recorded
    ) as head
    left join dex_block as block on block.number = listed.number
    where listed.number <= head.number
      and dex_block_digest(block) is distinct from listed.digest
    order by listed.at
    limit 1`,
    [planned.map(({ lastBlock }) => lastBlock), planned.map(({ digest }) => digest)],
  );
  const [different] = rows;
  const day = different === undefined ? undefined : planned[Number(different.at)];
  if (day !== undefined) {
    throw new MirrorError(
      `${day.day}: at its last block, ${day.lastBlock}, this database has the digest ${different?.here ?? "none"}, and the origin ${day.digest}. They have different facts: nothing can be added`,
    );
  }
  const { rows: heads } = await client.query<{ number: number | null }>(
    "select max(number) as number from dex_block",
  );
  const head = heads[0]?.number ?? -1;
  return planned.filter(({ lastBlock }) => lastBlock > head);
}

function refuseLongDays(days: readonly PlannedDay[], maxBytes: number): void {
  for (const { day, files } of days) {
    const bytes = bytesOf(files);
    if (bytes <= maxBytes) continue;
    throw new MirrorError(
      `the files of ${day} have ${bytes} bytes, more than the ${maxBytes} that a day may have (--max-day-bytes)`,
    );
  }
}

const bytesOf = (files: PlannedDay["files"]): number =>
  FACT_KINDS.reduce((sum, kind) => sum + files[kind].bytes, 0);

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

interface Fetched {
  days: PlannedDay[];
  /** Of the day after them. */
  failure?: { error: unknown } | undefined;
}

/** Never fails. */
async function fetchDays(days: readonly PlannedDay[] = [], options: Fetching): Promise<Fetched> {
  for (const [n, { files }] of days.entries()) {
    try {
      await Promise.all(FACT_KINDS.map((kind) => download(files[kind], options)));
    } catch (error) {
      return { days: days.slice(0, n), failure: { error } };
    }
  }
  return { days: [...days] };
}

/** The files of a batch have no more bytes than a day may have. */
function batchesOf(missing: readonly PlannedDay[], maxBytes: number): PlannedDay[][] {
  const batches: PlannedDay[][] = [];
  let [rows, bytes] = [0, 0];
  for (const day of missing) {
    const { files } = day;
    const more = {
      rows: files.trades.rows + files.offers.rows,
      bytes: bytesOf(files),
    };
    const last = batches.at(-1);
    if (last !== undefined && rows + more.rows <= BATCH_ROWS && bytes + more.bytes <= maxBytes) {
      last.push(day);
      [rows, bytes] = [rows + more.rows, bytes + more.bytes];
    } else {
      batches.push([day]);
      [rows, bytes] = [more.rows, more.bytes];
    }
  }
  return batches;
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
  for (const kind of FACT_KINDS) await rm(join(dir, files[kind].name), { force: true });
}

/** Of another run, which are not needed any more. Throws where they are another's, who keeps them. */
async function removeOthers(dir: string, missing: readonly PlannedDay[]): Promise<void> {
  const needed = new Set(
    missing.flatMap(({ files }) => FACT_KINDS.map((kind) => files[kind].name)),
  );
  const names = await readdir(dir);
  if (names.includes(MANIFEST)) {
    throw new MirrorError(
      `${dir} has a ${MANIFEST}, so its files were exported, and a load would delete them: give another folder (--dir)`,
    );
  }
  for (const name of names) {
    const whole = name.replace(/\.partial$/, "");
    const isOurs = NAME.test(whole) && /\.csv(\.gz)?$/.test(whole);
    if (isOurs && !needed.has(whole)) await rm(join(dir, name));
  }
}
