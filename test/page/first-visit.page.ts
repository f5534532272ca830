// A first visit of the market pages loads little.
import { describeInChromium, TestBrowser } from "../browser.ts";
import { blockAt } from "../factories.ts";
import { fillPageExchange } from "./page-exchange.ts";
import { serveDatabase } from "../served.ts";

const { app } = serveDatabase(fillPageExchange);

const MARKET = "/markets/WETH/DAI";
const MAX_BYTES = 160_000;

describeInChromium("a first visit", () => {
  it.each(["/", MARKET, `${MARKET}?block=${blockAt(19)}`])(
    "of %s loads at most 160 kB",
    async (path) => {
      const browser = new TestBrowser();
      const { page } = await browser.open("about:blank");
      const sizes: Promise<number>[] = [];
      page.on("requestfinished", (request) =>
        sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize)),
      );
      await page.goto(app.url + path);
      await page.waitForSelector(path === "/" ? "svg.sparkline" : ".chart canvas");
      await page.waitForTimeout(500);
      const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
      expect(bytes).toBeGreaterThan(10_000);
      expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
      await browser.close();
    },
  );
});
