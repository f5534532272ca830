// Rehearses the pending migrations in a transaction that is rolled back: objects that a site has added to
// the schema can make a migration fail.
import { refuseBeforeBaseline } from "./before-baseline.ts";
import { committedMigrations } from "./committed.ts";
import { connect } from "./connect.ts";
import { recordedMigrations } from "./applied-migrations.ts";

/** A pending migration fails. Nothing was changed; the message gives the reason. */
export class CannotMigrate extends Error {
  override readonly name = "CannotMigrate";
}

/**
 * lock_timeout and statement_timeout of the rehearsal, so that readers wait at most this long for its
 * locks. A migration that takes longer is not rehearsed.
 */
const TIMEOUT_MS = 1000;

/** PostgreSQL's SQLSTATEs for an expired lock_timeout or statement_timeout. */
const TOO_LONG = ["55P03", "57014"];

interface Refusal extends Error {
  code?: string;
  detail?: string;
}

/**
 * Throws `CannotMigrate` if a pending migration of this folder fails, and `BeforeBaseline` if the database
 * predates the baseline. Does not rehearse on an empty database, nor anything from the first migration on
 * that runs outside a transaction.
 */
export async function rehearseMigrations(url: string, folder: string): Promise<void> {
  const bounds = { lockTimeoutMs: TIMEOUT_MS, statementTimeoutMs: TIMEOUT_MS };
  const client = await connect(url, { role: "dex_owner", ...bounds });
  try {
    const recorded = await recordedMigrations(client);
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
    // Closing the connection rolls the transaction back.
    await client.end();
  }
}
