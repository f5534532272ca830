// Makes the pictures of the list of markets, and of a market's page at three sizes: `npm run generate -- pictures`.
import { join } from "node:path";
import { readCommandLine } from "../../db/command-line.ts";
import { chromiumPath, TestBrowser } from "../browser.ts";
import { DataDirs, startService } from "../service.ts";

readCommandLine({
  usage: `Usage: npm run generate -- pictures

Makes the pictures of the list of markets, and of a market's page at three sizes, in docs/pictures.

  --help  show this`,
  options: {},
});

const FOLDER = join(import.meta.dirname, "../../docs/pictures");

const MARKET = { path: "/markets/WETH/DAI?chart=averages", drawn: ".chart canvas" };
const PICTURES = [
  { name: "markets", path: "/", drawn: "svg.sparkline", width: 1280, height: 900, scheme: "light" },
  { ...MARKET, name: "market", width: 1280, height: 1000, scheme: "light" },
  { ...MARKET, name: "market-tablet", width: 820, height: 1100, scheme: "dark" },
  { ...MARKET, name: "market-phone", width: 390, height: 844, scheme: "dark" },
] as const;

if (chromiumPath === undefined) throw new Error("Chromium is not installed; set CHROMIUM");
const folders = new DataDirs();
const service = startService({
  ...{ DATA_DIR: await folders.make(), SEED_TRADES: "20000" },
});
const browser = new TestBrowser();
try {
  const url = await service.url;
  for (const { name, path, drawn, width, height, scheme } of PICTURES) {
    const { page } = await browser.open(url + path, {
      ...{ viewport: { width, height }, colorScheme: scheme, timezoneId: "UTC", locale: "en" },
    });
    await page.waitForSelector(drawn);
    // What is marked as changed fades.
    await page.waitForTimeout(3000);
    await page.screenshot({ path: join(FOLDER, `${name}.png`) });
    await page.close();
  }
} finally {
  await browser.close();
  service.signal("SIGTERM");
  await service.ended;
  await folders.remove();
}
