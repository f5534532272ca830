// `npm run bench -- growth`: what pages hold that stay open on the simulated exchange, each minute, by Chromium's counters.
import { setTimeout as sleep } from "node:timers/promises";
import type { CDPSession } from "playwright-core";
import { readCommandLine, refuse } from "../../db/command-line.ts";
import { chromiumPath, TestBrowser } from "../browser.ts";
import { DataDirs, startService } from "../service.ts";

const { values } = readCommandLine({
  usage: `Usage: npm run bench -- growth [--minutes N]

Opens the list of markets and a market of the simulated exchange, which trades four times a second, and prints the heap, nodes
and listeners of each every minute, after a forced collection.

  --minutes N  how long (default: 60)
  --help       show this`,
  options: { minutes: { type: "string", default: "60" } },
});
const minutes = Number(values.minutes);
if (!Number.isInteger(minutes) || minutes < 1) refuse("--minutes is an integer above 0");

const PATHS = ["/", "/markets/WETH/DAI"];
const COUNTERS = ["JSHeapUsedSize", "Nodes", "JSEventListeners"] as const;

async function countersOf(session: CDPSession): Promise<number[]> {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  return COUNTERS.map((counter) => metrics.find(({ name }) => name === counter)!.value);
}

if (chromiumPath === undefined) throw new Error("Chromium is not installed; set CHROMIUM");
const folders = new DataDirs();
const service = startService({
  ...{ DATA_DIR: await folders.make(), SEED_TRADES: "20000" },
  ...{ USD_TOKENS: "DAI,USDC,USDT", SIMULATE_RATE: "4" },
});
const browser = new TestBrowser();
try {
  const url = await service.url;
  const opened: { path: string; session: CDPSession; head: () => Promise<string> }[] = [];
  for (const path of PATHS) {
    const { page } = await browser.open(url + path);
    await page.waitForSelector(".connection.live");
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    opened.push({ path, session, head: () => page.locator(".status .head").innerText() });
  }
  for (let minute = 0; minute <= minutes; minute += 1) {
    for (const { path, session, head } of opened) {
      const [heap = 0, nodes = 0, listeners = 0] = await countersOf(session);
      const megabytes = (heap / 1e6).toFixed(2);
      console.log(
        `minute ${minute}: ${path} (${await head()}): ${megabytes} MB, ${nodes} nodes, ${listeners} listeners`,
      );
    }
    if (minute < minutes) await sleep(60_000);
  }
} finally {
  await browser.close();
  service.signal("SIGTERM");
  await service.ended;
  await folders.remove();
}
