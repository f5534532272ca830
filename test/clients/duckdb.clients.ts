// DuckDB reads the exported Parquet files, and gets the figures of REST to the last digit.
import { mkdtempSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exportDays } from "../../db/export/export-days.ts";
import { duckdbLines } from "../../page/files-document.ts";
import { aTrade, DAI, MKR, registerMarkets, WETH, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";

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

const HUGE = "123456789012345678901.000000000000000001";
/** At odd seconds, so that candles have several trades; with amounts of all lengths. */
const TRADES = Array.from({ length: 300 }, (_, n) =>
  aTrade({
    hour: 1 + Math.floor((n * n) / 7) / 720,
    side: n % 3 === 0 ? "buy" : "sell",
    ...(n % 5 === 0 ? { baseGem: MKR, quoteGem: WETH } : {}),
    base: n % 50 === 1 ? "0" : `${n + 1}.${"0".repeat(17 - (n % 18))}7`,
    quote: `${(n + 3) ** 3}.${"9".repeat(1 + (n % 18))}`,
    idx: n,
  }),
);

const { app, database } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, {
    trades: [...TRADES, aTrade({ hour: 30, base: "1", quote: HUGE }), aTrade({ hour: 49 })],
    head: 50,
  });
});

const dir = mkdtempSync(join(tmpdir(), "dex-duckdb-"));
let duckdb: Awaited<ReturnType<Awaited<ReturnType<typeof DuckDBInstance.create>>["connect"]>>;
beforeAll(async () => {
  await exportDays({ url: database.url, dir, finality: 64 });
  duckdb = await (await DuckDBInstance.create()).connect();
});
afterAll(async () => {
  duckdb.closeSync();
  await rm(dir, { recursive: true });
});

const rowsOf = async (text: string): Promise<unknown[][]> =>
  (await duckdb.runAndReadAll(text.replaceAll("files/", `${dir}/`))).getRows();

/** As REST gives a decimal. */
const plain = (decimal: unknown): string =>
  String(decimal)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

interface Candle {
  time: string;
  open: string;
  high: string;
  low: string;
  close: string;
  vol: string;
  quoteVol: string;
  trades: number;
}

it.each([
  ["weth/dai", WETH, "1m", "1 minute"],
  ["weth/dai", WETH, "1h", "1 hour"],
  ["mkr/weth", MKR, "1m", "1 minute"],
  ["mkr/weth", MKR, "4h", "4 hours"],
])("has the candles of %s (base %s, %s)", async (market, base, interval, span) => {
  const path = `/v2/candles/${market}?interval=${interval}&limit=1000&to=2026-01-02T00:00:00Z`;
  const { body } = await app.request.get(path).expect(200);
  const candles = (body as { data: Candle[] }).data;
  expect(candles.length).toBeGreaterThan(3);
  const found = await rowsOf(`
    select strftime(start at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.000Z'), open::varchar, high::varchar, low::varchar, close::varchar,
      vol::varchar, quote_vol::varchar, trades::integer
    from (
      select time_bucket(interval '${span}', time) as start, arg_min(open, time) as open, max(high) as high, min(low) as low,
        arg_max(close, time) as close, sum(vol) as vol, sum(quote_vol) as quote_vol, sum(trades) as trades
      from 'files/candles-2026-01-01.parquet'
      where base_gem = '${base.toLowerCase()}'
      group by base_gem, quote_gem, start
    )
    order by start`);
  expect(found.map(([time, ...rest]) => [time, ...rest.map(plain)])).toEqual(
    candles.map(({ time, open, high, low, close, vol, quoteVol, trades }) => [
      ...[time, open, high, low, close, vol, quoteVol, String(trades)],
    ]),
  );
});

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

it("reads the CSV files as the Parquet files, those without rows too", async () => {
  for (const kind of ["blocks", "trades", "offers", "ends", "pools", "candles"]) {
    const counts = await rowsOf(`
      select
        (select count(*) from read_csv('files/${kind}-*.csv.gz', all_varchar = true, header = true)),
        (select count(*) from 'files/${kind}-*.parquet')`);
    expect(counts[0]![0]).toEqual(counts[0]![1]);
  }
  const { days } = JSON.parse(await readFile(join(dir, "manifest.json"), "utf8")) as {
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
