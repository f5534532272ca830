// npm run db:check: tells where a database differs from what its migrations make, and from what the
// house asks of it. Exits 0 where nothing is found, 1 where something is, 2 where it could not look.
import { checkDatabase } from "../check/check.ts";
import { reportLines } from "../check/report.ts";
import type { Shadow } from "../check/shadow.ts";
import { findStaleSdl } from "../../server/graphql/schema/stale-sdl.ts";
import { readCommandLine } from "../command-line.ts";
import { errorText } from "../error-text.ts";
import { areOwnSchemas, EXPOSED_SCHEMAS_ACCEPTED, namesOfSchemas } from "../exposed-schemas.ts";
import { ownerUrl, shadowUrls } from "../locate.ts";
import { shownUrl } from "../shown-url.ts";

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
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    // The connections to the shadow database end with it, for which graphile-migrate exits with 1.
    process.on("uncaughtException", () => undefined).on("exit", () => (process.exitCode = 2));
    void Promise.resolve(shadow?.then((made) => made.drop())).finally(() => process.exit(2));
  });
}

try {
  const url = await ownerUrl(process.env);
  const result = await checkDatabase({
    url,
    shadow: shadowUrls(url, process.env),
    exposed: exposedSchemas(process.env["EXPOSED_SCHEMAS"]),
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

/** Those that GraphQL shows. */
function exposedSchemas(given = ""): string[] {
  if (given.trim() === "") return ["public"];
  const own = namesOfSchemas(given);
  if (!areOwnSchemas(own)) {
    throw new Error(
      `EXPOSED_SCHEMAS: ${JSON.stringify(given)} is not ${EXPOSED_SCHEMAS_ACCEPTED}.`,
    );
  }
  return ["public", ...own];
}
