// Symbols as long as the database takes them: no page is wider than its window, and a name that is cut has its whole.
import type { Page } from "playwright-core";
import { describeInChromium, useBrowser } from "../browser.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  registerPair,
  registerTokens,
  write,
} from "../factories.ts";
import { serveDatabase } from "../served.ts";

const WIDTHS = [320, 360, 768, 1280];
const [BASE, QUOTE] = ["A".repeat(100), "B".repeat(100)];
const [LIKE, OTHER] = ["WRAPPEDSTAKEDETHEREUM", "WRAPPEDSTAKEDETHEREUMTWO"];
const MARKET = `/markets/${BASE}/${QUOTE}`;

const { app } = serveDatabase(async (db) => {
  const symbols = [BASE, QUOTE, LIKE, OTHER];
  await registerTokens(
    db,
    { address: DAI, symbol: "DAI" },
    ...symbols.map((symbol) => ({ address: anAddress(symbol), symbol })),
  );
  const [base, quote, like, other] = symbols.map(anAddress) as [string, string, string, string];
  await registerPair(db, base, quote);
  await registerPair(db, like, DAI);
  await registerPair(db, like, base);
  await registerPair(db, other, DAI, false);
  const pair = { baseGem: base, quoteGem: quote };
  await write(db, {
    offers: [
      anOffer({ id: 1, base: "10", quote: "1300", ...pair }),
      anOffer({ id: 2, side: "buy", base: "10", quote: "1200", ...pair }),
    ],
    trades: [
      aTrade({ hour: 1, offer_id: 90, ...pair }),
      aTrade({ hour: 26, offer_id: 90, quote: "105.5", ...pair }),
      ...[other, like].map((baseGem, n) =>
        aTrade({ hour: 26, offer_id: 91 + n, quote: "105.5", baseGem }),
      ),
    ],
    head: 27,
  });
});

/** Each page, with what it has once it is drawn. */
const PAGES = [
  ["/", "table.markets tbody tr"],
  [MARKET, "#trades .address"],
  [`${MARKET}?block=${blockAt(26)}&compare=${LIKE}/DAI`, ".legend .compared"],
  [`${MARKET}?compare=${QUOTE}/${BASE}`, "#candles > [role=status]"],
  [`${MARKET}?block=1`, "main"],
  [`/markets/${QUOTE}/${BASE}`, "main"],
  ["/trades", "tr .address"],
  [`/accounts/${anAddress("taker")}`, "main"],
  [`/accounts/${BASE}`, "main"],
] as const;

/** The widths of the window at which the page is wider. */
async function exceeded(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    const taken = await page.evaluate<number>("document.documentElement.scrollWidth");
    if (taken > width) found.push(`${taken} of ${width}`);
  }
  return found;
}

/** Symbols that are cut and do not have their whole behind them. */
const lost = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[...document.querySelectorAll("bdi")]
    .filter((one) => getComputedStyle(one).display !== "inline")
    .filter((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight)
    .filter((one) => one.title !== one.textContent)
    .map((one) => one.outerHTML)`);

describeInChromium("symbols of 100 letters", () => {
  const browser = useBrowser();

  it.each(PAGES)("make no page wider than its window: %s", async (path, drawn) => {
    for (const javaScriptEnabled of [true, false]) {
      const { page } = await browser.open(app.url + path, { javaScriptEnabled });
      if (javaScriptEnabled) await page.waitForSelector(drawn);
      const found = await exceeded(page);
      expect({ javaScriptEnabled, found }).toEqual({ javaScriptEnabled, found: [] });
      expect(await lost(page)).toEqual([]);
      await page.close();
    }
  });

  it("make no list of markets to choose from wider than its window", async () => {
    const { page } = await browser.open(app.url + MARKET);
    await page.waitForSelector("#trades .address");
    await page.keyboard.press("/");
    await page.waitForSelector("dialog[open] li");
    expect(await exceeded(page)).toEqual([]);
    const beyond = await page
      .locator("dialog[open]")
      .evaluate((one) => one.scrollWidth - one.clientWidth);
    expect(beyond).toBe(0);
    await page.close();
  });

  it("leave the names of markets distinct in the list on a phone", async () => {
    const { page } = await browser.open(app.url, { viewport: { width: 360, height: 800 } });
    await page.waitForSelector("table.markets tbody tr");
    const region = page.locator("[aria-label='All markets']");
    expect(await region.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    const cut = await page.locator("table.markets tbody :is(th bdi, .tag)").evaluateAll((all) =>
      all
        .filter((one) => {
          const outer = one.closest("th")!.getBoundingClientRect();
          const inner = one.getBoundingClientRect();
          const isInside = inner.left >= outer.left && inner.right <= outer.right;
          return !isInside || one.scrollHeight > one.clientHeight;
        })
        .map((one) => one.textContent),
    );
    // Of these the beginning stands, and the title has the rest.
    expect(new Set(cut)).toEqual(new Set([BASE, QUOTE]));
    expect(await lost(page)).toEqual([]);
    await page.close();
  });
});
