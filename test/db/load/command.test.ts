// The command `npm run load`: its output and exit codes.
import { execFile, type ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDatabase, openClient } from "../../database.ts";
import { aHash, anAddress, DAI, WETH } from "../../factories.ts";
import { useDatabase } from "../../served.ts";

let folder: string;
const database = useDatabase();
beforeEach(async () => {
  await database.empty();
  folder = await mkdtemp(join(tmpdir(), "dex-load-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

interface Outcome {
  exitCode: number;
  stdout: string;
  stderr: string;
}

function load(
  args: string[],
  env: NodeJS.ProcessEnv = {},
  onStart: (child: ChildProcess) => void = () => undefined,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ["db/commands/load.ts", ...args],
      { env: { ...process.env, DATABASE_OWNER_URL: database.url, ...env } },
      (_error, stdout, stderr) => resolve({ exitCode: child.exitCode ?? -1, stdout, stderr }),
    );
    onStart(child);
  });
}

async function writeFiles(tradeAmount = "1.5"): Promise<void> {
  const files: Record<string, string> = {
    "tokens.csv": `address,symbol,decimals,name\n${WETH},WETH,18,Wrapped Ether\n${DAI},DAI,18,\n`,
    "pairs.csv": "base,quote,active\nWETH,DAI,true\n",
    "trades.csv":
      "offer_id,maker,taker,lot_gem,lot_amt,bid_gem,bid_amt,block,time,tx\n" +
      `1,${anAddress("maker")},${anAddress("taker")},${WETH},${tradeAmount},${DAI},300,` +
      `7610973,2018-06-08 12:01:28+00,${aHash("trade")}\n`,
  };
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder, name), content);
  }
}

it("loads a folder, and prints a summary", async () => {
  await writeFiles();

  expect(await load([folder])).toEqual({
    exitCode: 0,
    stdout:
      "tokens: 2 added, 0 changed, 0 as they were\n" +
      "pairs: 1 added, 0 changed, 0 as they were\n" +
      "trades: 1 added, 0 changed, 0 as they were\n" +
      "The head is now block 7610973 of 2018-06-08T12:01:28.000Z.\n",
    stderr: "",
  });
  const { rows } = await database.reader.query("select market, price from dex_trade");
  expect(rows).toEqual([{ market: "WETHDAI", price: "200.000000000000000000" }]);
});

it("prints that nothing is new if it loads the same folder again", async () => {
  await writeFiles();
  await load([folder]);

  expect(await load([folder])).toEqual({
    exitCode: 0,
    stdout:
      "tokens: 0 added, 0 changed, 2 as they were\n" +
      "pairs: 0 added, 0 changed, 1 as they were\n" +
      "trades: 0 added, 0 changed, 1 as they were\n" +
      "The head is where it was.\n",
    stderr: "",
  });
});

it("prints the head where the database has another style of dates", async () => {
  await writeFiles();
  const name = new URL(database.url).pathname.slice(1);
  await using admin = await openClient(database.url);
  await admin.query(`alter database ${name} set datestyle = 'SQL, DMY'`);
  try {
    expect(await load([folder])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("7610973 of 2018-06-08T12:01:28.000Z.\n"),
      stderr: "",
    });
  } finally {
    await admin.query(`alter database ${name} reset datestyle`);
  }
});

it("does not say that nothing was loaded where the connection is lost at the commit", async () => {
  await writeFiles();
  await using admin = await openClient(database.url);
  await admin.query(`
    create function site_end() returns trigger language plpgsql security definer
      as 'begin perform pg_terminate_backend(pg_backend_pid()); return null; end';
    create constraint trigger site_end after insert on dex_trade deferrable initially deferred
      for each row execute function site_end()`);
  try {
    expect(await load([folder])).toEqual({
      exitCode: 1,
      stdout: "",
      stderr:
        "The connection was lost at the commit, and whether all or nothing was loaded is unknown: " +
        "terminating connection due to administrator command. The same command again loads what is missing\n",
    });
  } finally {
    await admin.query("drop trigger site_end on dex_trade; drop function site_end()");
  }
  expect(await load([folder])).toMatchObject({ exitCode: 0 });
});

it("leaves nothing behind if it is killed while it writes", async () => {
  await writeFiles();
  await using admin = await openClient(database.url);
  const isThere = async (query: string): Promise<boolean> =>
    (await admin.query(query)).rowCount !== 0;
  const until = async (condition: () => Promise<boolean>): Promise<void> => {
    while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  // The last write waits for this lock.
  await admin.query("begin");
  await admin.query("lock table dex_private.market_figure in share mode");
  await load([folder], {}, (child) => {
    void until(() => isThere("select from pg_locks where not granted")).then(() =>
      child.kill("SIGKILL"),
    );
  });
  await admin.query("commit");
  await until(
    async () =>
      !(await isThere(
        "select from pg_stat_activity where application_name = 'dex-market-data load' and datname = current_database()",
      )),
  );

  for (const table of ["dex_token", "dex_trade", "dex_block", "ingest.staged_trade"]) {
    expect((await database.writer.query(`select from ${table}`)).rowCount).toBe(0);
  }
  expect(await load([folder])).toMatchObject({ exitCode: 0 });
});

it("stops at a bad row with one line, and leaves the database unchanged", async () => {
  await writeFiles("1e5");

  expect(await load([folder])).toEqual({
    exitCode: 1,
    stdout: "",
    stderr:
      'Nothing was loaded: trades.csv line 2, column lot_amt: "1e5" is not accepted; expected a ' +
      "decimal number from 0 to below 10^78 with at most 18 fractional digits, without sign or " +
      "exponent\n",
  });
  expect((await database.reader.query("select from dex_token")).rowCount).toBe(0);
});

it("shows its usage with --help", async () => {
  expect(await load(["--help"])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining("Usage: npm run load -- DIR\n"),
    stderr: "",
  });
});

it.each([
  ["no folder", [], "DIR is missing. `--help` shows what is accepted."],
  ["two folders", ["a", "b"], "Unexpected argument 'b'"],
  ["an unknown option", ["--nohead", "a"], "Unknown option '--nohead'"],
])("rejects %s as wrong usage", async (_name, args, message) => {
  expect(await load(args)).toMatchObject({
    exitCode: 2,
    stdout: "",
    stderr: expect.stringContaining(message),
  });
});

it("reports in one line that a database lacks its tables", async () => {
  await using bare = await makeDatabase({ migrated: false });
  await writeFiles();

  const { exitCode, stderr } = await load([folder], { DATABASE_OWNER_URL: bare.url });

  expect({ exitCode, lines: stderr.trim().split("\n").length }).toEqual({
    exitCode: 1,
    lines: 1,
  });
  expect(stderr).toMatch(/^Nothing was loaded: the database lacks the tables .*db:migrate`\n$/);
});

it("reports in one line that no server answers", async () => {
  await writeFiles();

  // Port 1 is reserved, and nothing listens there.
  const { exitCode, stderr } = await load([folder], {
    DATABASE_OWNER_URL: "postgres://nobody@127.0.0.1:1/none",
  });

  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: "Nothing was loaded: connect ECONNREFUSED 127.0.0.1:1\n",
  });
});
