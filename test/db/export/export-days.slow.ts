// The files of a day: the same facts give the same bytes, each file is whole, and what differs is named.
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { checkFolder, digestOfDay, FIRST_DIGEST } from "../../../db/export/check-files.ts";
import { takeLock } from "../../../db/embedded/lock.ts";
import { CsvFile } from "../../../db/export/csv-file.ts";
import { exportDays, writeDay } from "../../../db/export/export-days.ts";
import { KINDS as KINDS_OF_FILES } from "../../../db/export/format.ts";
import { manifestText, readManifest, type ListedDay } from "../../../db/export/manifest.ts";
import { plannedDay } from "../../../db/export/planned-days.ts";
import { ParquetFile } from "../../../db/export/parquet-file.ts";
import type { Value } from "../../../db/export/format.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  registerMarkets,
  WETH,
  write,
} from "../../factories.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { block } from "../../histories.ts";
import { useOwned } from "../../served.ts";
import { runFile, runShell } from "../../service.ts";
import { loadable, written } from "../../written.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "dex-files-"));
});
afterEach(() => rm(dir, { recursive: true }));

const linesOf = async (name: string, from = dir): Promise<string[]> =>
  gunzipSync(await readFile(join(from, name)))
    .toString()
    .split("\n");

const hashesOf = async (from: string): Promise<Record<string, string>> => {
  const names = (await readdir(from))
    .filter((name) => /\.(gz|csv|parquet|json)$/.test(name))
    .sort();
  const hashes = names.map(async (name) => {
    const bytes = await readFile(join(from, name));
    return [name, createHash("sha256").update(bytes).digest("hex")] as const;
  });
  return Object.fromEntries(await Promise.all(hashes));
};

/** Puts other bytes in place of a file, and into the manifest what they are. */
async function replace(name: string, other: Buffer, more = 0): Promise<() => Promise<void>> {
  const right = await readFile(join(dir, name));
  const listed = await readFile(join(dir, "manifest.json"));
  const manifest = (await readManifest(dir))!;
  const bytes = other.length;
  const sha256 = createHash("sha256").update(other).digest("hex");
  for (const file of manifest.days.flatMap(({ files }) => files)) {
    if (file.name.startsWith(name.slice(0, -7))) file.rows += more;
    if (file.name === name) Object.assign(file, { bytes, sha256 });
  }
  await writeFile(join(dir, name), other);
  await writeFile(join(dir, "manifest.json"), manifestText(manifest));
  return async () => {
    await writeFile(join(dir, name), right);
    await writeFile(join(dir, "manifest.json"), listed);
  };
}

const countIn = (folder: string): Promise<number> =>
  readdir(folder).then(
    (names) => names.length,
    () => 0,
  );

const KINDS = ["blocks", "candles", "ends", "offers", "pools", "trades"];
const BOOK = anAddress("book");
const ORDER = 2 ** 30;
/** With what has a meaning in JSON, in CSV and for those who split lines. */
const REF = '7,"\u2028é';
const HUGE = "123456789012345678901.000000000000000001";

/** Four days, of which the second has no rows. The last one is not final. */
async function fill({ writer }: TestDatabase): Promise<void> {
  await registerMarkets(writer);
  await writer.query("select ingest.offer_ids($1, $2, $3)", [[BOOK], [REF], [blockAt(2)]]);
  await write(writer, {
    offers: [
      anOffer({ id: 1, hour: 1, base: "3", quote: "300", killed: blockAt(50) }),
      anOffer({ id: 2, hour: 1, base: "1", quote: HUGE }),
      anOffer({ id: 10, hour: 1, base: "2", quote: "9", filled: true }),
    ],
    trades: [
      aTrade({ hour: 2, offer_id: ORDER, base: "1", quote: "110", venue: BOOK, idx: 3 }),
      aTrade({ hour: 2, offer_id: null, base: "2.5", quote: "250", idx: 11 }),
      aTrade({ hour: 2.01, offer_id: 2, base: "1", quote: HUGE, idx: 0 }),
      aTrade({ hour: 49, offer_id: 1, base: "1", quote: "99" }),
      aTrade({ hour: 72, offer_id: 5 }),
    ],
    head: 73,
  });
}

