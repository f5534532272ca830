// npm run db:migrate, db:commit, db:uncommit, db:status: graphile-migrate on the
// database, its shadow and its root connection, which this finds.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MIGRATIONS_FOLDER } from "../committed.ts";
import { urlForRole } from "../connect.ts";
import { ownerUrl, shadowUrls } from "../locate.ts";
import { inTurn, prepareMigrations } from "../migrations.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

try {
  const url = await ownerUrl(process.env);
  const args = process.argv.slice(2);
  const run = (): Promise<number> => graphileMigrate(args, connections(url));
  const migrate = async (): Promise<number> => {
    for (const index of await prepareMigrations(url, MIGRATIONS_FOLDER)) {
      console.log(`Dropped ${index}, which was broken off while it was made: it is made again.`);
    }
    return run();
  };
  process.exitCode = args[0] === "migrate" ? await inTurn(url, migrate) : await run();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/** The environment that graphile-migrate reads. Its own two variables win where they are given. */
function connections(url: string): Record<string, string> {
  const { shadow, root } = shadowUrls(url, process.env);
  return {
    DATABASE_URL: urlForRole(url, "dex_owner"),
    SHADOW_DATABASE_URL: urlForRole(shadow, "dex_owner"),
    // Makes the shadow afresh, so it is in neither of the two.
    ROOT_DATABASE_URL: root,
  };
}

/** Runs its command line, and resolves to the exit code. */
function graphileMigrate(args: string[], env: Record<string, string>): Promise<number> {
  const library = createRequire(import.meta.url).resolve("graphile-migrate");
  const child = spawn(process.execPath, [join(dirname(library), "cli.js"), ...args], {
    // Where .gmrc is.
    cwd: REPOSITORY,
    env: { ...process.env, ...env },
    stdio: "inherit",
  });
  // Ctrl-C reaches both; this one waits for the other.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
}
