// DuckDB reads the files that the service serves, and gets the figures of REST to the last digit. Its own reader of HTTP is an
// extension that its package for Node.js lacks and that is loaded from a site of DuckDB's. So the files are read over HTTP by ranges
// here, the end of a Parquet file first as DuckDB does, and put together for it.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { exportDays } from "../../db/export/export-days.ts";
import { parseManifest } from "../../db/export/manifest.ts";
import { duckdbLines } from "../../page/files-document.ts";
import { DAI, WETH } from "../factories.ts";
import { serveDatabase } from "../served.ts";
import { fillDays, HUGE, itHasFigures, plain, type Candle } from "./duckdb-figures.ts";

/** A part of its interface: types come with the package, which is installed for this suite alone. */
interface DuckDb {
  DuckDBInstance: {
    create: () => Promise<{
      connect: () => Promise<{
        runAndReadAll: (text: string) => Promise<{ getRows: () => unknown[][] }>;
        closeSync: () => void;
      }>;
    }>;
  };
}

const { DuckDBInstance } = createRequire(
  fileURLToPath(new URL("duckdb/package.json", import.meta.url)),
)("@duckdb/node-api") as DuckDb;

const dir = mkdtempSync(join(tmpdir(), "dex-duckdb-"));
const served = join(dir, "served");

const { app, database } = serveDatabase(fillDays, { filesDir: dir });

let duckdb: Awaited<ReturnType<Awaited<ReturnType<typeof DuckDBInstance.create>>["connect"]>>;
beforeAll(async () => {
  await exportDays({ url: database.url, dir, finality: 64 });
  await mkdir(served);
  const manifest = await (await fetch(`${app.url}/v2/files/`)).text();
  await writeFile(join(served, "manifest.json"), manifest);
  for (const day of parseManifest(manifest).days) {
    for (const { name, bytes } of day.files) await fetchByRanges(name, bytes);
  }
  duckdb = await (await DuckDBInstance.create()).connect();
});
afterAll(async () => {
  duckdb.closeSync();
  await rm(dir, { recursive: true });
});

const RANGE = 4000;

/** The last range first. */
async function fetchByRanges(name: string, bytes: number): Promise<void> {
  const handle = await open(join(served, name), "w");
  for (let at = RANGE * Math.floor((bytes - 1) / RANGE); at >= 0; at -= RANGE) {
    const headers = { Range: `bytes=${at}-${at + RANGE - 1}` };
    const part = await fetch(`${app.url}/v2/files/${name}`, { headers });
    expect(part.status).toBe(206);
    await handle.write(Buffer.from(await part.arrayBuffer()), 0, null, at);
  }
  await handle.close();
  expect((await readFile(join(served, name))).equals(await readFile(join(dir, name)))).toBe(true);
}

const rowsOf = async (text: string): Promise<unknown[][]> =>
  (await duckdb.runAndReadAll(text.replaceAll("files/", `${served}/`))).getRows();

itHasFigures(app, rowsOf);

it("has every trade with its amounts, those beyond 38 digits as text", async () => {
  const found = await rowsOf(`
    select coalesce(json_extract_string(beyond, '$.lot_amt'), lot_amt::varchar),
      coalesce(json_extract_string(beyond, '$.bid_amt'), bid_amt::varchar), bid_amt is null
    from 'files/trades-*.parquet'
    order by block, idx`);
  const { rows } = await database.reader.query<{ lot: string; bid: string }>(
    "select lot_amt::text as lot, bid_amt::text as bid from dex_trade where time < '2026-01-03' order by id",
  );
  expect(found.map(([lot, bid]) => [plain(lot), plain(bid)])).toEqual(
    rows.map(({ lot, bid }) => [plain(lot), plain(bid)]),
  );
  expect(found.filter(([, , isBeyond]) => isBeyond === true)).toHaveLength(1);
});

it("reads the files of the manifest by the statements of the page, and types them", async () => {
  const [base, trades, question] = duckdbLines("files/");
  await rowsOf(base!);
  await rowsOf(trades!);
  const found = await rowsOf(question!);
  const { rows } = await database.reader.query<{ trades: string; lot: string }>(
    `select count(*) as trades, sum(lot_amt)::text as lot from dex_trade
    where time < '2026-01-03' group by lot_gem, bid_gem order by count(*) desc`,
  );
  expect(found.map(([, , count]) => String(count))).toEqual(rows.map((row) => row.trades));
  const [[types]] = (await rowsOf(
    "select typeof(lot_amt) || ' ' || typeof(time) || ' ' || typeof(block) from 'files/trades-*.parquet' limit 1",
  )) as [[string]];
  expect(types).toBe("DECIMAL(38,18) TIMESTAMP WITH TIME ZONE INTEGER");
});

