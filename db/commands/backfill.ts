// `npm run db:backfill -- FILE`: fills a column by the update in the file, batch by batch.
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { backfill } from "../backfill.ts";
import { connect } from "../connect.ts";
import { ownerUrl } from "../locate.ts";

const USAGE = `Usage: npm run db:backfill -- FILE [options]

Runs the update in FILE for each batch of ids, from above $1 up to $2, each in a transaction of its own.
Begun again after an interruption it passes over what is filled, if its update does.

  --table NAME  the table, whose key \`id\` is an integer: dex_trade (default), dex_offer, …
  --batch N     how many ids a batch is of, default 1000
  --pause MS    milliseconds without work after each, default 20
  --help        show this`;

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`backfill: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      table: { type: "string", default: "dex_trade" },
      batch: { type: "string", default: "1000" },
      pause: { type: "string", default: "20" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw new Error(`one FILE is needed.\n\n${USAGE}`);
  const task = {
    table: values.table,
    statement: await readFile(file, "utf8"),
    batch: integer("batch", values.batch, 1),
    pauseMs: integer("pause", values.pause, 0),
  };
  const client = await connect(await ownerUrl(process.env), {
    role: "dex_owner",
    applicationName: "dex backfill",
  });
  try {
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
  } finally {
    await client.end();
  }
}

function integer(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${name} is an integer from ${least}, not ${JSON.stringify(text)}`);
}
