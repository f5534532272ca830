// The example in Python: it checks files and blocks of a service, and names what differs.
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { checkFolder } from "../../db/export/check-files.ts";
import { exportDays } from "../../db/export/export-days.ts";
import { readManifest, writeManifest } from "../../db/export/manifest.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { anAddress, anOffer, aTrade, blockAt, registerMarkets, write } from "../factories.ts";
import { useDatabase } from "../served.ts";

const PROGRAM = "examples/python/facts.py";
const BOOK = anAddress("book");

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await writer.query("select ingest.offer_ids($1, $2, $3)", [[BOOK], ['7,"\u2028é'], [blockAt(2)]]);
  await write(writer, {
    offers: [anOffer({ id: 1, hour: 1, killed: blockAt(30) })],
    trades: [
      aTrade({ hour: 2, offer_id: 2 ** 30, venue: BOOK, base: "1.5" }),
      aTrade({ hour: 49, offer_id: null }),
    ],
    head: 50,
  });
});
let dir: string;
let app: TestApp;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "dex-python-"));
  await exportDays({ url: database.url, dir, finality: 0 });
  app = await makeTestApp(database.reader, { filesDir: dir });
  database.beforeDrop(app.close);
});
afterAll(() => rm(dir, { recursive: true }));

const run = (...args: string[]) => promisify(execFile)("python3", [PROGRAM, ...args]);

it("checks the files of a service and of a folder, and names one that differs", async () => {
  for (const place of [`${app.url}/v2/files/`, dir]) {
    const { stdout } = await run("check", place);
    expect(stdout).toMatch(/^2 days, 3 blocks: every digest is that of the facts\. The last is 0x/);
  }
  const name = (await readdir(dir)).find((one) => one.startsWith("trades") && one.endsWith("gz"))!;
  const right = await readFile(join(dir, name));
  await writeFile(join(dir, name), Buffer.concat([right, Buffer.from("x")]));
  await expect(run("check", dir)).rejects.toThrow(`${name} has other bytes than the manifest says`);
  await writeFile(join(dir, name), right);
});

it.each<[file: string, change: (rows: string) => string, more: number, message: string]>([
  [
    "trades-2026-01-01",
    (rows) => rows + rows.slice(rows.indexOf("7200,")).replace("7200", "7201"),
    1,
    "trades-2026-01-01.csv.gz has rows of block 7201 at 2026-01-01T02:00:00.000000Z, which is not in blocks-2026-01-01.csv.gz",
  ],
  [
    "trades-2026-01-01",
    (rows) => rows.replace("T02:00:00.000000Z", "T02:00:00.000001Z"),
    0,
    "block 7200: its facts have the digest",
  ],
  [
    "ends-2026-01-02",
    (rows) =>
      rows.replace(/cancelled\n$/, "cancelled\n108000,2,2026-01-02T06:00:01.000000Z,filled\n"),
    1,
    "ends-2026-01-02.csv.gz has rows of block 108000 at 2026-01-02T06:00:01.000000Z, which is not in blocks-2026-01-02.csv.gz",
  ],
  [
    "offers-2026-01-01",
    (rows) => rows,
    1,
    "offers-2026-01-01.csv.gz has 1 rows, and the manifest says 2",
  ],
])(
  "refuses %s of other rows, though the manifest has their SHA-256",
  async (file, change, more, message) => {
    const manifest = (await readManifest(dir))!;
    const name = `${file}.csv.gz`;
    const right = await readFile(join(dir, name));
    const wrong = gzipSync(change(gunzipSync(right).toString()));
    await writeFile(join(dir, name), wrong);
    const sha256 = createHash("sha256").update(wrong).digest("hex");
    const days = manifest.days.map((day) => ({
      ...day,
      files: day.files.map((one) => ({
        ...one,
        ...(one.name.startsWith(file) && { rows: one.rows + more }),
        ...(one.name === name && { bytes: wrong.length, sha256 }),
      })),
    }));
    await writeManifest(dir, { ...manifest, days });
    try {
      await expect(run("check", dir)).rejects.toThrow(message);
      expect((await checkFolder(dir)).problems).toHaveLength(1);
    } finally {
      await writeFile(join(dir, name), right);
      await writeManifest(dir, manifest);
    }
  },
);

it("names the manifest where a byte of it is another", async () => {
  const right = await readFile(join(dir, "manifest.json"), "utf8");
  await writeFile(join(dir, "manifest.json"), right.replace('"rows":1', '"rows":2'));
  await expect(run("check", dir)).rejects.toThrow("manifest.json is not what was written");
  await writeFile(join(dir, "manifest.json"), right);
});

it("prints the trades of each block whose digest it has computed", async () => {
  const child = spawn("python3", [PROGRAM, "follow", app.url], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  let printed = "";
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  const seen = new Promise<void>((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.split("\n").length > 2) resolve();
    });
  });
  await Promise.race([seen, ended]);
  child.kill("SIGINT");
  await ended;
  expect(complaint).toBe("");
  expect(printed).toMatch(
    /^2026-01-01T02:00:00\.000000Z 0x\w+ 1\.5 0x\w+ for 100 0x\w+\n2026-01-03T01:/,
  );
});

it("ends without a complaint where its reader has left", async () => {
  const child = spawn("python3", [PROGRAM, "follow", app.url], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  child.stdout.destroy();
  await once(child, "close");
  expect(complaint).toBe("");
});
