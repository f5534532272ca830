// npm run db:lint: refuses migrations that would lock out the readers, take something away from them,
// or show them something undescribed. Exits 0 where none does, 1 where one does, 2 where it cannot look.
import { readdir, readFile } from "node:fs/promises";
import {
  getCurrentMigrationLocation,
  readCurrentMigration,
} from "graphile-migrate/dist/current.js";
import type { ParsedSettings } from "graphile-migrate/dist/settings.js";
import { cleanOnSignals, readCommandLine } from "../db/command-line.ts";
import { committedFiles, MIGRATIONS_FOLDER } from "../db/committed.ts";
import { startTemporary } from "../db/embedded/temporary.ts";
import { errorText } from "../db/error-text.ts";
import { lintMigration, type LintResult, type MigrationText } from "../db/lint/lint-migrations.ts";
import { readReaders } from "../db/lint/readers.ts";
import { reportLines } from "../db/lint/lint-report.ts";
import { LintShadow } from "../db/lint/lint-shadow.ts";
import { ownSchemas } from "../db/exposed-schemas.ts";
import { shadowUrls } from "../db/locate.ts";
import { lostBetween, sdlReader } from "../graphql/schema/sdl.ts";

/** The last of the migrations that were there before the linter's last rule, and are history. */
const BASELINE = "000001";

const USAGE = `Usage: npm run db:lint [-- options] [FILE …]

Refuses migrations that lock out readers, take something from them, or show them something undescribed:
FILE …, each alone, or what is committed after the baseline and the current one. db/lint/README.md has the
rules. A migration is tried in a temporary database, on the server of SHADOW_DATABASE_URL and
ROOT_DATABASE_URL, else on an embedded one that is started for it. GraphQL's schema is made of it, with
EXPOSED_SCHEMAS.

  --in-order  lint each FILE after the one before it
  --after N   lint what is committed after migration N, such as 000001
  --json      print one object
  --help      show this`;

/** A migration, and the committed ones before it. */
interface Task {
  before: string[];
  files: MigrationText[];
}

const { values, positionals } = readCommandLine({
  usage: USAGE,
  options: {
    json: { type: "boolean", default: false },
    after: { type: "string" },
    "in-order": { type: "boolean", default: false },
  },
  max: Infinity,
});

let close: (() => Promise<void>) | undefined;
cleanOnSignals(2, () => close?.());

try {
  const tasks = await choose(values.after, positionals);
  const results = await lintAll(tasks, values["in-order"]);
  const result = {
    linted: tasks.flatMap(({ files }) => files).map(({ file }) => file),
    findings: results.flatMap(({ findings }) => findings),
    overruled: results.reduce((sum, { overruled }) => sum + overruled, 0),
  };
  console.log(values.json ? JSON.stringify(result, null, 2) : reportLines(result).join("\n"));
  process.exitCode = result.findings.length === 0 ? 0 : 1;
} catch (error) {
  console.error(`The migrations cannot be linted: ${errorText(error)}`);
  process.exitCode = 2;
}

async function lintAll(tasks: Task[], inOrder: boolean): Promise<LintResult[]> {
  // A migration without a statement needs no database.
  const isNeeded = tasks.some(({ files }) => files.some(({ text }) => /^\s*[^\s-]/m.test(text)));
  if (!isNeeded) return [];
  const exposed = ownSchemas(process.env["EXPOSED_SCHEMAS"]);
  const readers = await readReaders();
  const given = process.env["SHADOW_DATABASE_URL"] ?? "";
  const server = given === "" ? await startTemporary() : undefined;
  const shadow = new LintShadow(
    server === undefined
      ? shadowUrls(given, process.env)
      : { shadow: server.url, root: server.url },
    sdlReader(exposed),
  );
  close = async () => {
    await shadow.drop();
    await server?.stop();
  };
  try {
    const results: LintResult[] = [];
    for (const [index, { before, files }] of tasks.entries()) {
      if (!inOrder || index === 0) await shadow.reach(before);
      results.push(await lintMigration(files, { shadow, readers, lostBetween, keep: inOrder }));
    }
    return results;
  } finally {
    await close();
  }
}

async function choose(after: string | undefined, named: string[]): Promise<Task[]> {
  const committed = await committedFiles();
  if (named.length > 0) {
    return Promise.all(
      named.map(async (name) => {
        // Before a committed file are those before it; before any other, all.
        const index = committed.findIndex((file) => name.endsWith(`committed/${file}`));
        return {
          before: index === -1 ? committed : committed.slice(0, index),
          files: [{ file: name, text: await readFile(name, "utf8") }],
        };
      }),
    );
  }
  const last = after ?? BASELINE;
  const first = committed.findIndex((file) => file.startsWith(last)) + 1;
  if (!/^\d{6}$/.test(last) || first === 0) {
    throw new Error(
      `--after ${last} names no committed migration; it takes a number such as ${BASELINE}`,
    );
  }
  const later = committed.slice(first).map(async (file, index) => ({
    before: committed.slice(0, first + index),
    files: await ours([`committed/${file}`]),
  }));
  // The files of current/ become one migration.
  const current = { before: committed, files: await ours(await currentFiles()) };
  return [...(await Promise.all(later)), current];
}

/**
 * Those of current/ by their number, or current.sql where that is in its place: a migration without a
 * transaction. Throws where graphile-migrate would not read them.
 */
async function currentFiles(): Promise<string[]> {
  const settings = { migrationsFolder: MIGRATIONS_FOLDER } as ParsedSettings;
  const location = await getCurrentMigrationLocation(settings);
  await readCurrentMigration(settings, location);
  if (location.isFile) return location.exists ? ["current.sql"] : [];
  return (await readdir(location.path))
    .filter((name) => name.endsWith(".sql") && !name.startsWith("."))
    .sort((one, other) => Number.parseInt(one) - Number.parseInt(other))
    .map((name) => `current/${name}`);
}

function ours(files: string[]): Promise<MigrationText[]> {
  return Promise.all(
    files.map(async (file) => ({
      file: `db/migrations/${file}`,
      text: await readFile(`${MIGRATIONS_FOLDER}/${file}`, "utf8"),
    })),
  );
}
