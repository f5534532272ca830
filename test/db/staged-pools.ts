// Writes what pools have after blocks by the staging tables.
import type { TestDatabase } from "../database.ts";
import { blockAt, hours } from "../factories.ts";

export async function writeStaged(
  database: TestDatabase,
  given: readonly { hour: number; pool: object }[],
): Promise<void> {
  const client = await database.connect("dex_writer");
  await client.query("begin");
  for (const { hour, pool } of given) {
    const row = { ...pool, block: blockAt(hour), time: hours(hour) };
    await client.query(
      `insert into ingest.staged_pool (${Object.keys(row).join(", ")})
      select ${Object.keys(row).join(", ")}
      from json_populate_record(null::ingest.staged_pool, $1)`,
      [JSON.stringify(row)],
    );
  }
  await client.query("select ingest.write_blocks()");
  await client.query("commit");
}
