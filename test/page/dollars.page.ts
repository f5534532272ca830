// The list of markets in dollars: the volumes as GraphQL has them, through which market, their order and their total.
import type { Page } from "playwright-core";
import { makeTestApp } from "../app.ts";
import { describeInChromium, useBrowser } from "../browser.ts";
import { aTrade, DAI, MKR, registerMarkets, registerPair, WETH, write } from "../factories.ts";
import { serveEach } from "../served.ts";
import { trimmed, until } from "./panels.ts";

const trade = (hour: number, baseGem: string, quoteGem: string, base: string, quote: string) =>
  aTrade({ hour, baseGem, quoteGem, base, quote, offer_id: null });

const { app, database } = serveEach(
  async (writer) => {
    await registerMarkets(writer);
    await registerPair(writer, MKR, DAI);
    await write(writer, {
      trades: [
        trade(30, WETH, DAI, "2", "6000.5"),
        // 7 WETH at 3000.25 DAI: the greatest in dollars, and the smallest as a number.
        trade(31, MKR, WETH, "3", "7"),
      ],
      head: 40,
    });
  },
  { listings: { exchangeName: "dex", usdTokens: ["DAI"] } },
);

/** The whole volume of each market in dollars, and the market whose price makes it, in the order of the page. */
const shown = (page: Page): Promise<(string | null)[][]> =>
  page
    .locator("main tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector("th a")!.textContent,
        row.querySelectorAll("td")[2]!.querySelector("data")?.value ?? "0",
        row.querySelectorAll("td")[2]!.querySelector("small bdi")?.textContent ?? null,
      ]),
    );

async function expected(): Promise<(string | null)[][]> {
  const query = `{ dexUsdVolume(usdTokens: ["DAI"]) { nodes { pair volumeInUsd through } } }`;
  const { body } = await app.request.post("/graphql").send({ query }).expect(200);
  const nodes: Record<string, string | null>[] = body.data.dexUsdVolume.nodes;
  return nodes
    .map(({ pair, volumeInUsd, through }) => [pair!, trimmed(volumeInUsd ?? "0"), through!])
    .sort((one, other) => Number(other[1]) - Number(one[1]));
}

const totalOf = (page: Page): Promise<string> =>
  page
    .locator(".totals data")
    .first()
    .evaluate((one) => (one as unknown as { value: string }).value);

describeInChromium("the list of markets in dollars", () => {
  const browser = useBrowser();

  it("has the volumes, names the market whose price makes them, and is in their order", async () => {
    const { page, complaints } = await browser.open(app.url);
    await page.waitForSelector("th[aria-sort='descending'] button:text('Volume $')");
    const found = await expected();
    // 7 × 3000.25, 6000.5, and none.
    expect(found).toEqual([
      ["MKR/WETH", "21001.75", "WETH/DAI"],
      ["WETH/DAI", "6000.5", null],
      ["MKR/DAI", "0", null],
    ]);
    expect(await shown(page)).toEqual(found);
    expect(await totalOf(page)).toBe("27002.25");
    expect((await page.locator(".totals").textContent())!.replaceAll(/\s+/g, " ").trim()).toBe(
      "Last 24 hours: $27K in 2 of 2 traded markets, 2 trades",
    );
    expect(await page.locator("tbody tr").last().locator("td").nth(2).textContent()).toBe("–");
    await page.close();
    expect(complaints).toEqual([]);
  });

  it("follows new trades and a reorganisation", async () => {
    const { page } = await browser.open(app.url);
    await page.waitForSelector("table.markets");
    await write(database.writer, { trades: [trade(41, WETH, DAI, "10", "31000")] });
    await until(() => shown(page), expected);
    await until(
      () => totalOf(page),
      () => Promise.resolve("58700.5"),
    );
    await database.writer.query("select ingest.take_back($1)", [40 * 3600]);
    await until(
      () => totalOf(page),
      () => Promise.resolve("27002.25"),
    );
    await page.close();
  });

  it("has the same without scripts", async () => {
    const { page } = await browser.open(app.url, { javaScriptEnabled: false });
    expect((await shown(page)).map((row) => row.slice(0, 2))).toEqual([
      ["MKR/WETH", "21001.75"],
      ["WETH/DAI", "6000.5"],
      ["MKR/DAI", "0"],
    ]);
    expect(await totalOf(page)).toBe("27002.25");
    await page.close();
  });

  it("has neither the column nor a total in dollars where nothing is worth a dollar", async () => {
    await using plain = await makeTestApp(database.reader);
    const { page } = await browser.open(plain.url);
    await page.waitForSelector("table.markets");
    expect(await page.locator("text=Volume $").count()).toBe(0);
    expect((await page.locator(".totals").textContent())!.replaceAll(/\s+/g, " ").trim()).toBe(
      "Last 24 hours: 2 trades in 2 markets",
    );
    await page.close();
  });

  it("fits a phone: market, price, change and dollars", async () => {
    const { page } = await browser.open(app.url, { viewport: { width: 390, height: 844 } });
    await page.waitForSelector("table.markets");
    expect(await page.locator("thead th:visible").allTextContents()).toEqual([
      ...["Market", "Last", "Change", "Volume $"].map((title) => expect.stringContaining(title)),
    ]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await page.close();
  });
});
