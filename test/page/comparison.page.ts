// The comparison with another market on the chart, in Chromium: against REST, live, and as of a past block.
import type { Page } from "playwright-core";
import { describeInChromium, useBrowser } from "../browser.ts";
import { anAddress, aTrade, blockAt, DAI, WETH, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";
import { fillPageExchange } from "./page-exchange.ts";
import { until, valuesOf } from "./panels.ts";

const { app, database } = serveDatabase(fillPageExchange);

const OTHER = "SLASH%2FED%3A1%2C2%25/DAI";
/** A trade of the other market, quote for one of base. */
const otherTrade = (hour: number, quote: string) =>
  aTrade({
    hour,
    offer_id: null,
    baseGem: anAddress("SLASH/ED:1,2%"),
    quoteGem: DAI,
    base: "1",
    quote,
  });

/** The close of the other market beside the candle that is shown. */
const compared = async (page: Page) => (await valuesOf(page, ".legend .compared"))[0]?.[0];

const hasLine = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(`[...document.querySelectorAll(".chart canvas")].some((canvas) => {
    if (canvas.width === 0 || canvas.height === 0) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const [red, green, blue] = [0, 0x72, 0x7f];
    for (let n = 0; n < data.length; n += 4) {
      const apart = Math.abs(data[n] - red) + Math.abs(data[n + 1] - green) + Math.abs(data[n + 2] - blue);
      if (apart < 20) return true;
    }
    return false;
  })`);

describeInChromium("the comparison with another market", () => {
  const browser = useBrowser();

  it("is chosen at the keyboard, drawn, kept in the address, followed, and ended", async () => {
    const trade = { offer_id: 90, base: "1", quote: "200" };
    await write(database.writer, { trades: [aTrade({ ...trade, hour: 25 })] });
    const { page, complaints } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector(".chart canvas");
    await page.click("button:text-is('Compare')");
    // Five of the six: not the market itself.
    await page.waitForSelector("dialog[open] [role=status]:text('5 of 5 markets')");
    await page.keyboard.insertText("slash");
    await page.waitForSelector("dialog[open] [role=status]:text('1 of 5 markets')");
    await page.keyboard.press("Enter");
    // 3 for 2.
    await until(
      () => compared(page),
      () => Promise.resolve("1.5"),
    );
    expect(new URL(page.url()).searchParams.get("compare")).toBe(OTHER);
    await until(
      () => hasLine(page),
      () => Promise.resolve(true),
    );
    // The panels of the market stay, and both are followed.
    expect(await page.locator("#trades tbody tr").count()).toBe(4);
    await write(database.writer, {
      trades: [aTrade({ ...trade, hour: 30 }), { ...otherTrade(30, "7"), idx: 1 }],
    });
    await until(
      () => compared(page),
      () => Promise.resolve("7"),
    );
    await page.waitForSelector("#trades tbody tr:nth-child(5)");
    await page.reload();
    await until(
      () => compared(page),
      () => Promise.resolve("7"),
    );
    await database.writer.query("select ingest.take_back($1)", [blockAt(26)]);
    await until(
      () => compared(page),
      () => Promise.resolve("1.5"),
    );
    await page.click("button:has-text('Compared with')");
    await page.waitForSelector("button:text-is('Compare')");
    expect(new URL(page.url()).searchParams.get("compare")).toBeNull();
    // The page itself ends the stream before, waits for a block that is taken back, and the test reads the pixels.
    expect(complaints.filter((one) => !/^failed: |^Canvas2D|status of 503/.test(one))).toEqual([]);
    await page.close();
  });

  it("is of the block where the page is of a past one", async () => {
    for (const hour of [40, 41]) {
      await write(database.writer, {
        trades: [aTrade({ hour, offer_id: 90, baseGem: WETH, base: "1", quote: "200" })],
      });
      await write(database.writer, { trades: [otherTrade(hour + 0.5, String(hour))] });
    }
    const at = (hour: number) =>
      `${app.url}/markets/WETH/DAI?interval=1m&block=${blockAt(hour)}&compare=${encodeURIComponent(OTHER)}`;
    const { page } = await browser.open(at(41));
    await until(
      () => compared(page),
      () => Promise.resolve("40"),
    );
    await page.click(".blocks a:text('Next block')");
    await page.waitForSelector(`.head:has-text("As of block ${blockAt(41.5)},")`);
    await page.close();
  });

  it.each(["no/such", "WETH", "%25E0/DAI"])(
    "says that %s is no market, and follows its own",
    async (named) => {
      const { page } = await browser.open(`${app.url}/markets/WETH/DAI?compare=${named}`);
      await page.waitForSelector(".connection.live");
      await page.waitForSelector("#candles button:text-is('Compare')");
      if (named === "no/such") {
        await page.waitForSelector(
          "#candles [role=status]:has-text('There is no market no/such to compare with.')",
        );
      }
      await page.close();
    },
  );
});
