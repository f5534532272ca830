// Compares `npm run load` of a simulated history with a bare COPY of the same files.
import { spawn } from "node:child_process";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
  /** Median trades per second, with their offers, of `npm run load` into an empty database. */
  load: number;
  /** The same while another client is connected. */
  loadBeside: number;
  /** The same of COPY of the same files, which leaves symbols, market, side and price null. */
  copy: number;
  /** The same of COPY of files that contain the derived columns. */
  copyWhole: number;
  /** Peak memory of the loading process in kilobytes; undefined except on Linux. */
  peak: number | undefined;
  rounds: number;
}

const LOAD_COMMAND = fileURLToPath(new URL("../db/commands/load.ts", import.meta.url));
const DATABASE = "bench_load";

/** Simulates the files once, then loads and copies them alternately. */
export async function measureBulkLoad(
  server: BenchServer,
  { trades, rounds, log }: { trades: number; rounds: number; log: (line: string) => void },
): Promise<BulkLoad> {
  const folder = await mkdtemp(join(tmpdir(), "dex-bench-load-"));
  try {
    const until = new Date("2026-01-31T12:00:00Z");
    log(`Simulating files of ${trades.toLocaleString("en")} trades`);
    await writeHistoryCsv(folder, { seed: 1, days: 30, trades, until });
    const rates: Record<"load" | "beside" | Copied, number[]> = {
      load: [],
      beside: [],
      bare: [],
      whole: [],
    };
    let peak: number | undefined;
    for (let round = 0; round < rounds; round += 1) {
      rates.beside.push(trades / (await loadBesideAnother(await freshDatabase(server), folder)));
      const url = await freshDatabase(server);
      const loaded = await runLoad(url, folder);
      rates.load.push(trades / loaded.seconds);
      if (loaded.peak !== undefined) peak = Math.max(peak ?? 0, loaded.peak);
      for (const kind of ["bare", "whole"] as const) {
        rates[kind].push(trades / (await copyFiles(url, folder, kind)));
      }
      const last = Object.entries(rates).map(([kind, of]) => `${kind} ${of.at(-1)?.toFixed(0)}/s`);
      log(`  round ${round + 1}: ${last.join(", ")}`);
    }
    return {
      trades,
      load: median(rates.load),
      loadBeside: median(rates.beside),
      copy: median(rates.bare),
      copyWhole: median(rates.whole),
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
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  let peak: number | undefined;
  // Poll, because the peak of an ended process is no longer available.
  const watch = setInterval(() => {
    void memoryOf(child.pid ?? 0).then((memory) => {
      if (memory !== undefined) peak = Math.max(peak ?? 0, memory.peak);
    });
  }, 100);
  try {
    const code = await new Promise((resolve) => child.once("close", resolve));
    if (code !== 0) throw new Error(`npm run load failed: ${errors}`);
  } finally {
    clearInterval(watch);
  }
  return { seconds: (performance.now() - began) / 1000, peak };
}

/** Seconds of the load while another client is connected. */
async function loadBesideAnother(url: string, folder: string): Promise<number> {
  const another = await connect(url, { role: "dex_reader" });
  try {
    return (await runLoad(url, folder)).seconds;
  } finally {
    await another.end();
  }
}

/** `bare`: the original files; `whole`: files with the derived columns. */
type Copied = "bare" | "whole";

const FILES = { dex_offer: "offers.csv", dex_trade: "trades.csv" };

/** Seconds to copy offers and trades into tables with the same checks and indexes. */
async function copyFiles(url: string, folder: string, kind: Copied): Promise<number> {
  let seconds = 0;
  const client = await connect(url, { role: "dex_owner" });
  try {
    for (const [table, file] of Object.entries(FILES)) {
      const path = join(folder, kind === "whole" ? `whole-${file}` : file);
      if (kind === "whole") {
        await pipeline(
          client.query(copyTo(`copy ${table} to stdout with (format csv, header)`)),
          createWriteStream(path),
        );
      }
      await client.query(`create table bare (like ${table} including all)`);
      // In the files amounts have a varying number of digits, and trades have no id.
      await client.query(
        `alter table bare
          alter column lot_amt type numeric(96, 18),
          alter column bid_amt type numeric(96, 18),
          alter column id add generated by default as identity`,
      );
      const columns = await firstLine(path);
      const began = performance.now();
      await pipeline(
        createReadStream(path, { highWaterMark: CHUNK }),
        client.query(copyFrom(`copy bare (${columns}) from stdin with (format csv, header match)`)),
      );
      seconds += (performance.now() - began) / 1000;
      await client.query("drop table bare");
    }
    return seconds;
  } finally {
    await client.end();
  }
}

const CHUNK = 1 << 20;

async function firstLine(path: string): Promise<string> {
  const stream = createReadStream(path);
  try {
    for await (const line of createInterface(stream)) return line;
    throw new Error(`${path} is empty`);
  } finally {
    stream.destroy();
  }
}
