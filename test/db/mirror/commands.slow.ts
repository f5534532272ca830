// The commands of a mirror, killed anywhere and on a full disk: what is there is whole, and the same command goes on. What an
// origin sends without end fills no memory.
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { manifestText, readManifest, type Contents } from "../../../db/export/manifest.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";
import { runFile, runShell, type Ended } from "../../service.ts";
import { digestsOf, useMirrored } from "./following.ts";
import { makeLyingOrigin, type LyingOrigin } from "./lying-origin.ts";

/** Three days that are final. */
const mirrored = useMirrored(async ({ writer }) => {
  await registerMarkets(writer);
  const hours = Array.from({ length: 145 }, (_, n) => n / 2);
  await write(writer, { trades: hours.map((hour) => aTrade({ hour, offer_id: null })) });
  await mirrored.export();
});

let origin: LyingOrigin;
let manifest: Contents;
let dir: string;
beforeAll(async () => {
  origin = await makeLyingOrigin(() => mirrored.app.url);
  manifest = (await readManifest(mirrored.dir))!;
  dir = await mkdtemp(join(tmpdir(), "dex-mirror-"));
});
afterAll(async () => {
  await origin.close();
  await rm(dir, { recursive: true });
});
beforeEach(async () => {
  origin.lie = () => undefined;
  await mirrored.mirror.empty();
});

const files = (): string => `${origin.url}/v2/files/`;
const env = (): Record<string, string> => ({ DATABASE_OWNER_URL: mirrored.mirror.url });
const load = () => runFile("db/commands/load.ts", env(), [files(), "--dir", dir]);

/** Whole days alone, and under the names of files nothing but their bytes. Resolves to the number of days. */
async function expectWhole(): Promise<number> {
  const lasts = manifest.days.map(({ lastBlock }) => lastBlock);
  const kept = (await digestsOf(mirrored.mirror)) as { number: number }[];
  expect(await digestsOf(mirrored.origin)).toEqual(expect.arrayContaining(kept));
  const days = lasts.indexOf(kept.at(-1)?.number ?? -1) + 1;
  expect(kept).toHaveLength(days * 48);
  for (const { name, sha256 } of manifest.days.flatMap((day) => day.files)) {
    const found = await readFile(join(dir, name)).catch(() => undefined);
    if (found)
      expect([name, createHash("sha256").update(found).digest("hex")]).toEqual([name, sha256]);
  }
  return days;
}

async function expectLoaded({ code, stdout, stderr }: Ended): Promise<void> {
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/; 2026-01-03 is the last one of the origin\.\n$/);
  expect(await expectWhole()).toBe(3);
  expect((await readdir(dir)).filter((name) => name.includes("csv"))).toEqual([]);
}

it("load leaves whole days alone wherever it is killed, and goes on", async () => {
  const found: number[] = [];
  // The manifest, a file of registrations, one of each day: all are fetched before the days are written together, and none twice.
  for (const answer of [1, 3, 5, 9, 10]) {
    const reached = Promise.withResolvers<undefined>();
    let answers = 0;
    origin.lie = (_, truth, res) => {
      answers += 1;
      if (answers < answer) return undefined;
      res.writeHead(200, { "Content-Length": truth.length });
      res.write(truth.subarray(0, truth.length >> 1), () => reached.resolve(undefined));
      return "answered";
    };
    const running = load();
    await Promise.race([reached.promise, running.ended]);
    running.signal("SIGKILL");
    expect((await running.ended).code).toBeNull();
    found.push(await expectWhole());
  }
  origin.lie = () => undefined;
  expect(found).toEqual([0, 0, 0, 0, 0]);
  await expectLoaded(await load().ended);
});

it("load leaves nothing of a day that it is killed in while it writes, and goes on", async () => {
  const admin = await mirrored.mirror.connect();
  const isThere = async (text: string): Promise<boolean> =>
    (await admin.query(text)).rowCount !== 0;
  // What it writes last waits for this lock.
  await admin.query("begin");
  await admin.query("lock table dex_private.market_figure in share mode");
  const running = load();
  while (!(await isThere("select from pg_locks where not granted")))
    await new Promise(setImmediate);
  running.signal("SIGKILL");
  await running.ended;
  await admin.query("commit");
  const ours =
    "select from pg_stat_activity where application_name = 'dex-market-data load' and datname = current_database()";
  while (await isThere(ours)) await new Promise(setImmediate);
  expect(await expectWhole()).toBe(0);
  await expectLoaded(await load().ended);
});

