// The page of one market as of past blocks, in Chromium: against REST, between blocks, and back to live.
import { setTimeout as sleep } from "node:timers/promises";
import type { Page, Route } from "playwright-core";
import { describeInChromium, useBrowser } from "../browser.ts";
import { aTrade, blockAt, hours, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";
import { fillPageExchange, HOSTILE } from "./page-exchange.ts";
import { expected, shown, until } from "./panels.ts";

const { app, database } = serveDatabase(fillPageExchange);
const browser = useBrowser();

const MARKET = "/markets/WETH/DAI";
/** Blocks with rows, hours after genesis. */
const [BEFORE, AT, AFTER] = [13, 19, 20] as const;

/** The block that was asked is read: two blocks can have the same figures of a market. */
const isRead = (page: Page, hour: number) =>
  page.waitForSelector(`.connection.past + .head:has-text("As of block ${blockAt(hour)},")`);

const hasFigures = (page: Page, hour: number, interval?: string) =>
  until(
    () => shown(page) as Promise<unknown>,
    () => expected(app, "WETH/DAI", interval, `block=${blockAt(hour)}`),
  );

async function isAt(page: Page, hour: number, interval?: string): Promise<void> {
  await isRead(page, hour);
  await hasFigures(page, hour, interval);
}
const isLive = (page: Page) =>
  until(
    () => shown(page) as Promise<unknown>,
    () => expected(app, "WETH/DAI"),
  );

const named = (page: Page): Promise<string[]> => page.locator("h2, .head").allTextContents();

/** Every panel names the block. */
async function names(page: Page, hour: number): Promise<void> {
  await isRead(page, hour);
  const block = String(blockAt(hour));
  expect((await named(page)).filter((text) => !text.includes(block))).toEqual([]);
  expect(await page.title()).toBe(`WETH/DAI at block ${block}`);
  expect(await page.textContent(".connection")).toBe("As of a past block, not live");
}

const addressed = (page: Page, name = "block") => new URL(page.url()).searchParams.get(name);
const step = (page: Page, text: string) => page.click(`.blocks a:text("${text}")`);
const ask = async (page: Page, text: string) => {
  await page.fill("input[name=asked]", text);
  await page.press("input[name=asked]", "Enter");
};
const openAt = async (hour: number, query = "") => {
  const opened = await browser.open(`${app.url}${MARKET}?block=${blockAt(hour)}${query}`);
  await opened.page.waitForSelector("#summary");
  return opened;
};

describeInChromium("the page of a market as of a past block", () => {
  it("has each panel as REST has it, says so, and opens no stream", async () => {
    const { page, asked, complaints } = await openAt(AT, "&interval=4h");
    await isAt(page, AT, "4h");
    await names(page, AT);
    await page.waitForSelector(".chart canvas");
    expect(asked.filter((url) => url.includes("/v2/"))).toEqual([]);
    // What it says one can ask is of the block too.
    const commands = await page.locator("pre:has-text('curl')").allTextContents();
    expect(commands).toHaveLength(4);
    for (const command of commands) {
      const address = /'(.*)'/.exec(command)![1]!;
      const { headers } = await fetch(address);
      expect(headers.get("x-head-block")).toBe(String(blockAt(AT)));
    }
    const links = await page
      .locator("a:has-text('open in GraphiQL')")
      .evaluateAll((all) => all.map((one) => (one as unknown as { href: string }).href));
    expect(links).toHaveLength(4);
    for (const link of links) {
      const query = new URL(link).searchParams
        .get("query")!
        .replace("{\n", "{ dexHead { block }\n");
      const { body } = await app.request.post("/graphql").send({ query });
      expect({ query, errors: body.errors, ...body.data?.dexHead }).toEqual({
        ...{ query, errors: undefined, block: blockAt(AT) },
      });
    }
    await write(database.writer, { trades: [aTrade({ hour: 24.5, offer_id: 1, base: "0.5" })] });
    await sleep(500);
    await isAt(page, AT, "4h");
    expect(complaints).toEqual([]);
    await page.close();
  });

  it.each([
    ["without a trade", "MKR/WETH"],
    ["whose symbol is HTML", `${encodeURIComponent(HOSTILE)}/DAI`],
    ["whose symbol has a slash", "SLASH%2FED%3A1%2C2%25/DAI"],
  ])("has the panels of a market %s, and steps", async (_, pair) => {
    const { page, complaints } = await browser.open(
      `${app.url}/markets/${pair}?block=${blockAt(AT)}`,
    );
    for (const hour of [AT, AFTER]) {
      await isRead(page, hour);
      await until(
        () => shown(page) as Promise<unknown>,
        () => expected(app, pair, "1h", `block=${blockAt(hour)}`),
      );
      await step(page, "Next block");
    }
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("goes a block back and forward, by links and by the browser, and keeps the focus", async () => {
    const { page, asked, complaints } = await openAt(AT);
    await step(page, "Previous block");
    await isAt(page, BEFORE);
    await names(page, BEFORE);
    expect(addressed(page)).toBe(String(blockAt(BEFORE)));
    expect(await page.evaluate<string>("document.activeElement.textContent")).toBe(
      "Previous block",
    );
    await page.click(".intervals button:text-is('1d')");
    await isAt(page, BEFORE, "1d");
    await step(page, "Next block");
    await isAt(page, AT, "1d");
    await step(page, "Next block");
    await isAt(page, AFTER, "1d");
    await page.goBack();
    await isAt(page, AT, "1d");
    await names(page, AT);
    await page.goBack();
    await isAt(page, BEFORE, "1d");
    await page.goForward();
    await isAt(page, AT, "1d");
    await names(page, AT);
    await page.reload();
    await isAt(page, AT, "1d");
    // Only the reload made another document.
    expect(asked.filter((url) => url.endsWith("/page/market.js"))).toHaveLength(2);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("goes from live to a block and back to live, and the stream goes with it", async () => {
    const { page, asked } = await browser.open(`${app.url}${MARKET}?interval=4h`);
    await page.waitForSelector(".connection.live");
    const streams = () => asked.filter((url) => url.includes("/v2/stream")).length;
    await step(page, "Previous block");
    await page.waitForSelector("[role=status]:text('not live')");
    expect(await page.locator(".head").textContent()).toContain("As of block");
    const before = streams();
    await ask(page, hours(AT));
    await isAt(page, AT, "4h");
    await names(page, AT);
    expect(addressed(page, "time")).toBe(hours(AT));
    expect(addressed(page)).toBeNull();
    expect(streams()).toBe(before);
    await step(page, "Return to live");
    await page.waitForSelector(".connection.live");
    expect(addressed(page, "time")).toBeNull();
    expect(addressed(page, "interval")).toBe("4h");
    await page.goBack();
    await isAt(page, AT, "4h");
    await page.goForward();
    await page.waitForSelector(".connection.live");
    await write(database.writer, { trades: [aTrade({ hour: 24.6, offer_id: 1, base: "0.25" })] });
    await page.click(".intervals button:text-is('1h')");
    await isLive(page);
    await page.close();
  });

  it.each([
    ["99999999", "No such block: there are the blocks from"],
    ["2026-01-01", "time must be a time"],
    ["0x12", "hash must be the hash"],
  ])("shows why %s is no block, without any figure, and goes back", async (text, message) => {
    const { page } = await openAt(AT);
    await isAt(page, AT);
    await ask(page, text);
    await page.waitForSelector(`main p:has-text("${message}")`);
    expect(await page.locator("table, dl, canvas").count()).toBe(0);
    await page.goBack();
    await isAt(page, AT);
    await names(page, AT);
    await page.close();
  });

  it("names the three forms where a text is none of them, before it asks the service, and stays where it is", async () => {
    const { page } = await openAt(AT);
    await isAt(page, AT);
    await ask(page, "next");
    const invalid = page.locator("input[name=asked]:invalid");
    expect(await invalid.getAttribute("title")).toContain(
      "A block's number, its hash (0x…), or a time",
    );
    expect(addressed(page)).toBe(String(blockAt(AT)));
    await ask(page, ` ${blockAt(BEFORE)} `);
    await isAt(page, BEFORE);
    await page.close();
  });

  /** Holds back the documents of a block; a call lets them go. */
  async function holdBack(page: Page, hour: number) {
    const held: Route[] = [];
    await page.route(`**${MARKET}?block=${blockAt(hour)}`, (route) => void held.push(route));
    return async (): Promise<void> => {
      await Promise.all(held.map((route) => route.continue().catch(() => undefined)));
    };
  }

  it("shows the block before until a slow one has come, and then the last one that was asked for", async () => {
    const { page } = await openAt(AT);
    const release = await holdBack(page, BEFORE);
    await step(page, "Previous block");
    await page.waitForSelector("[role=status]:text('Reading another block')");
    await hasFigures(page, AT);
    expect(await page.locator(".head").textContent()).toContain(`As of block ${blockAt(AT)}`);
    expect(addressed(page)).toBe(String(blockAt(AT)));
    await step(page, "Next block");
    await isAt(page, AFTER);
    await release();
    await sleep(300);
    await isAt(page, AFTER);
    await names(page, AFTER);
    await page.goBack();
    await isAt(page, AT);
    await page.close();
  });

  it("leaves no figure where a step fails: the browser asks once more, and shows the answer", async () => {
    const { page } = await openAt(AT);
    let failed = 0;
    await page.route(`**${MARKET}?block=${blockAt(BEFORE)}`, async (route) => {
      failed += 1;
      if (failed === 1) await route.abort();
      else if (failed === 2) await route.fulfill({ status: 503, body: "away" });
      else await route.continue();
    });
    await step(page, "Previous block");
    await page.waitForSelector("text=away");
    expect(addressed(page)).toBe(String(blockAt(BEFORE)));
    await page.reload();
    await isAt(page, BEFORE);
    await page.close();
  });

  it("has figures, book, trades and links without scripts", async () => {
    const { page } = await browser.open(`${app.url}${MARKET}?block=${blockAt(AT)}`, {
      javaScriptEnabled: false,
    });
    await step(page, "Previous block");
    await page.waitForSelector(`h2:text("Book at block ${blockAt(BEFORE)}")`);
    await step(page, "Now");
    await page.waitForSelector("h2:text-is('Book')");
    expect(addressed(page)).toBeNull();
    await page.close();
  });

  it("reads older candles of the block", async () => {
    const trades = Array.from({ length: 400 }, (_, n) =>
      aTrade({ hour: 25 + n / 60, offer_id: 90, base: "1", quote: String(100 + (n % 7)) }),
    );
    await write(database.writer, { trades });
    const block = blockAt(25 + 390 / 60);
    const { page, asked } = await browser.open(`${app.url}${MARKET}?block=${block}&interval=1m`);
    await page.waitForSelector(".chart canvas");
    const older = () => asked.filter((url) => /candles.*&to=/.test(url));
    while (older().length === 0) {
      await page.click("button:text('Earlier')");
      await sleep(50);
    }
    expect(new URL(older()[0]!).searchParams.get("block")).toBe(String(block));
    await page.close();
  });
});
