// Bulk load: `npm run load` of a simulated history, against a bare COPY of the same file.
import { spawn } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { connect } from "../db/connect.ts";
import { writeHistoryCsv } from "../db/simulate/csv.ts";
import { openDatabase, type BenchServer } from "./data/server.ts";
import { median } from "./load/statistics.ts";
import { memoryOf } from "./servers/start.ts";

export interface BulkLoad {
  trades: number;
  /** Trades a second, medians: of `npm run load`, of COPY, of COPY with the derived columns too. */
  load: number;
  copy: number;
  copyDerived: number;
  /** Of the loading process, in kilobytes; undefined where the system does not say. */
  peak: number | undefined;
  rounds: number;
}

const LOAD_COMMAND = fileURLToPath(new URL("../db/commands/load.ts", import.meta.url));
const DATABASE = "bench_load";

/** Simulates the files once, then loads and copies them in turns. */
export async function measureBulkLoad(
  server: BenchServer,
  { trades, rounds, log }: { trades: number; rounds: number; log: (line: string) => void },
): Promise<BulkLoad> {
  const folder = await mkdtemp(join(tmpdir(), "dex-bench-load-"));
  try {
    const until = new Date("2026-01-31T12:00:00Z");
    log(`Simulating files of ${trades.toLocaleString("en")} trades`);
    await writeHistoryCsv(folder, { seed: 1, days: 30, trades, until });
    // Its trades alone are timed: what they belong to is there before.
    const rest = join(folder, "rest");
    await mkdir(rest);
    for (const name of ["tokens.csv", "pairs.csv", "offers.csv"]) {
      await rename(join(folder, name), join(rest, name));
    }
    const rates = { load: [] as number[], copy: [] as number[], copyDerived: [] as number[] };
    let peak: number | undefined;
    for (let round = 0; round < rounds; round += 1) {
      const url = await freshDatabase(server);
      await runLoad(url, rest);
      const loaded = await runLoad(url, folder);
      rates.load.push(trades / loaded.seconds);
      if (loaded.peak !== undefined) peak = Math.max(peak ?? 0, loaded.peak);
      rates.copy.push(trades / (await copyTheFile(url, join(folder, "trades.csv"))));
      rates.copyDerived.push(trades / (await copyDerived(url, join(rest, "derived.copy"))));
      log(
        `  round ${round + 1}: load ${rates.load.at(-1)?.toFixed(0)}/s, COPY of the file ` +
          `${rates.copy.at(-1)?.toFixed(0)}/s, with derived columns ${rates.copyDerived.at(-1)?.toFixed(0)}/s`,
      );
    }
    return {
      trades,
      load: median(rates.load),
      copy: median(rates.copy),
      copyDerived: median(rates.copyDerived),
      peak,
      rounds,
    };
  } finally {
    await dropDatabase(server);
    await rm(folder, { recursive: true, force: true });
  }
}

async function dropDatabase(server: BenchServer): Promise<void> {
  const admin = await connect(server.url);
  try {
    await admin.query(`drop database if exists ${DATABASE} with (force)`);
  } finally {
    await admin.end();
  }
}

async function freshDatabase(server: BenchServer): Promise<string> {
  await dropDatabase(server);
  return openDatabase(server, DATABASE);
}

async function runLoad(
  url: string,
  folder: string,
): Promise<{ seconds: number; peak: number | undefined }> {
  const began = performance.now();
  const child = spawn(process.execPath, [LOAD_COMMAND, folder], {
    env: { ...process.env, DATABASE_OWNER_URL: url },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaint += text));
  let peak: number | undefined;
  // A process that has ended tells its peak no more.
  const watch = setInterval(() => {
    void memoryOf(child.pid ?? 0).then((memory) => {
      if (memory !== undefined) peak = Math.max(peak ?? 0, memory.peak);
    });
  }, 100);
  try {
    const code = await new Promise((resolve) => child.once("close", resolve));
    if (code !== 0) throw new Error(`npm run load failed: ${complaint}`);
  } finally {
    clearInterval(watch);
  }
  return { seconds: (performance.now() - began) / 1000, peak };
}

const FILE_COLUMNS =
  "(offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx)";

const copyTheFile = (url: string, file: string): Promise<number> =>
  copyInto(url, file, `${FILE_COLUMNS} from stdin with (format csv, header match)`);

/** The same rows with what the database derives for them, which fills the indexes on it too. */
async function copyDerived(url: string, file: string): Promise<number> {
  const client = await connect(url, { role: "dex_owner" });
  try {
    await pipeline(
      client.query(copyTo("copy (select * from dex_trade order by id) to stdout")),
      createWriteStream(file),
    );
  } finally {
    await client.end();
  }
  return copyInto(url, file, "from stdin");
}

/** Seconds to copy a file into a table like dex_trade, with its indexes and without its triggers. */
async function copyInto(url: string, file: string, how: string): Promise<number> {
  const client = await connect(url, { role: "dex_owner" });
  try {
    await client.query("create table bare_trade (like dex_trade including all)");
    const began = performance.now();
    await pipeline(
      createReadStream(file, { highWaterMark: CHUNK }),
      client.query(copyFrom(`copy bare_trade ${how}`)),
    );
    const seconds = (performance.now() - began) / 1000;
    await client.query("drop table bare_trade");
    return seconds;
  } finally {
    await client.end();
  }
}

const CHUNK = 1 << 20;