it("load says that the disk is full, and goes on when it is not", async () => {
  const command = `${process.execPath} db/commands/load.ts ${files()} --dir ${dir}`;
  // No file may have more than a block of the disk.
  const { code, stderr } = await runShell(`ulimit -f 1; exec ${command}`, env()).ended;
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^load: .*EFBIG.*Days that were loaded stay; the same command goes on after them\n$/,
    ),
  ]);
  expect(await expectWhole()).toBe(0);
  await expectLoaded(await load().ended);
});

it("follow is killed between two blocks, and goes on; it ends by SIGTERM with 0", async () => {
  const follow = () => runFile("db/commands/follow.ts", env(), [origin.url]);
  const reached = Promise.withResolvers<undefined>();
  origin.lie = (path, truth, res) => {
    if (!path.startsWith("/v2/blocks?from=1")) return undefined;
    res.writeHead(200, { "Content-Length": truth.length });
    res.write(truth.subarray(0, truth.length >> 1), () => reached.resolve(undefined));
    return "answered";
  };
  const killed = follow();
  await reached.promise;
  killed.signal("SIGKILL");
  await killed.ended;
  const kept = await digestsOf(mirrored.mirror);
  expect(kept.length).toBe(100);
  expect(await digestsOf(mirrored.origin)).toEqual(expect.arrayContaining(kept));
  origin.lie = () => undefined;
  const again = follow();
  await again.printed(/Block \d+, the head\n/);
  again.signal("SIGTERM");
  expect((await again.ended).code).toBe(0);
  expect(await digestsOf(mirrored.mirror)).toEqual(await digestsOf(mirrored.origin));
});

/** Until the client leaves. */
function endless(res: ServerResponse, piece: Buffer): "answered" {
  const send = (): void => {
    while (!res.destroyed && res.write(piece));
  };
  res.on("drain", send);
  send();
  return "answered";
}

const MB = 1024 * 1024;
/** Prints at its end how much memory the process had at most. */
const MEASURED =
  "--import 'data:text/javascript,process.on(`exit`,()=>console.log(process.resourceUsage().maxRSS*1024))'";

const BOMB = "trades-2026-01-01.csv.gz";
const BOMB_ROWS = 20_000;
let bombed: Buffer | undefined;
/** 180 MB of rows of the first block. */
const bomb = (): Buffer =>
  (bombed ??= gzipSync(`${TRADES}\n${`0,0,${"7".repeat(9000)},,,,,,,,,,\n`.repeat(BOMB_ROWS)}`));
const TRADES = "block,idx,time,tx,venue,offer,maker,taker,pair,lot_gem,lot_amt,bid_gem,bid_amt";

it.each<[what: string, command: string, lie: LyingOrigin["lie"], message: RegExp]>([
  [
    "a page without end",
    "follow",
    (path, _, res) =>
      path.startsWith("/v2/blocks") ? endless(res, Buffer.alloc(65_536, "0")) : undefined,
    /^follow: .*\/v2\/blocks\?from=0 answers with more than 67108864 bytes\n$/,
  ],
  [
    "a page that grows when it is decompressed",
    "follow",
    (path, _, res) => {
      if (!path.startsWith("/v2/blocks")) return undefined;
      res.writeHead(200, { "Content-Encoding": "gzip" }).end(gzipSync(Buffer.alloc(200 * MB)));
      return "answered";
    },
    /^follow: .*\/v2\/blocks\?from=0 answers with more than 67108864 bytes\n$/,
  ],
  [
    "a file that grows when it is decompressed",
    "load",
    (path, truth) => {
      if (path.endsWith(BOMB)) return bomb();
      if (!path.endsWith("manifest.json")) return undefined;
      const { sha256: _, ...given } = JSON.parse(truth.toString()) as Contents & { sha256: string };
      const file = given.days[0]!.files.find(({ name }) => name === BOMB)!;
      const sha256 = createHash("sha256").update(bomb()).digest("hex");
      Object.assign(file, { rows: BOMB_ROWS, bytes: bomb().length, sha256 });
      return manifestText(given);
    },
    /^load: 2026-01-01: block 0 has rows of more than 67108864 bytes\n$/,
  ],
])("%s ends %s with one line, in bounded memory", async (_, command, lie, message) => {
  origin.lie = lie;
  const args = command === "load" ? `${files()} --dir ${dir}` : origin.url;
  const { code, stdout, stderr } = await runShell(
    `exec ${process.execPath} ${MEASURED} db/commands/${command}.ts ${args}`,
    env(),
  ).ended;
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  expect(Number(stdout.trim().split("\n").at(-1))).toBeLessThan(450 * MB);
  expect(await digestsOf(mirrored.mirror)).toEqual([]);
});
