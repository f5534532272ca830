// npm run db:check: prints where a database differs from what its migrations make, and breaks the rules of
// db/check/README.md. Exits 0 where nothing is found, 1 where something is, 2 where it could not look.
import { checkDatabase, type CheckResult } from "../db/check/check.ts";
import type { Shadow } from "../db/check/check-shadow.ts";
import { findStaleSdl } from "../graphql/schema/sdl.ts";
import { cleanOnSignals, readCommandLine } from "../db/command-line.ts";
import { errorText } from "../db/error-text.ts";
import { ownSchemas } from "../db/exposed-schemas.ts";
import { ownerUrl, shadowUrls } from "../db/locate.ts";
import { shownUrl } from "../db/postgres-url.ts";
import type { Finding } from "../db/check/finding.ts";

const USAGE = `Usage: npm run db:check [-- --json]

Compares a database with what its migrations make, and with the rules of db/check/README.md. Reads the
catalogs only, and writes nothing to the database; it makes and drops a shadow database.

  --json  print one object
  --help  show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const { values } = readCommandLine({
  usage: USAGE,
  options: { json: { type: "boolean", default: false } },
});

let shadow: Promise<Shadow> | undefined;
cleanOnSignals(2, () => shadow?.then((made) => made.drop()));

try {
  const url = await ownerUrl(process.env);
  const result = await checkDatabase({
    url,
    shadow: shadowUrls(url, process.env),
    exposed: ["public", ...ownSchemas(process.env["EXPOSED_SCHEMAS"])],
    checkMade: findStaleSdl,
    onShadow: (making) => void (shadow = making),
  });
  console.log(
    values.json
      ? JSON.stringify({ database: shownUrl(url), ...result }, null, 2)
      : reportLines(shownUrl(url), result).join("\n"),
  );
  process.exitCode = result.findings.length === 0 ? 0 : 1;
} catch (error) {
  console.error(`The database could not be checked: ${errorText(error)}`);
  process.exitCode = 2;
}

/** The result as lines: scope, each finding with its remedy, and the number of findings. */
function reportLines(shownUrl: string, result: CheckResult): string[] {
  const { compared, exposed, migrations, findings, additions, notes, skipped } = result;
  return [
    `Checked ${shownUrl}: ${migrations.applied} of ${migrations.committed} migrations.`,
    `Compared the schemas ${compared.join(", ")}. Checked comments in ${exposed.join(", ")}.`,
    "Did not check data: `npm run db:verify` does.",
    ...notes.map((note) => `Note: ${note}.`),
    ...additions.map((object) => `Not compared, because its comment has @addition: ${object}.`),
    ...skipped.map((what) => `Not checked: ${what}.`),
    ...findings.flatMap(findingLines),
    "",
    findings.length === 0
      ? "Nothing found."
      : `${findings.length} ${findings.length === 1 ? "finding" : "findings"}.`,
  ];
}

function findingLines({ check, object, problem, remedy }: Finding): string[] {
  return ["", `${check}: ${object}`, `  ${problem}.`, `  → ${remedy}`];
}