const planned = (day: ListedDay) =>
  plannedDay({ ...day, firstBlock: day.firstBlock!, lastBlock: day.lastBlock! });

const exportFinal = ({ url }: TestDatabase, into = dir): ReturnType<typeof exportDays> =>
  exportDays({ url, dir: into, finality: 64 });

describe("of days", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await makeDatabase();
    await fill(database);
  });
  afterAll(() => database.drop());

  it("has the rows of each day by the facts alone, and none of a day that is not final", async () => {
    const manifest = await exportFinal(database);
    expect(
      manifest?.days.map(({ day, firstBlock, lastBlock, files }) => [
        ...[day, firstBlock, lastBlock],
        files.length,
      ]),
    ).toEqual([
      ["2026-01-01", blockAt(1), blockAt(2.01), 14],
      ["2026-01-02", null, null, 0],
      ["2026-01-03", blockAt(49), blockAt(50), 14],
    ]);
    expect(await readManifest(dir)).toEqual(manifest);
    const [first, second, third] = manifest!.days;
    expect(second!.digest).toBe(first!.digest);
    expect(third!.digest).not.toBe(first!.digest);
    expect(first!.files.map(({ kind, rows }) => [kind, rows])).toEqual([
      ...["blocks", "blocks", "trades", "trades", "offers", "offers"].map((kind) => [kind, 3]),
      // Offer 10 is closed as it is made, and offer 2 has nothing left.
      ...[
        ["ends", 2],
        ["ends", 2],
        ["pools", 0],
        ["pools", 0],
        ["candles", 1],
        ["candles", 1],
      ],
      ["tokens", 3],
      ["markets", 2],
    ]);
    expect(Object.keys(await hashesOf(dir))).toEqual(
      [
        ...["2026-01-01", "2026-01-03"].flatMap((day) =>
          KINDS.flatMap((kind) => [`${kind}-${day}.csv.gz`, `${kind}-${day}.parquet`]),
        ),
        ...["manifest.json", first!.files.at(-1)!.name, first!.files.at(-2)!.name],
      ].sort(),
    );

    const [header, ...trades] = await linesOf("trades-2026-01-01.csv.gz");
    expect(header).toBe(
      "block,idx,time,tx,venue,offer,maker,taker,pair,lot_gem,lot_amt,bid_gem,bid_amt",
    );
    expect(trades.at(-1)).toBe("");
    const [weth, dai, book] = [WETH, DAI, BOOK].map((address) => address.toLowerCase());
    expect(trades[0]).toMatch(/^7200,3,2026-01-01T02:00:00\.000000Z,0x[0-9a-f]{64},0x/);
    // As a JSON string, and then as a value of CSV.
    expect(trades[0]).toContain(`,${book},"${book}:""7,\\""\u2028é""",0x`);
    expect(trades[0]).toMatch(new RegExp(`,${weth},1,${dai},110$`));
    expect(trades[1]).toMatch(new RegExp(`^7200,11,[^,]+,[^,]+,,,.*,${weth},2\\.5,${dai},250$`));
    expect(trades[2]).toMatch(new RegExp(`^7236,0,.*,${dai},${HUGE.replace(".", "\\.")}$`));

    expect(await linesOf("ends-2026-01-01.csv.gz")).toEqual([
      "block,offer,time,event",
      "3600,10,2026-01-01T01:00:00.000000Z,filled",
      "7236,2,2026-01-01T02:00:36.000000Z,filled",
      "",
    ]);
    expect(await linesOf("ends-2026-01-03.csv.gz")).toEqual([
      "block,offer,time,event",
      `${blockAt(50)},1,2026-01-03T02:00:00.000000Z,cancelled`,
      "",
    ]);
    // Minute 02:00: at 110, 100 and HUGE; 1 + 2.5 + 1 of base, and 110 + 250 + HUGE of quote.
    expect(await linesOf("candles-2026-01-01.csv.gz")).toEqual([
      "base_gem,quote_gem,time,open,high,low,close,vol,quote_vol,trades",
      `${weth},${dai},2026-01-01T02:00:00.000000Z,110,${HUGE},100,${HUGE},4.5,123456789012345679261.000000000000000001,3`,
      "",
    ]);
    expect((await linesOf("blocks-2026-01-03.csv.gz")).at(-2)).toBe(
      `${blockAt(50)},,2026-01-03T02:00:00.000000Z,${third!.digest}`,
    );
  });

  it("adds days to a folder, and gives the same files in a new one", async () => {
    await exportFinal(database);
    const again = join(dir, "again");
    const before = await exportDays({ url: database.url, dir: again, finality: 200_000 });
    expect(before).toBeUndefined();
    await exportFinal(database, again);
    expect(await hashesOf(again)).toEqual(await hashesOf(dir));
  });

  it("has reserves or ranges of pools, whose digests follow from the files alone", async () => {
    await using other = await makeDatabase();
    const pool = { gem0: DAI, gem1: WETH, fee: 3000 };
    const pools = [
      { ...pool, venue: anAddress("reserves"), reserve0: "2000.5", reserve1: "1" },
      {
        ...{ ...pool, venue: anAddress("ranges"), tick_spacing: 60, tick: 0, liquidity: "5" },
        ...{ sqrt_price: String(2n ** 96n), nets: "-60:5 0:0:4 60:-5" },
      },
    ];
    const after = [{ ...pools[1], tick: -1, nets: "" }];
    for (const [hour, given] of [
      [1, pools],
      [2, after],
      [30, []],
      [30.02, []],
    ] as const) {
      await other.writer.query("select ingest.write_block($1, $2, pools => $3)", [
        ...[blockAt(hour), hours(hour), JSON.stringify(given)],
      ]);
    }
    await exportFinal(other);
    const lines = await linesOf("pools-2026-01-01.csv.gz");
    expect(lines[0]).toBe(
      "block,venue,time,gem0,reserve0,gem1,reserve1,fee,tick_spacing,sqrt_price,tick,liquidity,nets",
    );
    expect(
      lines
        .slice(1, 4)
        .map((line) => line.split(",").slice(4).toSpliced(1, 1))
        .sort(),
    ).toEqual([
      ["", "", "3000", "60", String(2n ** 96n), "-1", "5", ""],
      ["", "", "3000", "60", String(2n ** 96n), "0", "5", "-60:5 0:0:4 60:-5"],
      ["2000.5", "1", "3000", "", "", "", "", ""],
    ]);
    const [day] = (await readManifest(dir))!.days;
    const digest = await digestOfDay(dir, planned(day!), FIRST_DIGEST);
    expect(`0x${digest.toString("hex")}`).toBe(day!.digest);
  });

  it("is noticed by name where a bit of a file or of the manifest is another", async () => {
    await exportFinal(database);
    expect(await checkFolder(dir)).toMatchObject({ files: 26, problems: [] });
    for (const name of Object.keys(await hashesOf(dir))) {
      const right = await readFile(join(dir, name));
      const wrong = Buffer.from(right);
      wrong[wrong.length >> 1]! ^= 1;
      await writeFile(join(dir, name), wrong);
      expect((await checkFolder(dir)).problems).toEqual([
        expect.stringMatching(new RegExp(`^${name.replaceAll(".", "\\.")} `)) as string,
      ]);
      await writeFile(join(dir, name), right.subarray(1));
      expect((await checkFolder(dir)).problems).toHaveLength(1);
      await rm(join(dir, name));
      expect((await checkFolder(dir)).problems).toEqual([`${name} is missing`]);
      await writeFile(join(dir, name), right);
    }
    const name = "pools-2026-01-01.csv.gz";
    await rm(join(dir, name));
    await symlink(join(dir, "pools-2026-01-03.csv.gz"), join(dir, name));
    expect((await checkFolder(dir)).problems).toEqual([`${name} is not a file`]);
  });

  it("is noticed where facts are others, though the manifest says what the files are", async () => {
    await exportFinal(database);
    for (const [name, change, problem, more = 0] of [
      ["trades-2026-01-01.csv.gz", [",2.5,", ",2.6,"], /^2026-01-01: block 7200 has the digest 0x/],
      [
        "trades-2026-01-01.csv.gz",
        ["\n7236,0,", "\n7235,0,"],
        /^2026-01-01: block 7236 has the digest/,
      ],
      [
        "ends-2026-01-03.csv.gz",
        [`${blockAt(50)},1,`, `${blockAt(50)},2,`],
        /^2026-01-03: block 180000 has/,
      ],
      [
        "ends-2026-01-03.csv.gz",
        [/$/, "180001,7,2026-01-03T02:00:01.000000Z,cancelled\n"],
        /^2026-01-03: ends-2026-01-03.csv.gz has rows of block 180001, which is not in blocks-2026-01-03.csv.gz$/,
        1,
      ],
      ["offers-2026-01-01.csv.gz", [",true\n", ",false\n"], /^2026-01-01: block 3600 has/],
      [
        "blocks-2026-01-01.csv.gz",
        ["02:00:00.000000Z", "02:00:00.000001Z"],
        /^2026-01-01: block 7200 is at 2026-01-01T02:00:00.000001Z, and a row of its trades at 2026-01-01T02:00:00.000000Z$/,
      ],
      [
        "blocks-2026-01-01.csv.gz",
        ["\n3600,", "\n0xe10,"],
        /^2026-01-01: blocks-2026-01-01.csv.gz has the block 0xe10, which is no number in digits$/,
      ],
      [
        "trades-2026-01-01.csv.gz",
        ["\n7200,", "\n0x1c20,"],
        /^2026-01-01: block 7200 has the digest/,
      ],
      [
        "trades-2026-01-01.csv.gz",
        [",110\n", ",110,extra\n"],
        /^2026-01-01: trades-2026-01-01.csv.gz line 2 has 14 values, and its header 13$/,
      ],
      [
        "trades-2026-01-01.csv.gz",
        [",250\n", "\n"],
        /^2026-01-01: trades-2026-01-01.csv.gz line 3 has 12 values, and its header 13$/,
      ],
      [
        "candles-2026-01-01.csv.gz",
        [/$/, ","],
        /^2026-01-01: candles-2026-01-01.csv.gz line 3 has 2 values, and its header 10$/,
      ],
    ] as const) {
      const text = (await linesOf(name)).join("\n");
      const restore = await replace(name, gzipSync(text.replace(change[0], change[1])), more);
      expect((await checkFolder(dir)).problems).toEqual([expect.stringMatching(problem)]);
      await restore();
    }
    const name = "trades-2026-01-01.csv.gz";
    const right = await readFile(join(dir, name));
    for (const [other, reason] of [
      [Buffer.from("no gzip"), "incorrect header check"],
      [right.subarray(0, -9), "unexpected end of file"],
      [Buffer.concat([right, Buffer.from("more")]), "incorrect header check"],
    ] as const) {
      const restore = await replace(name, other);
      expect((await checkFolder(dir)).problems).toEqual([
        `2026-01-01: ${name} cannot be decompressed: ${reason}`,
      ]);
      await restore();
    }
    expect((await checkFolder(dir)).problems).toEqual([]);
  });

  it("is noticed where the manifest says what the files are not", async () => {
    const { basis, days, ...format } = (await exportFinal(database))!;
    const [first, second, third] = days as [ListedDay, ListedDay, ListedDay];
    const digest = `0x${"0".repeat(64)}`;
    const withFile = (name: string, change: object): ListedDay => ({
      ...first,
      files: first.files.map((file) => (file.name === name ? { ...file, ...change } : file)),
    });
    const tokens = first.files.find(({ kind }) => kind === "tokens")!.name;
    for (const [change, problem] of [
      [
        { days: [first, second, { ...third, digest }] },
        `2026-01-03 ends with the digest ${third.digest}, and the manifest says ${digest}`,
      ],
      [
        { days: [withFile("trades-2026-01-01.csv.gz", { rows: 4 }), second, third] },
        "2026-01-01: trades-2026-01-01.csv.gz has less rows than the 4 that the manifest says",
      ],
      [
        { days: [withFile("trades-2026-01-01.parquet", { rows: 2 }), second, third] },
        "trades-2026-01-01.parquet has 3 rows, and the manifest says 2",
      ],
      [
        { days: [withFile("candles-2026-01-01.csv.gz", { rows: 2 }), second, third] },
        "candles-2026-01-01.csv.gz has 1 rows, and the manifest says 2",
      ],
      [
        {
          days: [
            {
              ...first,
              files: first.files.map((file) =>
                file.kind === "trades" ? { ...file, rows: 2 } : file,
              ),
            },
            ...[second, third],
          ],
        },
        "2026-01-01: trades-2026-01-01.csv.gz has more rows than the 2 that the manifest says",
      ],
      [
        { days: [withFile(tokens, { rows: 4 }), second, third] },
        `manifest.json lists ${tokens} twice: for 2026-01-01, and for 2026-01-03 otherwise`,
      ],
      [{ days: [withFile(tokens, { rows: 4 })] }, `${tokens} has 3 rows, and the manifest says 4`],
      [
        { days: [{ ...first, files: [...first.files, first.files[1]!] }, second, third] },
        "manifest.json lists blocks-2026-01-01.parquet twice: for 2026-01-01, and for 2026-01-01",
      ],
      [
        { days: [first, second, { ...third, lastBlock: blockAt(50) + 1 }] },
        `2026-01-03: its last block is ${blockAt(50)}, and not ${blockAt(50) + 1}`,
      ],
      [
        { days: [first, second, { ...third, firstBlock: blockAt(49) - 1 }] },
        `2026-01-03: its first block is ${blockAt(49)}, and not ${blockAt(49) - 1}`,
      ],
      [{ days: [first, third] }, "the manifest contradicts itself: 2026-01-03 follows 2026-01-01"],
      [
        { basis: { ...basis, firstBlock: 7 } },
        "the manifest contradicts itself: 2026-01-01 begins with block 3600, and the basis with 7",
      ],
      [
        { basis: { ...basis, hashed: true } },
        "blocks-2026-01-01.csv.gz begins without a hash, and `hashed` of the basis is true",
      ],
      [
        { basis: { ...basis, version: 2 } },
        "the basis has version 2 of digests, and this program 1",
      ],
    ] as const) {
      const other = manifestText({ ...format, basis, days, ...change } as never);
      await writeFile(join(dir, "manifest.json"), other);
      expect((await checkFolder(dir)).problems).toEqual([problem]);
    }
  });

  it("is checked in bounded memory, whatever one block has", async () => {
    await exportFinal(database);
    const name = "trades-2026-01-01.csv.gz";
    const [header, row] = await linesOf(name);
    const rows = 400_000;
    await replace(name, gzipSync(`${header}\n${`${row}\n`.repeat(rows)}`), rows - 3);
    const { scripts } = JSON.parse(await readFile("package.json", "utf8")) as {
      scripts: { export: string };
    };
    const { code, stdout, stderr } = await runShell(`${scripts.export} --check ${dir}`, {}).ended;
    expect([code, stdout, stderr]).toEqual([
      1,
      "2026-01-01: block 7200 has rows of more than 67108864 bytes\n1 problem.\n",
      "",
    ]);
  });

  it("names a day when the manifest has it, which is written when a day has files, and at the end", async () => {
    const listed: unknown[] = [];
    const onDay = ({ day }: ListedDay): void => {
      const text = readFileSync(join(dir, "manifest.json"), "utf8");
      listed.push([day, (JSON.parse(text) as { days: unknown[] }).days.length]);
    };
    const { url } = database;
    // The last final block is that of hour 50.
    await exportDays({ url, dir, finality: blockAt(73) - blockAt(50), onDay });
    expect(listed.splice(0)).toEqual([
      ["2026-01-01", 1],
      ["2026-01-02", 2],
    ]);
    await rm(join(dir, "manifest.json"));
    await exportDays({ url, dir, finality: 64, onDay });
    expect(listed).toEqual([
      ["2026-01-01", 1],
      ["2026-01-02", 3],
      ["2026-01-03", 3],
    ]);
  });

  it("is refused where the folder is of other facts, or of another recording", async () => {
    const manifest = (await exportFinal(database))!;
    const [first, ...others] = manifest.days;
    const digest = `0x${"0".repeat(64)}`;
    const write = (other: object): Promise<void> =>
      writeFile(join(dir, "manifest.json"), manifestText({ ...manifest, ...other }));
    await write({ days: [{ ...first!, digest }] });
    await expect(exportFinal(database)).rejects.toThrow(
      `the folder is of other facts: at the end of 2026-01-01 its digest is ${digest}, and that of the database ${first!.digest}; unless the database gets those blocks again, export into a new folder`,
    );
    await write({ basis: { ...manifest.basis, hashed: true } });
    await expect(exportFinal(database)).rejects.toThrow(
      "the folder is of another recording: its hashed is true, and that of the database false",
    );
    await write({ days: [first!, ...others] });
    expect(await exportFinal(database)).toEqual(manifest);
  });

  it("is not exported where a block has no digest", async () => {
    await using other = await makeDatabase();
    await fill(other);
    await other.owner.query("update dex_block set digest = null where number >= 7200");
    await expect(exportFinal(other)).rejects.toThrow(
      "block 7200 has no digest: make those that are missing by `npm run db:digests`",
    );
    expect(Object.keys(await hashesOf(dir))).toEqual([]);
  });

  it("leaves no half file where the disk is full, and goes on when it is not", async () => {
    const right = join(dir, "right");
    await exportFinal(database, right);
    // No file may get more than 1 kB: so one of each day fails.
    const env = { DATABASE_URL: database.url, DATABASE_OWNER_URL: "", FINALITY: "64" };
    const full = join(dir, "full");
    const shell = `ulimit -f 1 && exec ${process.execPath} db/commands/export.ts --dir`;
    await expect(
      promisify(execFile)("sh", ["-c", `${shell} ${full}`], { env: { ...process.env, ...env } }),
    ).rejects.toMatchObject({
      stderr: expect.stringContaining(`export: ${full}: EFBIG`) as string,
    });
    const left = await readdir(full);
    expect(left.filter((name) => name.endsWith(".partial"))).toEqual([]);
    expect(left).not.toContain("manifest.json");
    const whole = await hashesOf(full);
    expect(await hashesOf(right)).toMatchObject(whole);

    const { code, stdout } = await runFile("db/commands/export.ts", env, ["--dir", full]).ended;
    expect([code, stdout.split("\n").at(-2)]).toEqual([
      0,
      "3 days exported; 2026-01-03 is the last final one.",
    ]);
    expect(await hashesOf(full)).toEqual(await hashesOf(right));
    const checked = await runFile("db/commands/export.ts", env, ["--check", full]).ended;
    expect(checked).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^26 files of \d+ bytes are what the manifest says, and so are the digests of their blocks\.\n$/,
      ) as string,
    });
  });

  it("leaves no manifest that lies, wherever an export is killed", async () => {
    const right = join(dir, "right");
    await exportFinal(database, right);
    const env = { DATABASE_URL: database.url, DATABASE_OWNER_URL: "", FINALITY: "64" };
    const killed = join(dir, "killed");
    const args = ["db/commands/export.ts", "--dir", killed];
    const found: (number | undefined)[] = [];
    for (const names of [2, 9, 16, 24]) {
      const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
      const ended = once(child, "exit");
      while (child.exitCode === null && (await countIn(killed)) < names) await sleep(1);
      child.kill("SIGKILL");
      await ended;
      const manifest = await readManifest(killed);
      found.push(manifest?.days.length);
      if (manifest !== undefined) expect((await checkFolder(killed)).problems).toEqual([]);
    }
    await exportFinal(database, killed);
    expect(await hashesOf(killed)).toEqual(await hashesOf(right));
    expect((await readdir(killed)).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });

  it("removes what an export that was killed has left, and no file of others", async () => {
    for (const name of ["manifest.json.0123456789ab.partial", "film.mkv.partial", "mine.csv"]) {
      await writeFile(join(dir, name), name);
    }
    await exportFinal(database);
    const left = (await readdir(dir)).filter((name) => /partial|mine/.test(name));
    expect(left.sort()).toEqual(["film.mkv.partial", "mine.csv"]);
  });

  it("refuses a folder below one that can have none", async () => {
    await expect(exportFinal(database, "/proc/files/of/ours")).rejects.toThrow("ENOENT");
  });

  it("refuses to run twice in one folder", async () => {
    const release = await takeLock(dir);
    await expect(exportFinal(database)).rejects.toThrow(
      `process ${process.pid} exports into ${dir} at the moment`,
    );
    await release();
    expect((await exportFinal(database))?.days).toHaveLength(3);
  });
});

