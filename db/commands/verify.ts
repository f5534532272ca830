// npm run db:verify: reports where what the database keeps is not what its history says. Exits 0 where
// nothing differs, 1 where something does, 2 where it could not look.
import { readCommandLine } from "../command-line.ts";
import { connect } from "../connect.ts";
import { errorText } from "../error-text.ts";
import { ownerUrl } from "../locate.ts";
import { shownUrl } from "../postgres-url.ts";
import { Differences, type Difference } from "../verify/differences.ts";
import { verify } from "../verify/verify-database.ts";

const USAGE = `Usage: npm run db:verify [-- --json]

Verifies the history first: blocks in the order of number, time and first trade; ids in the order of block
and idx; no row outside a block or later than the head; offers and their trades agree; pair hashes; the
digest of each block, which it recomputes. Then compares everything that is kept (labels, sums, what is left of offers, the book, the figures) with it, in
one snapshot. It reads the whole history, writes nothing, and keeps no session from reading or writing.
ingest.rebuild() mends what is kept; wrong trades and offers are taken back and written again.

  --json  print one object: database, total, differences (each with row, kept, right)
  --help  show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const { values } = readCommandLine({
  usage: USAGE,
  options: { json: { type: "boolean", default: false } },
});

try {
  process.exitCode = await run(values.json);
} catch (error) {
  console.error(`The database could not be verified: ${errorText(error)}`);
  process.exitCode = 2;
}

async function run(isJson: boolean): Promise<number> {
  const url = await ownerUrl(process.env);
  await using client = await connect(url, {
    role: "dex_owner",
    applicationName: "dex-market-data verify",
  });
  await client.query("begin isolation level repeatable read read only");
  const found = new Differences();
  const differences = await verify(client, found);
  const { total } = found;
  const database = shownUrl(url);
  console.log(
    isJson
      ? JSON.stringify({ database, total, differences }, null, 2)
      : [`Verified ${database}.`, ...differences.map(lineOf), lastLine(total)].join("\n"),
  );
  return total === 0 ? 0 : 1;
}

function lineOf({ row, kept, right }: Difference): string {
  return `\n${row}\n  it is ${kept ?? "missing"}\n  it should ${right === null ? "not be there" : `be ${right}`}`;
}

function lastLine(total: number): string {
  if (total === 0) return "Nothing differs.";
  const rows = total === 1 ? "row differs" : "rows differ";
  return `\n${total} ${rows}, at most 100 of each table and rule shown. As dex_owner, \`select ingest.rebuild()\` makes what is kept anew; trades and offers that are wrong themselves must be taken back and written again.`;
}
