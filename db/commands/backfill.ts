// `npm run db:backfill -- FILE`: fills a column by the update in the file, batch by batch.
import { readFile } from "node:fs/promises";
import { backfill } from "../batched-update.ts";
import { readCommandLine, readInteger, refuse } from "../command-line.ts";
import { connect } from "../connect.ts";
import { ownerUrl } from "../locate.ts";

const USAGE = `Usage: npm run db:backfill -- FILE [options]

Runs the update in FILE for each batch of ids, above $1 and up to $2, each in a separate transaction.
After an interruption, run it again: it skips the rows that are filled, if the update does.

  --table NAME  the table, whose key \`id\` is an integer: dex_trade (default), dex_offer, …
  --batch N     ids of a batch, default 1000
  --pause MS    milliseconds between two batches, default 20
  --help        show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const { values, positionals } = readCommandLine({
  usage: USAGE,
  options: {
    table: { type: "string", default: "dex_trade" },
    batch: { type: "string", default: "1000" },
    pause: { type: "string", default: "20" },
  },
  max: 1,
});
const [file = refuse("FILE is missing")] = positionals;
const batch = readInteger("batch", values.batch, 1, Number.MAX_SAFE_INTEGER);
// A longer one would overflow Node's timer, which then does not wait at all.
const pauseMs = readInteger("pause", values.pause, 0, 2_147_483_647);

try {
  await main();
} catch (error) {
  console.error(`backfill: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const task = { table: values.table, statement: await readFile(file, "utf8"), batch, pauseMs };
  await using client = await connect(await ownerUrl(process.env), {
    role: "dex_owner",
    applicationName: "dex backfill",
  });
  let shown = 0;
  const updated = await backfill(client, {
    ...task,
    onBatch: ({ upTo, last, rows }) => {
      if (performance.now() - shown < 1000 && upTo < last) return;
      shown = performance.now();
      console.log(`up to id ${upTo} of ${last}: ${rows} rows`);
    },
  });
  console.log(`${updated} rows were updated.`);
}
