// The example in Python: it checks files and blocks of a service, and names what differs.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { exportDays } from "../../db/export/export-days.ts";
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
