// npm run db:lint: refuses migrations that would lock out the readers, take something away from them,
// or show them something undescribed. Exits 0 where none does, 1 where one does, 2 where it cannot look.
import { readdir, readFile } from "node:fs/promises";
import { readCommandLine } from "../command-line.ts";
import { committedFiles, MIGRATIONS_FOLDER } from "../committed.ts";
import { lintMigration, standAfter, type LintResult, type MigrationText } from "../lint/lint.ts";
import { readReaders } from "../lint/published.ts";

/** The last of the migrations that were there before the linter's last rule, and are history. */
const BASELINE = "000001";

const USAGE = `Usage: npm run db:lint [-- options] [FILE …]

Refuses migrations that lock out readers, take something from them, or show them something undescribed:
FILE …, or what is committed after the baseline and the current one. db/lint/README.md has the rules.

  --after N  lint what is committed after migration N, such as 000001
  --json     print one object
  --help     show this`;

const { values, positionals } = readCommandLine({
  usage: USAGE,
  options: { json: { type: "boolean", default: false }, after: { type: "string" } },
  most: Infinity,
});

try {
  const { standing, linted } = await choose(values.after, positionals);
  const readers = await readReaders();
  const stands = await standAfter(standing);
  const results: LintResult[] = [];
  for (const files of linted) results.push(await lintMigration(files, stands, readers));
  const result = {
    linted: linted.flat().map(({ file }) => file),
    findings: results.flatMap(({ findings }) => findings),
    overruled: results.reduce((sum, { overruled }) => sum + overruled, 0),
  };
  console.log(values.json ? JSON.stringify(result, null, 2) : lines(result).join("\n"));
  process.exitCode = result.findings.length === 0 ? 0 : 1;
} catch (error) {
  console.error(`The migrations cannot be linted: ${(error as Error).message}`);
  process.exitCode = 2;
}

/** What is linted, and the migrations before it. */
async function choose(
  after: string | undefined,
  named: string[],
): Promise<{ standing: MigrationText[]; linted: MigrationText[][] }> {
  const committed = (await committedFiles()).map((name) => `committed/${name}`);
  const current = await currentFiles();
  if (named.length > 0) {
    // Of a committed file, those before it stand; of any other, all.
    const first = committed.findIndex((file) => named.some((name) => name.endsWith(file)));
    const before = first === -1 ? committed : committed.slice(0, first);
    return {
      standing: await ours(before),
      linted: (await Promise.all(named.map(read))).map((one) => [one]),
    };
  }
  const last = after ?? BASELINE;
  const index = committed.findIndex((file) => file.startsWith(`committed/${last}`));
  if (!/^\d{6}$/.test(last) || index === -1) {
    throw new Error(
      `--after ${last} names no committed migration; it takes a number such as ${BASELINE}`,
    );
  }
  return {
    standing: await ours(committed.slice(0, index + 1)),
    linted: [
      ...(await ours(committed.slice(index + 1))).map((one) => [one]),
      // Its files become one migration.
      await ours(current),
    ],
  };
}

/** Those of current/, or current.sql where that is in its place: a migration without a transaction. */
async function currentFiles(): Promise<string[]> {
  const found = await readdir(MIGRATIONS_FOLDER);
  if (!found.includes("current")) return found.filter((name) => name === "current.sql");
  return (await readdir(`${MIGRATIONS_FOLDER}/current`))
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => `current/${name}`);
}

async function read(path: string): Promise<MigrationText> {
  return { file: path, text: await readFile(path, "utf8") };
}

function ours(files: string[]): Promise<MigrationText[]> {
  return Promise.all(
    files.map(async (file) => ({
      file: `db/migrations/${file}`,
      text: await readFile(`${MIGRATIONS_FOLDER}/${file}`, "utf8"),
    })),
  );
}

function lines({ linted, findings, overruled }: LintResult & { linted: string[] }): string[] {
  const count = findings.length;
  return [
    `Linted ${linted.join(", ")}.`,
    ...findings.flatMap(({ file, line, rule, what, instead }) => [
      "",
      `${file}:${line} ${rule}`,
      `  ${what}.`,
      `  → ${instead.charAt(0).toUpperCase()}${instead.slice(1)}`,
    ]),
    "",
    `${count === 0 ? "Nothing" : count} refused${overruled === 0 ? "" : `, ${overruled} overruled`}.`,
  ];
}
