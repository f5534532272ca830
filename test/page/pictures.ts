// Makes the pictures of the pages, of two of them on a phone too: `npm run generate -- pictures`.
import { join } from "node:path";
import { readCommandLine } from "../../db/command-line.ts";
import { chromiumPath, TestBrowser } from "../browser.ts";
import { DataDirs, startService } from "../service.ts";

readCommandLine({
  usage: `Usage: npm run generate -- pictures

Makes the pictures of the pages of the simulated exchange, of two of them on a phone too, in docs/pictures.

  --help  show this`,
  options: {},
});

const FOLDER = join(import.meta.dirname, "../../docs/pictures");

/** The last level that the page shows: the exchange has traded live. */
const DEEP = "#book .asks tbody tr:nth-child(15)";
const MARKET = { path: "/markets/WETH/DAI?chart=averages", drawn: DEEP };
const LARGE = { width: 1280, scheme: "light" } as const;
const PHONE = { width: 390, height: 844, scheme: "dark" } as const;
const PICTURES = [
  { ...LARGE, name: "markets", path: "/", drawn: "svg.sparkline", height: 860 },
  { ...LARGE, ...MARKET, name: "market", height: 1000 },
  { ...LARGE, ...MARKET, name: "market-dark", height: 1000, scheme: "dark" },
  { ...PHONE, ...MARKET, name: "market-phone" },
  { ...PHONE, name: "markets-phone", path: "/", drawn: "table.markets tbody" },
  {
    ...LARGE,
    ...{ name: "comparison", height: 1000, drawn: ".legend .compared" },
    path: "/markets/WETH/USDC?chart=line&compare=LINK%2FWETH",
  },
  { ...LARGE, name: "account", path: "account", drawn: "#trades tbody", height: 760 },
  { ...LARGE, name: "trades", path: "/trades", drawn: ".connection.live", height: 620 },
  { ...LARGE, name: "state", path: "/state", drawn: "#limits", height: 700 },
] as const;

if (chromiumPath === undefined) throw new Error("Chromium is not installed; set CHROMIUM");
const folders = new DataDirs();
const service = startService({
  ...{ DATA_DIR: await folders.make(), SEED_TRADES: "20000" },
  ...{ USD_TOKENS: "DAI,USDC,USDT", SIMULATE_RATE: "4" },
});
const browser = new TestBrowser();
try {
  const url = await service.url;
  const trades = await fetch(`${url}/trades`, { headers: { Accept: "text/html" } });
  const [account = ""] = /\/accounts\/0x[0-9a-fA-F]{40}/.exec(await trades.text()) ?? [];
  for (const { name, path, drawn, width, height, scheme } of PICTURES) {
    const { page } = await browser.open(url + (path === "account" ? account : path), {
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
