// A market whose only trade has no base, and so no price: the page says that it was traded.
import { describeInChromium, useBrowser } from "../browser.ts";
import { aTrade, blockAt, MKR, registerMarkets, WETH, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";

const { app } = serveDatabase(async (db) => {
  await registerMarkets(db);
  // Older than the 24 hours of the summary.
  const trade = aTrade({ hour: 1, base: "0", quote: "5", baseGem: MKR, quoteGem: WETH });
  await write(db, { trades: [trade], head: 30 });
});

describeInChromium("the page of a market without a price", () => {
  const browser = useBrowser();

  it.each(["", `?block=${blockAt(2)}`])("says that there are trades: %s", async (query) => {
    const { page } = await browser.open(`${app.url}/markets/MKR/WETH${query}`);
    await page.waitForSelector("#trades tbody tr");
    expect((await page.locator(".legend").textContent())!.trim()).toBe(
      "There are trades, none with a price.",
    );
    const figure = page.locator("#summary dl > div", { hasText: "Last trade" }).locator("dd");
    expect(await figure.textContent()).toBe("none with a price");
    await page.close();
  });

  it("says that there is none where there is none", async () => {
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("#trades p:text-is('No trade yet.')");
    expect((await page.locator(".legend").textContent())!.trim()).toBe("No trade yet.");
    await page.close();
  });
});