it("reads the files that docs/files.md copies by curl, which are all that the service has of Parquet", async () => {
  const page = await readFile(
    fileURLToPath(new URL("../../docs/files.md", import.meta.url)),
    "utf8",
  );
  const [, commands] = /```sh\n(.*?)```/s.exec(page)!;
  const copied = await mkdtemp(join(tmpdir(), "dex-copied-"));
  try {
    await promisify(execFile)(
      "sh",
      ["-ec", commands!.replaceAll("http://localhost:3000", app.url)],
      {
        cwd: copied,
      },
    );
    const folder = join(copied, "files");
    const names = (from: string): string[] =>
      readdirSync(from)
        .filter((name) => /\.parquet$|^manifest/.test(name))
        .sort();
    expect(names(folder)).toEqual(names(served));
    const answers: unknown[] = [];
    for (const from of [served, folder]) {
      const [set, list, question] = duckdbLines(`${from}/`);
      for (const text of [set!, list!]) await duckdb.runAndReadAll(text);
      answers.push((await duckdb.runAndReadAll(question!)).getRows());
    }
    expect(answers[1]).toEqual(answers[0]);
  } finally {
    await rm(copied, { recursive: true });
  }
});

it("reads the CSV files as the Parquet files, those without rows too", async () => {
  for (const kind of ["blocks", "trades", "offers", "ends", "pools", "candles"]) {
    const counts = await rowsOf(`
      select
        (select count(*) from read_csv('files/${kind}-*.csv.gz', all_varchar = true, header = true)),
        (select count(*) from 'files/${kind}-*.parquet')`);
    expect(counts[0]![0]).toEqual(counts[0]![1]);
  }
  const { days } = JSON.parse(await readFile(join(served, "manifest.json"), "utf8")) as {
    days: { digest: string }[];
  };
  const last = await rowsOf(
    "select digest from 'files/blocks-*.parquet' order by number desc limit 1",
  );
  expect(last).toEqual([[days.at(-1)!.digest]]);
});

it("the statements of docs/files.md run, and their tokens are columns", async () => {
  const page = await readFile(
    fileURLToPath(new URL("../../docs/files.md", import.meta.url)),
    "utf8",
  );
  const [first, second] = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, text]) => text!);
  expect(first!.trim().split("\n")).toEqual(duckdbLines("http://localhost:3000/v2/files/"));
  expect(
    await rowsOf(
      second!.replace(/base_gem = '0x[0-9a-f]{40}'/, `quote_gem = '${DAI.toLowerCase()}'`),
    ),
  ).not.toEqual([]);
});

it.each(["UTC", "America/New_York", "Asia/Kolkata"])(
  "examples/duckdb/ gives the candles of each day in UTC, in a session of %s",
  async (zone) => {
    const example = await readFile(
      fileURLToPath(new URL("../../examples/duckdb/volumes.sql", import.meta.url)),
      "utf8",
    );
    await rowsOf(`set timezone = '${zone}'`);
    const statements = example
      .replace("http://localhost:3000/v2/files/", "files/")
      .replaceAll(/^--.*$/gm, "")
      .split(";")
      .map((text) => text.trim())
      .filter((text) => text !== "");
    const results: unknown[][][] = [];
    for (const statement of statements) results.push(await rowsOf(statement));
    await rowsOf("set timezone = 'UTC'");
    const { body } = await app.request
      .get("/v2/candles/weth/dai?interval=1d&to=2026-01-03T00:00:00Z")
      .expect(200);
    const days = (body as { data: Candle[] }).data;
    expect(days.length).toBeGreaterThan(1);
    expect(
      results
        .at(-1)!
        .filter(([base]) => base === WETH.toLowerCase())
        .map(([, , day, ...rest]) => [String(day), ...rest.map(plain)]),
    ).toEqual(
      days.map(({ time, open, high, low, close, vol, quoteVol, trades }) => [
        `${time.slice(0, 10)} 00:00:00+00`,
        // The price of the second day is HUGE, which no column of Parquet has.
        ...(close === HUGE
          ? [...Array<string>(4).fill("null"), vol, "null", "1", "1"]
          : [open, high, low, close, vol, quoteVol, String(trades), "0"]),
      ]),
    );
    expect(days.at(-1)?.close).toBe(HUGE);
  },
);
