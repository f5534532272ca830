// npm run db:migrate, db:commit, db:uncommit: graphile-migrate on the database and its shadow.
import { parseArgs } from "node:util";
import { commit, uncommit } from "graphile-migrate";
import { MIGRATIONS_FOLDER } from "../committed.ts";
import { errorText } from "../error-text.ts";
import { ownerUrl, shadowUrls } from "../locate.ts";
import { retryLocks } from "../lock-retry.ts";
import { migrateSettings } from "../migrate-settings.ts";
import { applyMigrations } from "../migrations.ts";
import { shadowRefused } from "../shadow-refused.ts";

const [command, ...args] = process.argv.slice(2);

try {
  const options = { message: { type: "string", short: "m" } } as const;
  const { values } = parseArgs({ args, options });
  const url = await ownerUrl(process.env);
  const settings = await migrateSettings(url, process.env, console.log);
  if (command === "migrate") await applyMigrations(url, MIGRATIONS_FOLDER, console.log);
  else if (command === "uncommit") await uncommit(settings);
  else if (command === "commit") {
    await retryLocks(
      url,
      (connectionString) => commit({ ...settings, connectionString }, values.message),
      console.log,
    ).catch((error: unknown) => {
      // What is wrong with the change itself is not about the shadow.
      const isOfChange = (error as { _gmlogged?: boolean })._gmlogged === true;
      throw isOfChange ? error : shadowRefused(error, shadowUrls(url, process.env).root);
    });
  } else throw new Error("migrate, commit or uncommit is needed.");
} catch (error) {
  console.error(errorText(error));
  process.exitCode = 1;
}
