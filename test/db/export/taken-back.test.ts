// Days that were exported and are taken back: an export is refused then, and lists no day of which it did not see that it is final.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client, Database } from "../../../db/connect.ts";
import { checkFolder } from "../../../db/export/check-files.ts";
import { exportDays } from "../../../db/export/export-days.ts";
import { readManifest } from "../../../db/export/manifest.ts";
import { makeDatabase, openClient, type TestDatabase } from "../../database.ts";

let dir: string;
let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "dex-taken-back-"));
  await database.empty();
});
afterEach(() => rm(dir, { recursive: true }));

const exportFinal = (finality?: number) => exportDays({ url: database.url, dir, finality });

/** A block of a cancellation, or without rows. */
async function write(
  number: number,
  at: string,
  { isEmpty = false, db = database.writer }: { isEmpty?: boolean; db?: Database } = {},
): Promise<void> {
  const killed = isEmpty ? [] : [Date.parse(`2026-01-${at}Z`) / 1000 - 1_767_000_000];
  await db.query("select ingest.write_block($1, $2, killed => $3)", [
    ...[number, `2026-01-${at}Z`],
    killed,
  ]);
}

const takeBack = (to: number, db: Database = database.writer): Promise<unknown> =>
  db.query("select ingest.take_back($1)", [to]);

const listed = async (): Promise<unknown[]> =>
  ((await readManifest(dir))?.days ?? []).map(({ day, lastBlock }) => [day, lastBlock]);

/** Expects that the export names this day, and writes nothing. */
async function expectRefusal(day: string): Promise<void> {
  const written = async (): Promise<unknown[]> => [
    (await readdir(dir)).filter((name) => !name.startsWith("lock")).sort(),
    await readFile(join(dir, "manifest.json")),
  ];
  const before = await written();
  const digest = (await readManifest(dir))!.days.find((known) => known.day === day)!.digest;
  await expect(exportFinal()).rejects.toThrow(
    `the folder is of other facts: at the end of ${day} its digest is ${digest}, and that of the database 0x`,
  );
  expect(await written()).toEqual(before);
}

describe("a folder is refused where the database then has", () => {
  it("a later block of the last listed day", async () => {
    await write(1, "01T10:00:00");
    await write(2, "02T00:00:05");
    await exportFinal(0);
    expect(await listed()).toEqual([["2026-01-01", 1]]);
    await takeBack(1);
    await write(2, "01T23:59:58");
    await write(3, "02T00:00:10");
    await write(500, "10T00:00:00");
    await expectRefusal("2026-01-01");
  });

  it("blocks of a day that was listed without rows", async () => {
    await write(1, "01T10:00:00");
    await write(2, "08T00:00:05", { isEmpty: true });
    await database.writer.query("select ingest.checked_to(2, null)");
    await exportFinal();
    expect(await listed()).toHaveLength(7);
    await takeBack(1);
    for (const day of [3, 4]) await write(100 + day, `0${day}T00:00:05`);
    await write(500, "10T00:00:00");
    await write(600, "11T00:00:00");
    await expectRefusal("2026-01-03");
  });

  it("other blocks than those of several days", async () => {
    for (const day of [1, 2, 3, 4]) await write(1000 * day, `0${day}T10:00:00`);
    await exportFinal();
    expect(await listed()).toHaveLength(2);
    await takeBack(1000);
    await write(1500, "01T20:00:00");
    await write(2500, "02T20:00:00");
    await write(3000, "03T10:00:00");
    await expectRefusal("2026-01-01");
  });
});

/** Exports, and has `act` done in one transaction after the first day was read and before the second is. */
async function exportWhile(act: (db: Client) => Promise<unknown>): ReturnType<typeof exportDays> {
  await using db = await openClient(database.url);
  await db.query("begin");
  await db.query("lock table dex_token in access exclusive mode");
  const exporting = exportFinal(0);
  // A transaction has one look at what others wait for.
  await using looking = await openClient(database.url);
  for (let waiting = 0; waiting === 0;) {
    const { rowCount } = await looking.query(
      "select from pg_stat_activity where datname = current_database() and application_name = 'dex export' and wait_event_type = 'Lock'",
    );
    waiting = rowCount ?? 0;
  }
  await act(db);
  await db.query("commit");
  return await exporting;
}

describe("while days are exported", () => {
  beforeEach(async () => {
    for (const day of [1, 2, 3, 6]) await write(day, `0${day}T10:00:00`);
  });

  it("lists no day that is not final any more", async () => {
    await exportWhile((db) => takeBack(2, db));
    expect(await listed()).toEqual([["2026-01-01", 1]]);
    for (const day of [3, 6]) await write(day, `0${day}T10:00:00`);
    await exportFinal(0);
    expect(await listed()).toEqual([
      ...[1, 2, 3].map((day) => [`2026-01-0${day}`, day]),
      ...[4, 5].map((day) => [`2026-01-0${day}`, null]),
    ]);
    expect((await checkFolder(dir)).problems).toEqual([]);
  });

  it("ends with the first listed day that is not the database's any more", async () => {
    const exporting = exportWhile(async (db) => {
      await takeBack(1, db);
      await write(2, "01T23:59:58", { db });
      for (const day of [3, 6]) await write(day, `0${day}T10:00:00`, { db });
    });
    await expect(exporting).rejects.toThrow(
      "the folder is of other facts: at the end of 2026-01-01 its digest is 0x",
    );
    expect(await listed()).toEqual([["2026-01-01", 1]]);
  });
});
