// Writes the files of days in one transaction, and checks what it has written before it commits.
import type { Client } from "../connect.ts";
import { findBasis } from "../export/days.ts";
import type { Basis } from "../export/manifest.ts";
import type { PlannedDay } from "../export/planned-days.ts";
import { refusedByDatabase } from "../load/load-error.ts";
import { recordFinal, recordSource, refuseOtherBasis } from "./basis.ts";
import { chunksOf, factsOfDay } from "./day-chunks.ts";
import { MirrorError } from "./mirror-error.ts";
import { register, type Registrations } from "./origin-registry.ts";
import { refuseOtherDigests, stage, type Digested } from "./write-facts.ts";

export interface DaysToWrite {
  client: Client;
  dir: string;
  /** One after another. */
  days: readonly PlannedDay[];
  maxDayBytes: number;
  /** Undefined where those of the files are registered. */
  registrations: Registrations | undefined;
  basis: Basis;
  onWritten: (day: PlannedDay) => Promise<void>;
  /** Ends it before the database writes: nothing of these days is written then. */
  signal: AbortSignal | undefined;
}

/**
 * Each whole or not at all; together, because that is faster. Throws a MirrorError that names the day and the first block that
 * differs; the days before it are written then.
 */
export async function writeDays(options: DaysToWrite): Promise<void> {
  const { days } = options;
  try {
    await writeTogether(options);
  } catch (error) {
    if (!(error instanceof MirrorError) || days.length === 1) throw error;
    for (const day of days) await writeTogether({ ...options, days: [day] });
  }
}

async function writeTogether(options: DaysToWrite): Promise<void> {
  const { client, days, onWritten } = options;
  await client.query("begin");
  try {
    await writeInTransaction(options);
    await client.query("commit");
  } catch (error) {
    // A lost connection has ended it.
    await client.query("rollback").catch(() => undefined);
    const named = days.map(({ day }) => day).join(", ");
    const refused = refusedByDatabase(error, named);
    if (refused === error && !(error instanceof MirrorError)) throw error;
    const { message } = refused as Error;
    // Where they are several days, each is written alone next.
    const placed = message.replace(/\b(offers|trades) (?=line \d)/, `$1-${named}.csv.gz `);
    throw new MirrorError(placed.startsWith(named) ? placed : `${named}: ${placed}`);
  }
  for (const day of days) await onWritten(day);
}

async function writeInTransaction(options: DaysToWrite): Promise<void> {
  const { client, dir, days, maxDayBytes, registrations, basis, signal } = options;
  // Before any other read: it sees what the writer before has committed.
  const { rows } = await client.query<{ head: number | null }>(
    "select head from ingest.take_turn()",
  );
  const head = rows[0]?.head ?? -1;
  if (registrations !== undefined) await register(client, registrations);
  await recordSource(client, basis);
  let known: Digested | undefined;
  let staged: Promise<void> | undefined;
  try {
    for await (const chunk of chunksOf({ dir, days, maxDayBytes, head })) {
      signal?.throwIfAborted();
      known = chunk.known ?? known;
      if (chunk.blocks.length === 0) continue;
      if (staged === undefined && known !== undefined) await refuseOtherDigests(client, [known]);
      await staged;
      // The next chunk is read while the database takes this one.
      staged = stage(client, chunk.blocks, chunk.lines);
      staged.catch(() => undefined);
    }
  } finally {
    await staged;
  }
  await client.query("select ingest.write_blocks()");
  const ends = days.map(({ lastBlock, digest }) => ({ number: lastBlock, digest }));
  await refuseOtherDigests(client, ends).catch(async (error: unknown) => {
    await nameFirst(options);
    throw error;
  });
  // Before the first block there was none.
  const own = await findBasis(client);
  if (own !== undefined) refuseOtherBasis(own, basis);
  await recordFinal(client, ends.at(-1)?.number ?? head);
}

/** Throws a MirrorError that names the first block with another digest. */
async function nameFirst({ client, dir, days, maxDayBytes }: DaysToWrite): Promise<void> {
  for (const day of days) {
    for await (const blocks of factsOfDay(dir, day, maxDayBytes)) {
      await refuseOtherDigests(client, blocks);
    }
  }
}
