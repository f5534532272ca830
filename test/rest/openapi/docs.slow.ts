// The page of the REST reference in a real browser, under the policy that it is sent with.
import { describeInChromium, useBrowser } from "../../browser.ts";
import { serveDatabase } from "../../served.ts";
import { fillExchange } from "../exchange.ts";

describeInChromium("/docs in Chromium", () => {
  const { app } = serveDatabase((writer) => fillExchange(writer));
  const browser = useBrowser();

  it("shows every path, tries one, and the browser complains of nothing", async () => {
    const { page, asked, complaints } = await browser.open(`${app.url}/docs`);

    await page.waitForSelector("#operations-v2-v2Trades");
    const { body } = await app.request.get("/openapi.json");
    expect(await page.locator(".opblock").count()).toBe(Object.keys(body.paths).length);

    await page.click("#operations-v2-v2Trades .opblock-summary-control");
    // What is clicked before the page has read the operation is lost.
    await page.waitForSelector("#operations-v2-v2Trades tr[data-param-name='limit']");
    await page.click("#operations-v2-v2Trades .try-out__btn");
    await page.waitForSelector("#operations-v2-v2Trades tr[data-param-name='limit'] input");
    await page.click("#operations-v2-v2Trades .execute");
    // The example of `limit` stands in the form, and none of `fromId`: the newest trades.
    const answer = page.locator(
      "#operations-v2-v2Trades .live-responses-table .response-col_description",
    );
    await answer.locator(":text('2026-01-01T19:00:00.000Z')").first().waitFor();
    expect(asked.at(-1)).toBe(`${app.url}/v2/trades/weth/dai?limit=2`);

    expect(complaints).toEqual([]);
    expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([app.url]));
    const shot = process.env["SCREENSHOT"];
    if (shot !== undefined) await page.screenshot({ path: shot, fullPage: true });
  });
});
