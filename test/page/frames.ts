// `npm run bench -- page`: how long the frames of the list of 1,016 markets take while it is scrolled, by a trace of Chromium.
import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readCommandLine } from "../../db/command-line.ts";
import { chromiumPath, TestBrowser } from "../browser.ts";
import { DataDirs, startService } from "../service.ts";

readCommandLine({
  usage: `Usage: npm run bench -- page

Scrolls the list of 1,016 markets, on which the simulated exchange trades, from its top to its end, and prints how long its
frames took.

  --help  show this`,
  options: {},
});

const ADDED = 1000;
const PIXELS = 60;

const tokenOf = (n: number): string => `0x${(n + 1).toString(16).padStart(40, "0")}`;

/** Registers markets without a trade, beside those of the simulated exchange. */
async function addMarkets(dataDir: string): Promise<void> {
  const folder = join(dirname(dataDir), "added");
  await mkdir(folder);
  const rows = Array.from({ length: ADDED + 1 }, (_, n) => n);
  const tokens = rows.map((n) => `${tokenOf(n)},18,T${n}`);
  const pairs = rows.slice(1).map((n) => `T${n},T0,${tokenOf(n)},${tokenOf(0)}`);
  await writeFile(join(folder, "tokens.csv"), ["address,decimals,symbol", ...tokens].join("\n"));
  await writeFile(
    join(folder, "pairs.csv"),
    ["base,quote,base_gem,quote_gem", ...pairs].join("\n"),
  );
  const env = { ...process.env, DATA_DIR: dataDir };
  const { status } = spawnSync(process.execPath, ["db/commands/load.ts", folder], {
    env,
    stdio: "inherit",
  });
  if (status !== 0) throw new Error("The markets were not added");
}

if (chromiumPath === undefined) throw new Error("Chromium is not installed; set CHROMIUM");
const folders = new DataDirs();
const dataDir = await folders.make();
const service = startService({ DATA_DIR: dataDir, SEED_TRADES: "3000", SIMULATE_RATE: "4" });
const browser = new TestBrowser();
try {
  const url = await service.url;
  await addMarkets(dataDir);
  const { page } = await browser.open(url, { viewport: { width: 1440, height: 900 } });
  await page.waitForSelector(`table.markets tbody tr:nth-child(${16 + ADDED})`);
  const frames = await page.evaluate<number[]>(`new Promise((resolve) => {
    const taken = [];
    let before = performance.now();
    const step = (now) => {
      taken.push(now - before);
      before = now;
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      if (scrollTop + clientHeight >= scrollHeight - 1) resolve(taken.slice(1));
      else {
        scrollBy(0, ${PIXELS});
        requestAnimationFrame(step);
      }
    };
    requestAnimationFrame(step);
  })`);
  const sorted = frames.toSorted((one, other) => one - other);
  const at = (share: number): string =>
    `${sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(1)} ms`;
  console.log(
    `${frames.length} frames: half of them within ${at(0.5)}, 95 % within ${at(0.95)}, the longest ${at(1)}.`,
  );
} finally {
  await browser.close();
  service.signal("SIGTERM");
  await service.ended;
  await folders.remove();
}
