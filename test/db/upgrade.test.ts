// A database of each release since 1.0 is migrated to what is checked out, and answers as it did; released migrations stay.
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MIGRATIONS_FOLDER } from "../../db/committed.ts";
import { applyMigrations } from "../../db/migrations.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { release } from "../../http/release.ts";
import { makeTestApp } from "../app.ts";
import { makeDatabase, openClient, openPool } from "../database.ts";
import { folderOf, releases } from "../docs/contract/kept.ts";
import { aTrade, write } from "../factories.ts";
import { commitLater } from "../later-migration.ts";
import {
  answersOf,
  dumpedReleases,
  fillForDump,
  migrationsNow,
  readDump,
  rowsAsSql,
  writeDump,
  type Answers,
} from "./release-dumps.ts";

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true });
});

/** A copy of the migrations, the first so many of them. */
async function copyMigrations(count = Infinity): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dex-migrations-"));
  folders.push(folder);
  await cp(MIGRATIONS_FOLDER, folder, { recursive: true });
  for (const line of (await migrationsNow()).slice(count)) {
    await rm(join(folder, "committed", line.split(" ")[0]!));
  }
  return folder;
}

async function answer(url: string): Promise<Answers> {
  const pool = openPool(url, { role: "dex_reader", poolSize: 5 });
  const app = await makeTestApp(pool);
  try {
    return await answersOf(app);
  } finally {
    await app.close();
    await pool.end();
  }
}

beforeAll(async () => {
  if (process.env["WRITE_DUMP"] === undefined) return;
  const name = folderOf(release());
  const changelog = await readFile(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
  if (changelog.includes(`\n## ${name}`)) {
    throw new Error(`${name} is released: give package.json the next version before`);
  }
  await using database = await makeDatabase();
  await using writer = await openClient(database.url, { role: "dex_writer" });
  await fillForDump(writer);
  await using superuser = await openClient(database.url);
  const rows = await rowsAsSql(superuser);
  const answers = await answer(database.url);
  writeDump(name, { migrations: await migrationsNow(), rows, answers });
});

it("each release has a dump", () => {
  expect(dumpedReleases()).toEqual(releases());
});

describe.each(dumpedReleases())("of %s", (name) => {
  it("every migration is as it was", async () => {
    const now = await migrationsNow();
    const changed = readDump(name).migrations.filter((line, n) => now[n] !== line);
    const until = `Before ${name} is released, run \`npm run generate -- dump\`; from then on a change is another migration`;
    expect(changed.map((line) => `${line} is of ${name}, and now differs. ${until}.`)).toEqual([]);
  });

  it("a database is migrated, also by a migration that is yet to come, and answers as it did", async () => {
    const { migrations, rows, answers } = readDump(name);
    await using database = await makeDatabase({ migrated: false });
    await makeRoles(database.url);
    await applyMigrations(database.url, await copyMigrations(migrations.length));
    await using superuser = await openClient(database.url);
    await superuser.query(rows);
    const newer = await copyMigrations();
    await commitLater(newer, "create table public.later (id int primary key);");

    await applyMigrations(database.url, newer);

    await using owner = await openClient(database.url, { role: "dex_owner" });
    expect((await owner.query("select * from public.later")).rows).toEqual([]);
    expect(await verify(owner)).toEqual([]);
    // What is new is no change.
    expect(await answer(database.url)).toMatchObject(answers);
    await using writer = await openClient(database.url, { role: "dex_writer" });
    await write(writer, { trades: [aTrade({ hour: 27, offer_id: 1 })] });
    const last = await owner.query("select max(id)::int as id from dex_trade");
    // The trade that was taken back had id 5.
    expect(last.rows).toEqual([{ id: 6 }]);
    expect(await verify(owner)).toEqual([]);
  });
});