describe("written in each way", () => {
  const { owner } = useOwned();
  beforeEach(() => owner.query("begin"));
  afterEach(() => owner.query("rollback"));

  it("has the same bytes for the same facts", async () => {
    const steps = fc.array(block, { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const { exchange, blocks } = loadable(history);
        const rows = [...exchange.recording.offers, ...exchange.recording.trades];
        fc.pre(rows.length > 0);
        const day = new Date(
          blocks.find(({ offers, trades }) => offers.length + trades.length > 0)!.time,
        );
        const found: unknown[] = [];
        for (const fillBy of Object.values(written)) {
          const into = await mkdtemp(join(dir, "way-"));
          await owner.query("savepoint before");
          await registerMarkets(owner);
          await fillBy(owner, blocks, exchange);
          const listed = await writeDay({
            ...{ client: owner, dir: into },
            day: day.toISOString().slice(0, 10),
          });
          await owner.query("rollback to savepoint before");
          expect((await digestOfDay(into, planned(listed), FIRST_DIGEST)).toString("hex")).toBe(
            listed.digest.slice(2),
          );
          found.push([listed, await hashesOf(into)]);
        }
        const [first, ...others] = found;
        for (const other of others) expect(other).toEqual(first);
      }),
      { numRuns: 4 },
    );
  });
});

