// Goes through the tutorial of db/tutorial.md as it stands there, in a fresh copy of the repository:
// its commands, its SQL, its queries, and each must give what stands below it. `npm run
// tutorial:print` writes the answers anew. The database is the embedded one, as on the page, or where the
// tests are given another PostgreSQL, one of that.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { shadowUrls } from "../../db/locate.ts";
import { makeRoles } from "../../db/create-roles.ts";
import { answeredPage } from "../answered-page.ts";
import { clusterUrl, makeDatabase, openClient, type TestDatabase } from "../database.ts";
import { copyRepository, type RepositoryCopy } from "../repository-copy.ts";
import { DataDirs, runShell, type Service } from "../service.ts";

const PAGE = fileURLToPath(new URL("../../db/tutorial.md", import.meta.url));
const isWriting = process.env["WRITE_TUTORIAL"] !== undefined;

/** Within so long a saved change must be seen; where answers are written, it is waited for. */
const SEEN_MS = isWriting ? 5000 : 30_000;

/** The watch has said all of a save when it has said nothing for so long. */
const QUIET_MS = 1000;
const LOOK_MS = 50;

const isOnOther = ["TEST_POSTGRES_BIN", "TEST_POSTGRES_URL"].some(
  (variable) => process.env[variable] !== undefined,
);
const dataDirs = new DataDirs();
let database: TestDatabase | undefined;
let copy: RepositoryCopy;
let env: Record<string, string>;
let service: Service | undefined;
let watch: Service | undefined;
/** How much the watch had printed before the last save, and what it said of that. */
let looked = 0;
let said = "";
/** What was in the file before it. */
let accepted = "";

beforeAll(async () => {
  copy = await copyRepository();
  if (isOnOther) {
    database = await makeDatabase();
    await makeRoles(database.url);
    env = { DATABASE_URL: database.url, PORT: "0" };
  } else {
    env = { DATA_DIR: await dataDirs.make(), PORT: "0" };
  }
});
afterAll(async () => {
  await stopWatch();
  service?.signal("SIGTERM");
  await service?.ended;
  await dataDirs.remove();
  await copy.remove();
  if (database !== undefined) {
    await dropShadow(database.url);
    await database.drop();
  }
});

/** `db:commit` leaves it, for the next commit. */
async function dropShadow(url: string): Promise<void> {
  const shadow = new URL(shadowUrls(url, {}).shadow).pathname.slice(1);
  await using admin = await openClient(clusterUrl());
  await admin.query(`drop database if exists ${shadow} with (force)`);
}

const shell = (commands: string): Service => runShell(commands, env, copy.folder);

async function stopWatch(): Promise<void> {
  watch?.signal("SIGTERM");
  await watch?.ended;
  watch = undefined;
}

/** What the watch says of a save, once it has said all of it. */
async function watched(watching: Service): Promise<string> {
  let said = "";
  let quietMs = 0;
  while (!said.includes("applied") || quietMs < QUIET_MS) {
    await sleep(LOOK_MS);
    const now = watching.output().slice(looked);
    quietMs = now === said ? quietMs + LOOK_MS : 0;
    said = now;
  }
  return said.trim();
}

async function runShellBlock(commands: string): Promise<void> {
  if (commands.includes("npm start")) {
    service = shell(`export ${commands.replace("npm start", "; exec npm start")}`);
    await service.url;
  } else if (commands === "npm run db:watch") {
    watch = shell("exec npm run --silent db:watch");
    await watch.printed(/applied|unchanged/);
  } else {
    await stopWatch();
    const { code, stderr } = await shell(commands).ended;
    expect([commands, code, stderr]).toEqual([commands, 0, ""]);
  }
}

/** Adds a block to the change that is being written, in place of one that was refused. */
async function save(sql: string): Promise<void> {
  const folder = join(copy.folder, "db/migrations");
  const files = await readdir(folder);
  const file = join(folder, files.includes("current") ? "current/1-current.sql" : "current.sql");
  const text = said.includes("Nothing was applied") ? accepted : await readFile(file, "utf8");
  const isOfItsOwn = sql.startsWith("--! no-transaction");
  accepted = text;
  looked = watch?.output().length ?? 0;
  await writeFile(file, isOfItsOwn ? `${sql}\n` : `${text}\n${sql}\n`);
  said = watch === undefined ? "" : await watched(watch);
}

async function outputOf(command: string): Promise<string> {
  if (command === "npm run db:watch") return asPrinted(said);
  const { code, stdout, stderr } = await shell(command.replace("run", "run --silent")).ended;
  expect([command, code, stderr]).toEqual([command, 0, ""]);
  return asPrinted(stdout);
}

/** No two runs take as long, and what becomes of the shadow is left out. */
const asPrinted = (output: string): string =>
  output
    .trim()
    .replace(/\d+ ms/g, "26 ms")
    .replace(/(graphile-migrate\[shadow\]: .*\n)+/g, "…\n");

async function ask(query: string): Promise<unknown> {
  const response = await fetch(`${await service!.url}/graphql`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query }),
  });
  return response.json();
}

/** The answer once it is that of the page, as it must be before long; else what it is by then. */
async function answerTo(query: string, onPage: string): Promise<unknown> {
  const expected = JSON.stringify(JSON.parse(onPage));
  const until = performance.now() + SEEN_MS;
  let answer = await ask(query);
  while (JSON.stringify(answer) !== expected && performance.now() < until) {
    await sleep(LOOK_MS);
    answer = await ask(query);
  }
  return answer;
}

it("gives what stands on the page", async () => {
  const tutorial = await readFile(PAGE, "utf8");
  const current = await answeredPage(tutorial, {
    run: outputOf,
    ask: answerTo,
    shell: runShellBlock,
    sql: save,
  });
  if (isWriting) await writeFile(PAGE, current);
  expect(tutorial.match(/^```graphql$/gm)?.length).toBeGreaterThanOrEqual(6);
  expect(await readFile(PAGE, "utf8")).toBe(current);
});
