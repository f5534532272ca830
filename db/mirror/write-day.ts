// Writes the files of a day in one transaction, and checks what it has written before it commits.
import type { Client } from "../connect.ts";
import type { Basis } from "../export/manifest.ts";
import { refusedByDatabase } from "../load/load-error.ts";
import { factsOfDay } from "./day-facts.ts";
import { MirrorError } from "./mirror-error.ts";
import type { PlannedDay } from "./plan.ts";
import { register, type Registrations } from "./origin-registry.ts";
import { recordFinal, recordSource } from "./recorded-source.ts";
import { refuseOtherDigests, stageFacts, writeStaged, type Digested } from "./write-facts.ts";

export interface DayToWrite {
  client: Client;
  dir: string;
  day: PlannedDay;
  maxDayBytes: number;
  /** Undefined where those of the files are registered. */
  registrations: Registrations | undefined;
  basis: Basis;
}

/** Throws a MirrorError that names the day and the first block that differs; nothing of the day is written then. */
export async function writeDay(options: DayToWrite): Promise<void> {
  const { client, day } = options;
  await client.query("begin");
  try {
    await writeInTransaction(options);
    await client.query("commit");
  } catch (error) {
    // A lost connection has ended it.
    await client.query("rollback").catch(() => undefined);
    const refused = refusedByDatabase(error, day.day);
    if (refused === error && !(error instanceof MirrorError)) throw error;
    const { message } = refused as Error;
    throw new MirrorError(message.startsWith(day.day) ? message : `${day.day}: ${message}`);
  }
}

async function writeInTransaction(options: DayToWrite): Promise<void> {
  const { client, dir, day, maxDayBytes, registrations, basis } = options;
  // Before any other read: it sees what the writer before has committed.
  const { rows } = await client.query<{ head: number | null }>(
    "select head from ingest.take_turn()",
  );
  const head = rows[0]?.head ?? -1;
  if (registrations !== undefined) await register(client, registrations);
  await recordSource(client, basis);
  let known: Digested | undefined;
  let isCompared = false;
  for await (const blocks of factsOfDay(dir, day, maxDayBytes)) {
    known = blocks.findLast(({ number }) => number <= head) ?? known;
    const fresh = blocks.filter(({ number }) => number > head);
    if (fresh.length === 0) continue;
    if (!isCompared && known !== undefined) await refuseOtherDigests(client, [known]);
    isCompared = true;
    await stageFacts(client, fresh);
  }
  await writeStaged(client);
  const end = { number: day.lastBlock, digest: day.digest };
  await refuseOtherDigests(client, [end]).catch(async (error: unknown) => {
    await nameFirst(options);
    throw error;
  });
  await recordFinal(client, day.lastBlock);
}

/** Throws a MirrorError that names the first block with another digest. */
async function nameFirst({ client, dir, day, maxDayBytes }: DayToWrite): Promise<void> {
  for await (const blocks of factsOfDay(dir, day, maxDayBytes)) {
    await refuseOtherDigests(client, blocks);
  }
}