describe("of many rows", () => {
  /** More than two row groups. */
  const ROWS = Array.from({ length: 20_500 }, (_, n): Value[] => {
    const address = `0x${(n % 97).toString(16).padStart(40, "0")}`;
    const hash = `0x${createHash("sha256").update(String(n)).digest("hex")}`;
    const time = `2026-01-01T00:00:00.${String(n).padStart(6, "0")}Z`;
    const offer = n % 3 === 0 ? null : String(n >> 4);
    return [
      ...[n >> 2, n & 3, time, hash, n % 5 === 0 ? null : address, offer, address, address, hash],
      ...[address, `${n}.000000000000000001`, address, n % 1000 === 0 ? HUGE : String(n)],
    ];
  });
  const trades = KINDS_OF_FILES.find(({ name }) => name === "trades")!;

  it.each([
    ["CSV", CsvFile, "b3887056bae00099eb03b793191309b0673a3e283d75e234ed42656e86084f50", 1_446_128],
    [
      "Parquet",
      ParquetFile,
      "ee7ca507891ad8097cdcf75d1528b3184cba7b25d2d11a86281602a915f99bb4",
      3_118_952,
    ],
  ] as const)(
    "%s has the bytes that its version has on every machine, read in whatever batches",
    (name, Sink, sha256, bytes) => {
      for (const batch of [2000, 777]) {
        const sink = new Sink(trades);
        const pieces: Uint8Array[] = [];
        for (let at = 0; at < ROWS.length; at += batch) {
          pieces.push(...sink.add(ROWS.slice(at, at + batch)));
        }
        const whole = Buffer.concat([...pieces, ...sink.end()]);
        // With other bytes for the same rows, FORMAT has to be another one.
        expect([whole.length, createHash("sha256").update(whole).digest("hex")]).toEqual([
          bytes,
          sha256,
        ]);
        // No time, no name, one system on every machine.
        if (name === "CSV")
          expect([...whole.subarray(0, 10)]).toEqual([31, 139, 8, 0, 0, 0, 0, 0, 0, 3]);
      }
    },
  );
});
