// What `npm run db:watch` says of a change that PostgreSQL refuses.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeRoles } from "../../db/create-roles.ts";
import { copyRepository, type RepositoryCopy } from "../repository-copy.ts";
import { useDatabase } from "../served.ts";
import { runFile, type Ended } from "../service.ts";

let copy: RepositoryCopy;
const database = useDatabase();
beforeAll(async () => {
  copy = await copyRepository();
  // Rights on a database do not go with its template.
  await makeRoles(database.url);
});
afterAll(async () => {
  await copy.remove();
});

/** Applies these files of `current/` once. */
async function watchOnce(files: Record<string, string>): Promise<Ended> {
  for (const [name, sql] of Object.entries(files)) {
    await writeFile(join(copy.folder, "db/migrations/current", name), sql);
  }
  const env = { DATABASE_OWNER_URL: database.url };
  return runFile("db/commands/watch.ts", env, ["--once"], copy.folder).ended;
}

const lines = ({ stdout }: Ended): string[] =>
  stdout.split("\n").filter((line) => !line.startsWith("graphile-migrate:"));

it("names the file, line and column that PostgreSQL means, with its hint", async () => {
  const ended = await watchOnce({
    "1-current.sql": "\n\n-- é: what is written in more than a byte counts as one.\nselect 1;\n",
    "2-view.sql":
      "--! Message: of two files\n\ncreate view seen as\nselect\n  token.adress\nfrom dex_token as token;\n",
  });

  expect(ended.code).toBe(1);
  expect(lines(ended)).toEqual([
    "db/migrations/current/2-view.sql:5:3: column token.adress does not exist (42703)",
    'Hint: Perhaps you meant to reference the column "token.address".',
    "  create view seen as",
    "  select",
    "    token.adress",
    "    ^",
    "Nothing was applied.",
    "",
  ]);
});

it("names the statement where PostgreSQL says no place, with its detail, and applies nothing", async () => {
  const ended = await watchOnce({
    "1-current.sql": "create table seen (id integer);\n\n-- é\ncreate table later (id integer);\n",
    "2-view.sql":
      "insert into seen values (1);\n\n-- Two of a kind.\ninsert into seen values (1);\nalter table seen\nadd unique (id);\n",
  });

  expect(ended.code).toBe(1);
  expect(lines(ended).slice(0, 2)).toEqual([
    'db/migrations/current/2-view.sql:5: could not create unique index "seen_id_key" (23505)',
    "Detail: Key (id)=(1) is duplicated.",
  ]);
  const { rows } = await database.owner.query("select to_regclass('seen') as seen");
  expect(rows).toEqual([{ seen: null }]);
});

it("says what it cannot find a place for", async () => {
  const ended = await watchOnce({
    "1-current.sql": "select 1;",
    "2-view.sql": "select 1;",
    "02-again.sql": "select 2;",
  });
  expect(ended.code).toBe(1);
  expect(ended.stdout).toContain("files must have a unique numeric prefix");
});

it("applies each save, and goes on after one that is refused", async () => {
  const current = join(copy.folder, "db/migrations/current/1-current.sql");
  const save = (sql: string): Promise<void> => writeFile(current, sql);
  for (const name of ["2-view.sql", "02-again.sql"]) {
    await rm(join(copy.folder, "db/migrations/current", name), { force: true });
  }
  await save("create table if not exists saved (id integer);\n");
  const env = { DATABASE_OWNER_URL: database.url };
  const watching = runFile("db/commands/watch.ts", env, [], copy.folder);
  await watching.printed(/current: applied/);
  await save("create table if not exists saved (id integer);\nselec;\n");
  await watching.printed(/1-current\.sql:2:1: syntax error[^]*Nothing was applied\./);
  await save("drop table if exists saved;\n");
  await watching.printed(/Nothing was applied[^]*current: applied/);
  watching.signal("SIGTERM");
  const { stdout } = await watching.ended;

  expect(stdout.match(/Already up to date/g)).toHaveLength(1);
  const { rows } = await database.owner.query("select to_regclass('saved') as saved");
  expect(rows).toEqual([{ saved: null }]);
});
