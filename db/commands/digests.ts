// `npm run db:digests`: makes the digests of blocks that have none, batch by batch.
import { setTimeout } from "node:timers/promises";
import { readCommandLine, readInteger } from "../command-line.ts";
import { connect } from "../connect.ts";
import { errorText } from "../error-text.ts";
import { ownerUrl } from "../locate.ts";

const USAGE = `Usage: npm run db:digests [-- options]

Makes the digests of blocks that were written by other means than the functions of ingest. Each batch is a
transaction that takes its turn among the writers; an interrupted run goes on where it was.

  --batch N   blocks of a batch, from 1 to 100000; default 1000
  --pause MS  milliseconds between two batches, from 0 to 60000; default 20
  --help      show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const { values } = readCommandLine({
  usage: USAGE,
  options: {
    batch: { type: "string", default: "1000" },
    pause: { type: "string", default: "20" },
  },
});
const batch = readInteger("batch", values.batch, 1, 100_000);
const pauseMs = readInteger("pause", values.pause, 0, 60_000);

try {
  await main();
} catch (error) {
  console.error(`digests: ${errorText(error)}`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  await using client = await connect(await ownerUrl(process.env), {
    role: "dex_writer",
    applicationName: "dex digests",
  });
  let made = 0;
  let shown = performance.now();
  for (let filled = -1; filled !== 0; made += filled) {
    if (filled > 0) await setTimeout(pauseMs);
    // Without `begin`, each statement is a transaction.
    const { rows } = await client.query<{ filled: number }>(
      "select ingest.fill_digests($1) as filled",
      [batch],
    );
    filled = rows[0]?.filled ?? 0;
    if (performance.now() - shown < 1000) continue;
    shown = performance.now();
    console.log(`${made + filled} blocks so far`);
  }
  console.log(`${made} blocks got a digest.`);
}
