// npm run db:status: exits 1 where committed migrations wait, 2 where the current one is not committed, 3
// for both, 0 for neither, and 4 where it could not look.
import { status } from "graphile-migrate";
import { readCommandLine } from "../command-line.ts";
import { recordedMigrations, refuseOthers } from "../committed.ts";
import { connect } from "../connect.ts";
import { errorText } from "../error-text.ts";
import { ownerUrl } from "../locate.ts";
import { migrateSettings } from "../migrate-settings.ts";
import { pendingMigrations } from "../migrations.ts";

const EXIT_UNKNOWN = 4;

readCommandLine({
  options: {},
  usage: `Usage: npm run db:status

Says which migrations wait. Exits 0 for none, 1 where committed ones wait, 2 where the current one is not
committed, 3 for both, and 4 where it could not look.

  --help  show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`,
  // 2 has another meaning.
  exitCode: EXIT_UNKNOWN,
});

try {
  const url = await ownerUrl(process.env);
  const settings = await migrateSettings(url, process.env, () => undefined);
  const { hasCurrentMigration } = await status(settings, { skipDatabase: true });
  // graphile-migrate would create its schema first, which a standby cannot.
  await using client = await connect(url, { role: "dex_owner" });
  const waiting = await pendingMigrations(client);
  await refuseOthers(await recordedMigrations(client));
  if (waiting.length > 0) {
    console.log(`Committed migrations wait: ${waiting.join(", ")}.`);
  }
  if (hasCurrentMigration) {
    console.log("The current migration is not empty and has not been committed.");
  }
  if (waiting.length === 0 && !hasCurrentMigration) console.log("Up to date.");
  process.exitCode = (waiting.length > 0 ? 1 : 0) + (hasCurrentMigration ? 2 : 0);
} catch (error) {
  console.error(`The status cannot be read: ${errorText(error)}`);
  process.exitCode = EXIT_UNKNOWN;
}
