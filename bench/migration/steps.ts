// Runs the steps of the worked example in db/examples/day, which adds a column with the day of each trade.
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { backfill } from "../../db/batched-update.ts";
import { connect } from "../../db/connect.ts";

export const STEPS = [
  "1-expand.sql",
  "2-backfill.sql",
  "3-index.sql",
  "4-check.sql",
  "5-validate.sql",
  "6-contract.sql",
] as const;
export type Step = (typeof STEPS)[number];

export const readStep = (step: Step): Promise<string> =>
  readFile(new URL(`../../db/examples/day/${step}`, import.meta.url), "utf8");

const BACKFILL = { table: "dex_trade", batch: 1000, pauseMs: 20 };

/** PostgreSQL's SQLSTATE for an expired lock_timeout. */
const LOCK_NOT_AVAILABLE = "55P03";
/** Pause before the next try, in milliseconds. */
const RETRY_MS = 1000;

/** The application name of the migration's connections. */
export const MIGRATION = "bench migration";

/** Runs the step, with retries if lock_timeout expires; resolves to the number of tries. */
export async function doStep(url: string, step: Step): Promise<number> {
  const sql = await readStep(step);
  return step === "2-backfill.sql" ? fill(url, sql) : migrate(url, sql);
}

async function fill(url: string, statement: string): Promise<number> {
  const client = await connect(url, { role: "dex_owner", applicationName: MIGRATION });
  try {
    await backfill(client, { ...BACKFILL, statement });
    return 1;
  } finally {
    await client.end();
  }
}

async function migrate(url: string, sql: string): Promise<number> {
  const client = await connect(url, { role: "dex_owner", applicationName: MIGRATION });
  try {
    if (sql.startsWith("--! no-transaction")) {
      await client.query(sql);
      return 1;
    }
    for (let tries = 1; ; tries += 1) {
      try {
        await client.query("begin");
        await client.query(sql);
        await client.query("commit");
        return tries;
      } catch (error) {
        await client.query("rollback");
        if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
        await setTimeout(RETRY_MS);
      }
    }
  } finally {
    await client.end();
  }
}
