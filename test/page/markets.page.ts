// The page of all markets in Chromium, against REST.
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { makeTestApp } from "../app.ts";
import { describeInChromium, useBrowser } from "../browser.ts";
import {
  anAddress,
  aTrade,
  DAI,
  MKR,
  registerMarkets,
  registerPair,
  registerTokens,
  WETH,
  write,
} from "../factories.ts";
import { serveEach } from "../served.ts";
import { fillPageExchange, HEBREW, HOSTILE, LONG } from "./page-exchange.ts";

const { app, database } = serveEach();

const drawn = (page: Page) => page.waitForSelector("table.markets tbody tr");

const names = (page: Page): Promise<string[]> =>
  page.locator("table.markets tbody th a").allTextContents();

const ofRest = async (path: string) => (await app.request.get(path).expect(200)).body.data;

describeInChromium("the page of all markets", () => {
  const browser = useBrowser();

  it("has each market as REST has it, whole and escaped, and nothing of another host", async () => {
    await fillPageExchange(database.writer);
    const { page, asked, complaints } = await browser.open(app.url);
    await drawn(page);
    const shown = await page.locator("table.markets tbody tr").evaluateAll((rows) =>
      rows.map((row) => ({
        pair: row.querySelector("a")!.textContent,
        isInactive: row.querySelector(".tag") !== null,
        values: [...row.querySelectorAll("data")].map(({ value, title }) => [value, title]),
      })),
    );
    const summaries = await ofRest("/v2/summary");
    const pairs = await ofRest("/v1/pairs/");
    const titleOf = (value: string) => (value === "0" ? "none" : value);
    const byName = (one: { pair: string | null }, other: { pair: string | null }) =>
      one.pair! < other.pair! ? -1 : 1;
    expect(shown.toSorted(byName)).toEqual(
      Object.keys(summaries)
        .map((pair) => {
          const { last, quoteVol, high, low } = summaries[pair];
          return {
            pair,
            isInactive: !pairs[pair].active,
            values: [
              [last, titleOf(last)],
              // No market has a price of 24 hours ago.
              ["0", "no price 24 hours ago"],
              [quoteVol, quoteVol],
              [high, titleOf(high)],
              [low, titleOf(low)],
            ],
          };
        })
        .sort(byName),
    );
    expect(shown.map(({ pair }) => pair)).toEqual(
      expect.arrayContaining([`${HOSTILE}/DAI`, `${HEBREW}/${LONG}`, "SLASH/ED:1,2%/DAI"]),
    );
    await page.waitForSelector("tr:has-text('WETH/DAI') svg.sparkline");
    await page.close();
    expect(complaints).toEqual([]);
    expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([app.url]));
  });

  it("is sorted and searched at the keyboard, and leads to a market", async () => {
    await fillPageExchange(database.writer);
    const { page } = await browser.open(app.url);
    await drawn(page);
    await page.locator("th button:text('Volume')").focus();
    await page.waitForSelector("th[aria-sort='descending'] button:text('Volume')");
    const byVolume = ["WETH/DAI", `${HOSTILE}/DAI`, `${HEBREW}/${LONG}`, "OLD/DAI"];
    // 123,856.79, 100, 100, 4 and 3 of the quote; MKR/WETH was never traded.
    expect(await names(page)).toEqual([...byVolume, "SLASH/ED:1,2%/DAI", "MKR/WETH"]);
    await page.keyboard.press("Enter");
    await page.waitForSelector("th[aria-sort='ascending'] button:text('Volume')");
    expect((await names(page))[0]).toBe("SLASH/ED:1,2%/DAI");
    expect((await names(page)).at(-1)).toBe("MKR/WETH");

    await page.keyboard.press("/");
    await page.keyboard.insertText("slash");
    await page.waitForSelector("[role=status]:text('1 of 6 markets')");
    expect(await names(page)).toEqual(["SLASH/ED:1,2%/DAI"]);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/markets/SLASH%2FED%3A1%2C2%25/DAI");
    await page.waitForSelector("#summary");
    expect(await page.locator("h1").textContent()).toBe("SLASH/ED:1,2%/DAI");
    await page.close();
  });

  it("keeps favourites in the browser, and shows them alone", async () => {
    await fillPageExchange(database.writer);
    const { page } = await browser.open(app.url);
    await drawn(page);
    await page.click("[aria-label='Favourite OLD/DAI']");
    await page.waitForSelector("[aria-label='Favourite OLD/DAI'][aria-pressed='true']");
    await page.reload();
    await drawn(page);
    await page.waitForSelector("[aria-label='Favourite OLD/DAI'][aria-pressed='true']");
    await page.check("text=Favourites only");
    await page.waitForSelector("[role=status]:text('1 of 6 markets')");
    expect(await names(page)).toEqual(["OLD/DAI"]);
    await page.click("[aria-label='Favourite OLD/DAI']");
    await page.waitForSelector("[role=status]:text('0 of 6 markets')");
    await page.close();
  });

  it("shows what moved, and nothing of it where no price is of 24 hours ago", async () => {
    await fillPageExchange(database.writer);
    const { page } = await browser.open(app.url);
    await drawn(page);
    expect(await page.locator(".movers li").count()).toBe(0);
    // 24 hours before hour 37.5 the price was 300 / 2 = 150, and it becomes 75: half of it.
    await write(database.writer, {
      trades: [aTrade({ hour: 37.5, offer_id: 90, base: "2", quote: "150" })],
    });
    const fallen = page.locator(".movers div:has-text('Fallen most') li");
    await fallen.waitFor();
    expect(await fallen.textContent()).toContain("WETH/DAI");
    expect((await ofRest("/v2/summary/weth/dai")).percent).toMatch(/^-50(\.0*)?/);
    await page.waitForSelector(".movers data[value^='-50']:text-is('-50.00 %')");
    await page.waitForSelector("table.markets td data:text-is('-50.00 %')");
    await page.close();
  });

  it("has a market, its price, change and volume on a phone without scrolling", async () => {
    await fillPageExchange(database.writer);
    const { page } = await browser.open(app.url, { viewport: { width: 390, height: 844 } });
    await drawn(page);
    const region = page.locator("[aria-label='All markets']");
    const [wide, inner] = await region.evaluate((one) => [one.scrollWidth, one.clientWidth]);
    expect(wide).toBeLessThanOrEqual(inner);
    const headings = page.locator("table.markets thead th:visible");
    expect((await headings.allTextContents()).map((text) => text.trim())).toEqual([
      ...["Market", "Last", "Change", "Volume"],
    ]);
    await page.close();
  });

  it("has each market in one line on a tablet, with its last 24 hours", async () => {
    await registerTokens(
      database.writer,
      { address: WETH, symbol: "wstETH" },
      { address: DAI, symbol: "WETH" },
      { address: MKR, symbol: "MKR" },
    );
    await registerPair(database.writer, WETH, DAI);
    await registerPair(database.writer, MKR, DAI, false);
    await write(database.writer, {
      trades: [aTrade({ hour: 1, base: "123456.5", quote: "987654321.25" })],
      head: 2,
    });
    await using valued = await makeTestApp(database.reader, {
      listings: { exchangeName: "dex", usdTokens: ["WETH"] },
    });
    const { page } = await browser.open(valued.url, { viewport: { width: 820, height: 900 } });
    await drawn(page);
    const [wide, inner] = await page
      .locator("[aria-label='All markets']")
      .evaluate((one) => [one.scrollWidth, one.clientWidth]);
    expect(wide).toBeLessThanOrEqual(inner);
    await page.waitForSelector("table.markets th:visible:text('24 hours')");
    const heights = await page
      .locator("table.markets tbody tr")
      .evaluateAll((rows) => rows.map((row) => row.clientHeight));
    // 2.3 rem; two lines take more than 45 pixels.
    expect(heights.filter((height) => height > 45)).toEqual([]);
    await page.close();
  });

  it("copies whole numbers", async () => {
    await fillPageExchange(database.writer);
    const { page } = await browser.open(app.url);
    await drawn(page);
    const copied = await page.evaluate<string>(`
      getSelection().selectAllChildren(
        [...document.querySelectorAll("table.markets tr")]
          .find((row) => row.textContent.includes("WETH/DAI")),
      );
      const clipboardData = new DataTransfer();
      document.dispatchEvent(new ClipboardEvent("copy", { clipboardData }));
      clipboardData.getData("text/plain");
    `);
    const { last, percent, quoteVol, high, low } = await ofRest("/v2/summary/weth/dai");
    expect(copied.split("\t").slice(0, 6)).toEqual([
      "WETH/DAI",
      ...[last, percent, `${quoteVol} DAI`, high, low],
    ]);
    await page.close();
  });

  it("is a table of the server without scripts", async () => {
    await fillPageExchange(database.writer);
    const { page } = await browser.open(app.url, { javaScriptEnabled: false });
    const rows = await page
      .locator("tbody tr")
      .evaluateAll((rows) =>
        rows.map((row) =>
          [...row.children].map(
            (cell) => cell.querySelector("data")?.value ?? cell.textContent.trim(),
          ),
        ),
      );
    const summaries = await ofRest("/v2/summary");
    expect(rows.toSorted()).toEqual(
      Object.keys(summaries)
        .map((pair) => {
          const { last, lastTime, quoteVol, high, low } = summaries[pair];
          const orDash = (value: string) => (value === "0" ? "–" : value);
          return [
            ...[pair === "OLD/DAI" ? "OLD/DAI (inactive)" : pair, orDash(last), "–"],
            ...[quoteVol, orDash(high), orDash(low)],
            lastTime?.slice(0, 19).replace("T", " ") ?? "–",
          ];
        })
        .sort(),
    );
    expect(rows.at(-1)![0]).toBe("MKR/WETH");
    await page.click("a:has-text('WETH/DAI')");
    await page.waitForURL("**/markets/WETH/DAI");
    const { last } = summaries["WETH/DAI"];
    expect(
      await page
        .locator("dd, dd data")
        .evaluateAll((all) =>
          all.map((one) => (one as unknown as { value?: string }).value ?? one.textContent),
        ),
    ).toContain(last);
    await page.close();
  });

  it("says that an exchange is empty, until a market is registered and traded", async () => {
    const { page, complaints } = await browser.open(app.url);
    await page.waitForSelector("[role=status]:text('Live')");
    await page.waitForSelector("p:text('No market is registered yet.')");
    await registerMarkets(database.writer);
    // They are registered one after the other.
    while ((await names(page)).length < 2) await sleep(20);
    expect(await names(page)).toEqual(["MKR/WETH", "WETH/DAI"]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("shows a market that is registered while the page reads which there are", async () => {
    await registerMarkets(database.writer);
    const { page } = await browser.open("about:blank");
    let isFirst = true;
    await page.route("**/v1/pairs/", async (route) => {
      const response = await route.fetch();
      if (isFirst) {
        isFirst = false;
        await registerPair(database.writer, MKR, DAI);
        // For the event of the stream.
        await sleep(1000);
      }
      await route.fulfill({ response });
    });
    await page.goto(app.url);
    while ((await names(page)).length < 3) await sleep(20);
    expect(await names(page)).toEqual(["MKR/DAI", "MKR/WETH", "WETH/DAI"]);
    await page.close();
  });

  it("has no link to a market whose symbol a browser would resolve in a path", async () => {
    const dots = [".", ".."].map((symbol) => ({ address: anAddress(symbol), symbol }));
    await registerTokens(database.writer, { address: DAI, symbol: "DAI" }, ...dots);
    for (const { address } of dots) await registerPair(database.writer, address, DAI);
    await write(database.writer, {
      trades: dots.map(({ address }, n) =>
        aTrade({ hour: 1 + n, baseGem: address, quoteGem: DAI }),
      ),
    });
    for (const javaScriptEnabled of [true, false]) {
      const { page, complaints } = await browser.open(app.url, { javaScriptEnabled });
      if (javaScriptEnabled) await drawn(page);
      const rows = page.locator("table tbody th");
      expect((await rows.allTextContents()).map((text) => text.trim())).toEqual([
        "../DAI",
        "./DAI",
      ]);
      expect(await rows.locator("a").count()).toBe(0);
      if (javaScriptEnabled) {
        await page.fill("#search", ".");
        await page.keyboard.press("Enter");
        expect(complaints).toEqual([]);
      }
      expect(page.url()).toBe(`${app.url}/`);
      await page.close();
    }
  });

  it("finds a market by a letter without a single capital", async () => {
    const ess = anAddress("ß");
    await registerMarkets(database.writer);
    await registerTokens(database.writer, { address: ess, symbol: "ß1" });
    await registerPair(database.writer, ess, DAI);
    const { page } = await browser.open(app.url);
    await drawn(page);
    await page.fill("#search", "ß1");
    await page.waitForSelector("[role=status]:text('1 of 3 markets')");
    expect(await names(page)).toEqual(["ß1/DAI"]);
    await page.close();
  });

  it("leaves no element behind after many updates", async () => {
    await fillPageExchange(database.writer);
    const { page } = await browser.open(app.url);
    await drawn(page);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Performance.enable");
    let hour = 25;
    const updates = async (): Promise<number> => {
      for (let n = 0; n < 150; n += 1) {
        hour += 5 / 3600;
        const trade = aTrade({ hour, offer_id: 90, base: "0.001", quote: `0.1${n}` });
        await write(database.writer, { trades: [trade] });
      }
      await page.waitForSelector(
        `tr:has-text('WETH/DAI') data[value="${(await ofRest("/v2/summary/weth/dai")).quoteVol}"]`,
      );
      await devtools.send("HeapProfiler.collectGarbage");
      const { metrics } = await devtools.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "Nodes")!.value;
    };
    const before = await updates();
    expect(await updates()).toBeLessThanOrEqual(before + 100);
    await page.close();
  });

  it("has room for 1,000 markets", async () => {
    const symbols = Array.from({ length: 1000 }, (_, n) => `T${n}`);
    await registerTokens(database.writer, { address: DAI, symbol: "DAI" });
    await registerTokens(
      database.writer,
      ...symbols.map((symbol) => ({ address: anAddress(symbol), symbol })),
    );
    for (const symbol of symbols) await registerPair(database.writer, anAddress(symbol), DAI);
    const { page, asked, complaints } = await browser.open(app.url);
    await drawn(page);
    expect(await page.locator("table.markets tbody tr").count()).toBe(1000);
    await page.fill("#search", "t999");
    await page.waitForSelector("[role=status]:text('1 of 1000 markets')");
    // Of the rows in view only.
    expect(asked.filter((url) => url.includes("/v2/candles/")).length).toBeLessThan(100);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
