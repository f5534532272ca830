// The page of an account in Chromium: reached from a trade, and with buttons that copy.
import { makeTestApp } from "../app.ts";
import { describeInChromium, useBrowser } from "../browser.ts";
import { anAddress } from "../factories.ts";
import { serveDatabase } from "../served.ts";
import { fillPageExchange } from "./page-exchange.ts";

const { app, database } = serveDatabase(fillPageExchange);
const TAKER = anAddress("taker");

describeInChromium("the page of an account", () => {
  const browser = useBrowser();

  it("is reached from the trades of a market, and has those of the account", async () => {
    const { page, asked, complaints } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await page.locator("#trades tbody tr .address a").nth(1).click();
    await page.waitForURL(`**/accounts/${TAKER}`);
    expect(await page.locator("#trades tbody tr").count()).toBe(7);
    expect(await page.locator("#trades tbody data").first().getAttribute("value")).toBe("0.8");
    await page.close();
    // Leaving the market's page ends its stream.
    expect(complaints.filter((one) => !one.includes("/v2/stream"))).toEqual([]);
    expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([app.url]));
  });

  it("copies whole addresses and numbers", async () => {
    const { page } = await browser.open(`${app.url}/accounts/${TAKER}`);
    await page.evaluate(`addEventListener("copy", ({ clipboardData }) => (window.copied = clipboardData.getData("text/plain")));
      Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } });`);
    await page.locator(".whole .copy").click();
    await page.waitForFunction(`window.copied === "${TAKER}"`);
    const figure = page.locator("data[value='123456.789012345678901234']").first();
    await figure.selectText();
    await page.keyboard.press("Control+C");
    await page.waitForFunction(`window.copied === "123456.789012345678901234"`);
    await page.close();
  });

  it("is readable without scripts, where no button is shown that does nothing", async () => {
    const options = { javaScriptEnabled: false };
    const { page } = await browser.open(`${app.url}/accounts/${TAKER}`, options);
    expect(await page.locator("#trades tbody tr").count()).toBe(7);
    expect(await page.locator("button:visible").count()).toBe(0);
    await page.close();
  });

  it("fits a phone, and links to the explorer", async () => {
    const explorer = { address: "https://explorer.example/{address}" };
    await using linked = await makeTestApp(database.reader, { explorer });
    const { page } = await browser.open(`${linked.url}/accounts/${TAKER}`, {
      viewport: { width: 390, height: 844 },
    });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(await page.locator(".whole a.explorer").getAttribute("href")).toBe(
      `https://explorer.example/${TAKER}`,
    );
    await page.close();
  });
});
