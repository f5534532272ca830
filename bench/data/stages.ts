// Runs the stages that create a database, each once; an interrupted run continues at its stage.
import type { Client } from "../../db/connect.ts";

export interface Stage {
  name: string;
  run: (client: Client) => Promise<void>;
  /** Runs outside a transaction, for statements such as vacuum. Such a stage must be idempotent. */
  alone?: boolean;
}

/** Creates the benchmark's own schema if it is missing. */
export async function prepareStages(client: Client): Promise<void> {
  await client.query("create schema if not exists bench authorization dex_owner");
  await client.query(
    `create table if not exists bench.stage (
      name text primary key,
      seconds numeric not null,
      finished timestamptz not null default now()
    )`,
  );
  await client.query(
    "create table if not exists bench.dropped_index (name text primary key, sql text not null)",
  );
}

/** Runs a stage unless it is recorded as finished, and records it in the same transaction. */
export async function runStage(
  client: Client,
  { name, run, alone = false }: Stage,
  log: (line: string) => void,
): Promise<void> {
  const { rowCount } = await client.query("select from bench.stage where name = $1", [name]);
  if (rowCount === 1) return;
  const started = Date.now();
  if (!alone) await client.query("begin");
  try {
    await run(client);
    const seconds = (Date.now() - started) / 1000;
    await client.query("insert into bench.stage (name, seconds) values ($1, $2)", [name, seconds]);
    if (!alone) await client.query("commit");
    log(`  ${name}: ${seconds.toFixed(1)} s`);
  } catch (error) {
    if (!alone) await client.query("rollback").catch(() => undefined);
    throw error;
  }
}
