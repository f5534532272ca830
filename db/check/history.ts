// Whether the committed migrations are as they were committed, and the database has them all.
import type { CommittedMigration } from "../committed.ts";
import type { Database } from "../connect.ts";
import type { Finding } from "./finding.ts";

/** A migration that a database has on record. */
export interface RecordedMigration {
  filename: string;
  hash: string;
}

const FOLDER = "db/migrations/committed";

/** The migrations that the database has, oldest first; none where it was never migrated. */
export async function recordedMigrations(db: Database): Promise<RecordedMigration[]> {
  const { rows } = await db.query<{ known: boolean }>(
    "select to_regclass('graphile_migrate.migrations') is not null as known",
  );
  if (rows[0]?.known !== true) return [];
  const recorded = await db.query<RecordedMigration>(
    "select filename, hash from graphile_migrate.migrations order by filename",
  );
  return recorded.rows;
}

/** What is wrong with the files themselves. */
export function findChangedFiles(committed: CommittedMigration[]): Finding[] {
  return committed.flatMap((migration, index) => {
    const before = committed[index - 1];
    const object = `${FOLDER}/${migration.file}`;
    const changed: Finding = {
      check: "migrations",
      object,
      problem: "it has been changed since it was committed: its hash is no longer its header's",
      remedy: `Take it back as it was (git checkout ${object}), and write the change as a new migration.`,
    };
    const unchained: Finding = {
      check: "migrations",
      object,
      problem: `it does not follow on ${before?.file ?? "nothing"}, which is before it`,
      remedy:
        "Two have got one place, or one is gone: `npm run db:uncommit` the later, and commit it again.",
    };
    return [
      ...(migration.actualHash === migration.hash ? [] : [changed]),
      ...(migration.previousHash === (before?.hash ?? null) ? [] : [unchained]),
    ];
  });
}

/** How what the database has differs from the files, but for those that it lacks. */
export function findForeignRecords(
  committed: CommittedMigration[],
  recorded: RecordedMigration[],
): Finding[] {
  const byName = new Map(committed.map((migration) => [migration.recordedAs, migration]));
  return recorded.flatMap(({ filename, hash }): Finding[] => {
    const migration = byName.get(filename);
    if (migration === undefined) {
      return [
        {
          check: "migrations",
          object: `migration ${filename}`,
          problem: `the database has it, and ${FOLDER} has not`,
          remedy: "Check the database with the release that migrated it, or a later one.",
        },
      ];
    }
    if (migration.hash === hash) return [];
    return [
      {
        check: "migrations",
        object: `${FOLDER}/${migration.file}`,
        problem: "the database has applied another one of this number",
        remedy:
          "Find out which of the two is right. What the database lacks of this one becomes a new migration.",
      },
    ];
  });
}

/** How many migrations a database has been through: up to the last one on record. */
export function countReached(
  committed: CommittedMigration[],
  recorded: RecordedMigration[],
): number {
  const names = new Set(recorded.map(({ filename }) => filename));
  return committed.findLastIndex(({ recordedAs }) => names.has(recordedAs)) + 1;
}

/** The migrations that the database lacks, or its record. */
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
      return [
        {
          check: "migrations",
          object,
          problem: "the database lacks it",
          remedy: "Apply it by `npm run db:migrate`.",
        },
      ];
    }
    const values = [hash, previousHash, recordedAs].map((text) =>
      text === null ? "null" : `'${text}'`,
    );
    return [
      {
        check: "migrations",
        object,
        problem: "the database's record lacks it, and has later ones",
        remedy:
          "What it lacks of this migration is told as drift: apply that by hand. Then record it, as " +
          "`npm run db:migrate` cannot: insert into graphile_migrate.migrations (hash, previous_hash, " +
          `filename) values (${values.join(", ")});`,
      },
    ];
  });
}
