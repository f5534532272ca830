// The page of all newest trades in Chromium: against GraphQL, beside a writer, and without scripts.
import type { Page } from "playwright-core";
import { makeTestApp } from "../app.ts";
import { describeInChromium, useBrowser } from "../browser.ts";
import { makeDatabase } from "../database.ts";
import { anAddress, aTrade, blockAt, DAI, write } from "../factories.ts";
import { dataOf } from "../graphql.ts";
import { serveEach } from "../served.ts";
import { fillPageExchange, HOSTILE } from "./page-exchange.ts";
import { trimmed, until } from "./panels.ts";

const { app, database } = serveEach(fillPageExchange);

const SHOWN = 50;
const UNLISTED = anAddress("unlisted");

const shown = (page: Page): Promise<string[][]> =>
  page
    .locator("main tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.getAttribute("data-id")!,
        [...row.querySelectorAll("td:nth-child(2) bdi")].map((one) => one.textContent).join("") ||
          row.querySelectorAll("td")[1]!.textContent,
        row.querySelectorAll("td")[2]!.textContent,
        ...[...row.querySelectorAll("data")].map(({ value }) => value),
        ...[...row.querySelectorAll(".address")].map((one) => one.getAttribute("title")!),
      ]),
    );

const QUERY = `{ allDexTrades(first: ${SHOWN}, orderBy: ID_DESC) { nodes {
  id market act price lotAmt bidAmt maker taker tx
} } }`;

/** What GraphQL has, with the taker's side and the amount of base before that of the quote. */
async function expected(): Promise<string[][]> {
  const { allDexTrades } = await dataOf(app, QUERY);
  return (allDexTrades.nodes as Record<string, string | null>[]).map((trade) => {
    const [lot, bid] = [trimmed(trade["lotAmt"]!), trimmed(trade["bidAmt"]!)];
    const { id, market, act, price, maker, taker, tx } = trade;
    return [
      id!,
      market ?? "no market",
      act === "sell" ? "Buy" : act === "buy" ? "Sell" : "–",
      ...(price == null ? [] : [trimmed(price)]),
      ...(act === "buy" ? [bid, lot] : [lot, bid]),
      ...[maker!, taker!, tx!],
    ];
  });
}

describeInChromium("the page of all trades", () => {
  const browser = useBrowser();

  it("has the newest trades of all markets, follows them, and drops those taken back", async () => {
    const { page, asked, complaints } = await browser.open(`${app.url}/trades`);
    await page.waitForSelector(".connection.live");
    await until(() => shown(page), expected);
    for (let hour = 25; hour < 30; hour += 0.5) {
      await write(database.writer, {
        trades: [
          ...Array.from({ length: 4 }, () =>
            aTrade({ hour, offer_id: 1, base: "0.001", quote: "0.13" }),
          ),
          aTrade({ hour, offer_id: 1, side: "buy", baseGem: anAddress(HOSTILE), quoteGem: DAI }),
          // Of no registered pair.
          aTrade({ hour, offer_id: null, baseGem: UNLISTED, quoteGem: DAI }),
        ].map((trade, idx) => ({ ...trade, offer_id: null, idx })),
      });
    }
    await until(() => shown(page), expected);
    expect(await page.locator("main tbody tr").count()).toBe(SHOWN);
    await database.writer.query("select ingest.take_back($1)", [blockAt(26)]);
    await until(() => shown(page), expected);
    // The seven of the exchange, and six of three blocks.
    expect(await page.locator("main tbody tr").count()).toBe(7 + 6 * 3);
    await page.locator("main tbody tr td a").first().click();
    await page.waitForURL(/markets|accounts/);
    await page.close();
    expect(complaints.filter((one) => !one.includes("/v2/stream"))).toEqual([]);
    expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([app.url]));
  });

  it("has the same without scripts, and leads to markets and accounts", async () => {
    const { page } = await browser.open(`${app.url}/trades`, { javaScriptEnabled: false });
    expect(await shown(page)).toEqual(await expected());
    const links = await page
      .locator("main tbody tr:first-child a")
      .evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    expect(links).toEqual([
      "/markets/OLD/DAI",
      `/accounts/${anAddress("maker")}`,
      `/accounts/${anAddress("taker")}`,
    ]);
    await page.close();
  });

  it("says that there is none yet", async () => {
    const empty = await makeDatabase();
    const other = await makeTestApp(empty.reader);
    const { page } = await browser.open(`${other.url}/trades`);
    await page.waitForSelector("text=No trade yet.");
    await page.waitForSelector(".connection.live");
    await page.close();
    await other.close();
    await empty.drop();
  });
});
