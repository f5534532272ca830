// npm run db:migrate, db:commit, db:uncommit: graphile-migrate on the database and its shadow.
import { commit, uncommit } from "graphile-migrate";
import { chmod } from "node:fs/promises";
import {
  committedFiles,
  MIGRATIONS_FOLDER,
  recordedMigrations,
  refuseOthers,
} from "../committed.ts";
import { readCommandLine, refuse } from "../command-line.ts";
import { connect } from "../connect.ts";
import { errorText } from "../error-text.ts";
import { ownerUrl, shadowUrls } from "../locate.ts";
import { retryLocks } from "../lock-retry.ts";
import { migrateSettings, shadowRefused } from "../migrate-settings.ts";
import { applyMigrations } from "../migrations.ts";

const USAGE = `Usage: npm run db:migrate
       npm run db:commit [-- --message TEXT]
       npm run db:uncommit

db:migrate applies every committed migration that the database lacks. db:commit replays all of them in a
shadow database, and gives the current one its number. db:uncommit takes the last one back.

  --message TEXT, -m TEXT  what db:commit names the migration
  --help                   show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const { values, positionals } = readCommandLine({
  usage: USAGE,
  options: { message: { type: "string", short: "m" } },
  max: 1,
});
const [command = ""] = positionals;
if (!["migrate", "commit", "uncommit"].includes(command)) {
  refuse("One of migrate, commit and uncommit is needed");
}
if (values.message !== undefined && command !== "commit") refuse("--message is for db:commit");

try {
  const url = await ownerUrl(process.env);
  const settings = await migrateSettings(url, process.env, console.log);
  if (command === "migrate") await applyMigrations(url, MIGRATIONS_FOLDER, console.log);
  else if (command === "uncommit") {
    // graphile-migrate moves the file before it connects.
    await (await connect(url)).end();
    await uncommit(settings);
  } else {
    await refuseOthersOf(url);
    await retryLocks(
      url,
      (connectionString) => commit({ ...settings, connectionString }, values.message),
      console.log,
    ).catch((error: unknown) => {
      // What is wrong with the change itself is not about the shadow.
      const isOfChange = (error as { _gmlogged?: boolean })._gmlogged === true;
      throw isOfChange ? error : shadowRefused(error, shadowUrls(url, process.env).root);
    });
    // graphile-migrate keeps it from other accounts, by which services may run.
    const file = (await committedFiles()).at(-1) ?? "";
    await chmod(`${MIGRATIONS_FOLDER}/committed/${file}`, 0o444);
  }
} catch (error) {
  console.error(errorText(error));
  process.exitCode = 1;
}

/** Else the change could get a number that the database has: it would take it for applied. */
async function refuseOthersOf(database: string): Promise<void> {
  await using client = await connect(database, { role: "dex_owner" });
  await refuseOthers(await recordedMigrations(client), { whole: true });
}
