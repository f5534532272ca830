// Tries the migrations that a database lacks, in one transaction that is rolled back, before any of
// them is applied: what a site has added to the schema may stand in the way of one.
import { refuseBeforeBaseline, type Applied } from "./before-baseline.ts";
import { committedMigrations } from "./committed.ts";
import { connect, type Client } from "./connect.ts";

/** One of them cannot be applied. Nothing was changed; the message says what stands in the way. */
export class CannotMigrate extends Error {
  override readonly name = "CannotMigrate";
}

/**
 * For how long a statement may wait for a lock, and may take: readers wait no longer than that for what
 * it has locked. What takes longer is not known before it is applied.
 */
const PATIENCE_MS = 1000;

/** What PostgreSQL says when a statement waits, or takes, too long. */
const TOO_LONG = ["55P03", "57014"];

interface Refusal extends Error {
  code?: string;
  detail?: string;
}

/**
 * Throws `CannotMigrate` where one of the pending migrations of this folder is refused by the
 * database, and `BeforeBaseline` where none can lead on from what it has. One that is new is not rehearsed: nothing is in it that could stand in the way. Nor is
 * what follows a migration that runs outside transactions.
 */
export async function rehearseMigrations(url: string, folder: string): Promise<void> {
  const bounds = { lockTimeoutMs: PATIENCE_MS, statementTimeoutMs: PATIENCE_MS };
  const client = await connect(url, { role: "dex_owner", ...bounds });
  try {
    const recorded = await readApplied(client);
    await refuseBeforeBaseline(recorded, folder);
    const applied = new Set(recorded.map(({ filename }) => filename));
    if (applied.size === 0) return;
    await client.query("begin");
    for (const { file, recordedAs, body } of await committedMigrations(folder)) {
      if (applied.has(recordedAs)) continue;
      if (body.startsWith("--! no-transaction")) return;
      const refusal = await client.query(body).then(
        () => undefined,
        (error: unknown) => error as Refusal,
      );
      if (refusal === undefined) continue;
      if (TOO_LONG.includes(refusal.code ?? "")) return;
      const detail =
        refusal.detail === undefined ? "" : ` (${refusal.detail.replace(/\n/g, "; ")})`;
      throw new CannotMigrate(
        `${file} cannot be applied, and nothing was changed: ${refusal.message}${detail}`,
        { cause: refusal },
      );
    }
  } finally {
    // It rolls back.
    await client.end();
  }
}

/** The names on record; none where nothing was ever applied. */
export async function appliedNames(client: Client): Promise<Set<string>> {
  return new Set((await readApplied(client)).map(({ filename }) => filename));
}

async function readApplied(client: Client): Promise<Applied[]> {
  const record = await client.query("select to_regclass('graphile_migrate.migrations') as record");
  if ((record.rows[0] as { record: string | null }).record === null) return [];
  const { rows } = await client.query<Applied>(
    "select filename, hash from graphile_migrate.migrations",
  );
  return rows;
}
