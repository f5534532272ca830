// Checks that the committed migrations are unchanged, and that the database has them all.
import type { CommittedMigration, RecordedMigration } from "../committed.ts";
import type { Finding } from "./finding.ts";

const FOLDER = "db/migrations/committed";

const finding = (object: string, problem: string, remedy: string): Finding => ({
  check: "migrations",
  object,
  problem,
  remedy,
});

/** Finds files whose content or order does not match their headers. */
export function findChangedFiles(committed: CommittedMigration[]): Finding[] {
  return committed.flatMap((migration, index) => {
    const before = committed[index - 1];
    const object = `${FOLDER}/${migration.file}`;
    const changed = finding(
      object,
      "it has been changed since it was committed: its hash differs from its header's",
      `Restore it (git checkout ${object}), and write the change as a new migration.`,
    );
    const unchained = finding(
      object,
      `its header does not name the hash of ${before?.file ?? "an empty history"}, the one before it`,
      "Two migrations have the same predecessor, or one is missing: `npm run db:uncommit` the later " +
        "one and commit it again.",
    );
    return [
      ...(migration.actualHash === migration.hash ? [] : [changed]),
      ...(migration.previousHash === (before?.hash ?? null) ? [] : [unchained]),
    ];
  });
}

/** Recorded migrations that the folder lacks or has with another hash. */
export function findForeignRecords(
  committed: CommittedMigration[],
  recorded: RecordedMigration[],
): Finding[] {
  const byName = new Map(committed.map((migration) => [migration.recordedAs, migration]));
  return recorded.flatMap(({ filename, hash }): Finding | [] => {
    const migration = byName.get(filename);
    if (migration === undefined) {
      return finding(
        `migration ${filename}`,
        `the database has it, but ${FOLDER} lacks it`,
        "Check the database with the release that migrated it, or a later one.",
      );
    }
    if (migration.hash === hash) return [];
    return finding(
      `${FOLDER}/${migration.file}`,
      "the database has a different migration of this number",
      "Find out which of the two is right. Write what the database lacks as a new migration.",
    );
  });
}

/** The number of migrations up to the last recorded one. */
export function countReached(
  committed: CommittedMigration[],
  recorded: RecordedMigration[],
): number {
  const names = new Set(recorded.map(({ filename }) => filename));
  return committed.findLastIndex(({ recordedAs }) => names.has(recordedAs)) + 1;
}

/** Migrations that are pending, or missing from the record between others. */
export function findPending(
  committed: CommittedMigration[],
  recorded: RecordedMigration[],
): Finding[] {
  const names = new Set(recorded.map(({ filename }) => filename));
  const reached = countReached(committed, recorded);
  return committed.flatMap(({ file, recordedAs, hash, previousHash }, index) => {
    if (names.has(recordedAs)) return [];
    const object = `${FOLDER}/${file}`;
    if (index >= reached) {
      return finding(object, "the database lacks it", "Apply it with `npm run db:migrate`.");
    }
    const values = [hash, previousHash, recordedAs].map((text) =>
      text === null ? "null" : `'${text}'`,
    );
    return finding(
      object,
      "the database's record lacks it, but has later ones",
      "The missing parts are reported as drift: apply them by hand. Then record the migration, which " +
        "`npm run db:migrate` cannot do: insert into graphile_migrate.migrations (hash, previous_hash, " +
        `filename) values (${values.join(", ")});`,
    );
  });
}
