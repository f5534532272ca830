// The page of one market in Chromium: against REST, and beside a writer.
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { makeTestApp } from "../app.ts";
import { describeInChromium, useBrowser } from "../browser.ts";
import { anAddress, anOffer, aTrade, blockAt, setHead, write } from "../factories.ts";
import { serveEach } from "../served.ts";
import { fillPageExchange, HOSTILE } from "./page-exchange.ts";
import { expected, shown, until, valuesOf } from "./panels.ts";

const { app, database } = serveEach(fillPageExchange);

const isEqualTo = (page: Page, pair: string, interval?: string) =>
  until(
    () => shown(page) as Promise<unknown>,
    () => expected(app, pair, interval),
  );

/** Whether the chart has drawn something other than one color. */
const isPainted = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>(`[...document.querySelectorAll(".chart canvas")].some((canvas) => {
    if (canvas.width === 0 || canvas.height === 0) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size > 8;
  })`);

/** Whether a pixel of the chart has nearly this color: red, green and blue. */
const hasColor = (page: Page, color: readonly number[]): Promise<boolean> =>
  page.evaluate<boolean>(`[...document.querySelectorAll(".chart canvas")].some((canvas) => {
    if (canvas.width === 0 || canvas.height === 0) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const [red, green, blue] = ${JSON.stringify(color)};
    for (let n = 0; n < data.length; n += 4) {
      const apart = Math.abs(data[n] - red) + Math.abs(data[n + 1] - green) + Math.abs(data[n + 2] - blue);
      if (apart < 20) return true;
    }
    return false;
  })`);

describeInChromium("the page of a market", () => {
  const browser = useBrowser();

  it.each([
    ["WETH/DAI", "WETH/DAI"],
    ["without a trade", "MKR/WETH"],
    ["of amounts of 1e-18", `${encodeURIComponent(HOSTILE)}/DAI`],
    ["of amounts of 1e20", `${encodeURIComponent("שקל")}/${"A".repeat(40)}`],
    ["whose symbol has a slash", "SLASH%2FED%3A1%2C2%25/DAI"],
    ["that is inactive", "OLD/DAI"],
  ])("has the panels as REST has them: %s", async (_, pair) => {
    const { page, asked, complaints } = await browser.open(`${app.url}/markets/${pair}`);
    await page.waitForSelector("#summary");
    await isEqualTo(page, pair);
    if ((await valuesOf(page, "#trades tbody tr")).length > 0) {
      while (!(await isPainted(page))) await sleep(50);
    }
    expect(await page.locator("h1 .tag").count()).toBe(pair === "OLD/DAI" ? 1 : 0);
    // Before the page closes, which ends the requests that are in flight.
    expect(complaints).toEqual([]);
    expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([app.url]));
    await page.close();
  });

  it.each(["weth/dai", `${encodeURIComponent(HOSTILE)}/DAI`, "SLASH%2FED%3A1%2C2%25/DAI"])(
    "answers each question that it shows, by REST and in GraphiQL: %s",
    async (pair) => {
      const { page } = await browser.open(`${app.url}/markets/${pair}`);
      await page.waitForSelector("#summary");
      await isEqualTo(page, pair);
      const commands = await page.locator("pre:has-text('curl')").allTextContents();
      expect(commands.length).toBe(5);
      for (const command of commands) {
        const [, quoted = ""] = /^curl (?:-N )?'(.*)'$/.exec(command) ?? [];
        const address = quoted.replaceAll(`'\\''`, "'");
        // What curl or the server would take for something else.
        expect(address).toMatch(/^[!$%&'()*+,\-./:;=?@\w~]+$/);
        if (command.includes("-N")) expect(await streams(page, address)).toBe(true);
        else expect((await fetch(address)).status).toBe(200);
      }
      const links = await page
        .locator("a:has-text('open in GraphiQL')")
        .evaluateAll((all) => all.map((one) => (one as unknown as { href: string }).href));
      expect(links.length).toBe(4);
      for (const link of links) {
        const query = new URL(link).searchParams.get("query");
        const { body } = await app.request.post("/graphql").send({ query });
        expect({ query, errors: body.errors }).toEqual({ query, errors: undefined });
      }
      await page.close();
    },
  );

  it("distinguishes a spread of 0 from one that does not exist", async () => {
    // The best ask is 130 too. Nothing is offered in the other market.
    await write(database.writer, {
      offers: [anOffer({ id: 1000, hour: 25, side: "buy", base: "1", quote: "130" })],
    });
    for (const [pair, spread] of [
      ["WETH/DAI", "0"],
      ["MKR/WETH", "–"],
    ] as const) {
      const { page } = await browser.open(`${app.url}/markets/${pair}`);
      await page.waitForSelector("#summary");
      const inSummary = page.locator("#summary dl > div", { hasText: "Spread" }).locator("dd");
      expect((await inSummary.textContent())?.trim()).toBe(spread);
      const inBook = page.locator("#book p.spread data");
      if (spread === "0") expect(await inBook.textContent()).toBe(spread);
      await page.close();
      const document = await fetch(`${app.url}/markets/${pair}`, {
        headers: { accept: "text/html" },
      });
      const [, cell] =
        /Spread<\/dt>\s*<dd>(?:<data[^>]*>)?([^<]*)/.exec(await document.text()) ?? [];
      expect(cell).toBe(spread);
    }
  });

  it("follows trades, offers and a reorganisation, and marks what has changed", async () => {
    const { page, complaints } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("#summary");
    await isEqualTo(page, "WETH/DAI");
    // What is new a while after the first drawing is marked.
    await sleep(1600);
    for (let hour = 25; hour < 30; hour += 0.5) {
      await write(database.writer, {
        trades: [aTrade({ hour, offer_id: 1, base: "0.001", quote: "0.13" })],
        offers: [anOffer({ id: 1000 + 2 * hour, hour, base: "1", quote: String(130 + hour) })],
      });
    }
    await isEqualTo(page, "WETH/DAI");
    expect(await page.locator("#trades tr.changed").count()).toBeGreaterThanOrEqual(10);
    const before = await page.locator("#trades tbody tr").count();
    await database.writer.query("select ingest.take_back($1)", [blockAt(27)]);
    await isEqualTo(page, "WETH/DAI");
    expect(await page.locator("#trades tbody tr").count()).toBeLessThan(before);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("names the side of the taker in words, and copies a whole address", async () => {
    // The maker buys base: the taker sells it.
    await write(database.writer, {
      trades: [aTrade({ hour: 25, side: "buy", offer_id: 3, base: "2", quote: "240" })],
    });
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI`);
    const newest = page.locator("#trades tbody tr").first();
    await newest.locator(".address").first().waitFor();
    expect(await newest.locator("td.down").textContent()).toBe("Sell");
    const taker = newest.locator(".address").nth(1);
    const whole = anAddress("taker");
    expect(await taker.textContent()).toBe(`${whole.slice(0, 6)}…${whole.slice(-4)}`);
    // Nobody named an explorer.
    expect(await page.locator("a.explorer").count()).toBe(0);
    await page.evaluate(`addEventListener("copy", ({ clipboardData }) => (window.copied = clipboardData.getData("text/plain")));
      Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { window.copied = text; } } });`);
    // It says so for a moment.
    await Promise.all([
      page.waitForSelector(`button[aria-label="Copied ${whole}"]`),
      taker.locator("button").click(),
    ]);
    expect(await page.evaluate("window.copied")).toBe(whole);
    await page.close();
  });

  it("links transactions and accounts where the operator names an explorer", async () => {
    const explorer = {
      tx: "https://scan.example/tx/{tx}",
      address: "https://scan.example/?a={address}",
    };
    await using linked = await makeTestApp(database.reader, { explorer });
    const { page, asked } = await browser.open(`${linked.url}/markets/WETH/DAI`);
    const newest = page.locator("#trades tbody tr").first();
    await newest.locator("a.explorer").first().waitFor();
    const [trade] = (await expected(linked, "WETH/DAI")).trades;
    const [maker, taker, tx] = trade!.slice(-3);
    expect(
      await newest
        .locator("a.explorer")
        .evaluateAll((all) => all.map((one) => one.getAttribute("href"))),
    ).toEqual([
      ...[maker, taker].map((account) => `https://scan.example/?a=${account}`),
      `https://scan.example/tx/${tx}`,
    ]);
    expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([linked.url]));
    await page.close();
  });

  it("keeps name, price and change on the screen, and leads to another market at the keyboard", async () => {
    const { page, complaints } = await browser.open(`${app.url}/markets/WETH/DAI?interval=4h`);
    await isEqualTo(page, "WETH/DAI", "4h");
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    const top = async () => (await page.locator("header.bar").boundingBox())!.y;
    while ((await top()) !== 0) await sleep(20);
    const { last } = (await app.request.get("/v2/summary/weth/dai")).body.data;
    expect(
      await page
        .locator(".bar .price data")
        .first()
        .evaluate((one) => (one as unknown as { value: string }).value),
    ).toBe(last);
    for (const key of ["/", "Control+k"]) {
      await page.keyboard.press(key);
      await page.waitForSelector("dialog[open] [role=status]:text('6 of 6 markets')");
      await page.keyboard.insertText("mkr");
      await page.waitForSelector("dialog[open] [role=status]:text('1 of 6 markets')");
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog:not([open])", { state: "attached" });
    }
    await page.click(".switch");
    await page.waitForSelector("dialog[open] [role=status]:text('6 of 6 markets')");
    await page.keyboard.insertText("slash");
    await page.waitForSelector("dialog[open] [role=status]:text('1 of 6 markets')");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/markets/SLASH%2FED%3A1%2C2%25/DAI?interval=4h");
    await isEqualTo(page, "SLASH%2FED%3A1%2C2%25/DAI", "4h");
    expect(complaints.filter((one) => !/^failed: .*\/v2\/stream/.test(one))).toEqual([]);
    await page.close();
  });

  it("reads the depth under the pointer and by the arrow keys, and has its mid price", async () => {
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await isEqualTo(page, "WETH/DAI");
    const reading = () => valuesOf(page, "#depth .reading");
    // Bids: 10 at 120, 3.5 at 110. Asks: 10 at 130, 10 at 140.
    expect(await reading()).toEqual([["125"]]);
    await page.locator("svg.depth").focus();
    await page.keyboard.press("ArrowRight");
    await until(reading, () => Promise.resolve([["10", "130"]]));
    await page.keyboard.press("ArrowLeft");
    await until(reading, () => Promise.resolve([["10", "120"]]));
    await page.keyboard.press("ArrowLeft");
    await until(reading, () => Promise.resolve([["13.5", "110"]]));
    const slider = page.getByRole("slider");
    expect(await slider.getAttribute("aria-valuetext")).toBe("13.5 WETH bid up to 110 DAI");
    expect(await slider.getAttribute("aria-valuenow")).toBe("1");
    await page.keyboard.press("End");
    const highest = (await expected(app, "WETH/DAI")).asks.at(-1)![0]!;
    await until(reading, () => Promise.resolve([["20", highest]]));
    await page.keyboard.press("Home");
    await until(reading, () => Promise.resolve([["13.5", "110"]]));
    await page.keyboard.press("Escape");
    await until(
      () => slider.getAttribute("aria-valuetext"),
      () => Promise.resolve("Mid price 125 DAI"),
    );
    await page.keyboard.press("ArrowLeft");
    await until(reading, () => Promise.resolve([["10", "120"]]));
    const { x, y, width, height } = (await page.locator("svg.depth").boundingBox())!;
    await page.mouse.move(x + width - 1, y + height / 2);
    const [, second] = (await expected(app, "WETH/DAI")).asks;
    await until(reading, () => Promise.resolve([["20", second![0]!]]));
    await page.mouse.move(0, 0);
    await until(reading, () => Promise.resolve([["125"]]));
    await page.close();
  });

  it("reads on by the keyboard where a bid and an ask have one price", async () => {
    await write(database.writer, {
      offers: [anOffer({ id: 11, hour: 25, base: "2", quote: "240" })],
    });
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await isEqualTo(page, "WETH/DAI");
    const reading = () => valuesOf(page, "#depth .reading");
    await page.locator("svg.depth").focus();
    await page.keyboard.press("ArrowLeft");
    await until(reading, () => Promise.resolve([["10", "120"]]));
    for (const level of [
      ["2", "120"],
      ["12", "130"],
    ]) {
      await page.keyboard.press("ArrowRight");
      await until(reading, () => Promise.resolve([level]));
    }
    await page.close();
  });

  it("keeps the chosen width of levels where the price has another number of digits", async () => {
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI?group=0.001`);
    await isEqualTo(page, "WETH/DAI");
    expect(await page.locator("#book select").inputValue()).toBe("0.001");
    await page.selectOption("#book select", { label: "of 1" });
    await write(database.writer, {
      offers: [anOffer({ id: 11, hour: 25, side: "buy", base: "1", quote: "12345" })],
    });
    await until(
      () => page.locator("#book .bids data").first().getAttribute("value"),
      () => Promise.resolve("12345"),
    );
    expect(await page.locator("#book select").inputValue()).toBe("1");
    expect(new URL(page.url()).searchParams.get("group")).toBe("1");
    await page.close();
  });

  it("names the tokens of the book, and takes levels together as the address says", async () => {
    await write(database.writer, {
      offers: [
        anOffer({ id: 11, hour: 25, base: "10", quote: "1355" }),
        anOffer({ id: 12, hour: 25, side: "buy", base: "10", quote: "1187" }),
      ],
    });
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await isEqualTo(page, "WETH/DAI");
    const headings = await page.locator("#book .bids th").allTextContents();
    expect(headings).toEqual(["Price DAI", "Amount WETH", "Total WETH"]);
    // The price is of the order of 100: the levels of 10 are the 2nd and 3rd digit.
    await page.selectOption("#book select", { label: "of 10" });
    const levels = () => valuesOf(page, "#book tbody tr");
    const grouped = [
      // A bid of 118.7 is one of 110: nobody buys for more.
      ...[
        ["120", "10", "10"],
        ["110", "13.5", "23.5"],
      ],
      // An ask of 135.5 is one of 140.
      ...[
        ["130", "10", "10"],
        ["140", "20", "30"],
      ],
    ];
    await until(levels, () => Promise.resolve(grouped));
    expect(new URL(page.url()).searchParams.get("group")).toBe("10");
    await page.reload();
    await until(levels, () => Promise.resolve(grouped));
    await page.selectOption("#book select", { label: "exact" });
    await isEqualTo(page, "WETH/DAI");
    expect(new URL(page.url()).searchParams.get("group")).toBeNull();
    await page.close();
  });

  it("filters trades by size and by address, as the page's address says, and follows new ones", async () => {
    const other = anAddress("other");
    await write(database.writer, {
      trades: Array.from({ length: 60 }, (_, n) =>
        aTrade({
          hour: 25 + n / 60,
          offer_id: 90,
          base: String(1 + (n % 6)),
          quote: "300",
          ...(n % 10 === 0 ? { taker: other } : {}),
        }),
      ),
    });
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("#trades tbody tr");
    const amounts = async () =>
      (await valuesOf(page, "#trades tbody tr")).map(([, amount]) => amount!);
    const ofRest = (await app.request.get("/v2/trades/weth/dai?limit=200")).body.data;
    const volumes = ofRest.map(({ volume }: { volume: string }) => volume);
    expect(volumes).toHaveLength(63);
    await page.fill("[name=least]", "5");
    await page.keyboard.press("Enter");
    // Ten of 5 and ten of 6, of all that there are, not of the 50 that were read at first.
    await until(amounts, () => Promise.resolve(volumes.filter((one: string) => Number(one) >= 5)));
    expect(await amounts()).toHaveLength(20);
    await page.waitForSelector("#trades [role=status]:has-text('20 of the 63 newest trades')");
    await page.fill("[name=account]", other.toLowerCase());
    await page.keyboard.press("Enter");
    // Of 0, 10, … 50 those whose remainder by 6 is 4 or 5: 10 and 40.
    await until(amounts, () => Promise.resolve(["5", "5"]));
    expect(new URL(page.url()).search).toBe(`?least=5&account=${other.toLowerCase()}`);
    await page.reload();
    await until(amounts, () => Promise.resolve(["5", "5"]));
    await write(database.writer, {
      trades: [
        aTrade({ hour: 27, offer_id: 90, base: "7.5", quote: "900", taker: other }),
        aTrade({ hour: 27, offer_id: 90, base: "7.6", quote: "900" }),
      ],
    });
    await until(amounts, () => Promise.resolve(["7.5", "5", "5"]));
    await page.fill("[name=least]", "1e3");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#trades [role=status]:has-text('must be a decimal number')");
    await page.click("#trades button:text-is('All trades')");
    await until(amounts, () => Promise.resolve(["7.6", "7.5", ...volumes]));
    expect(new URL(page.url()).search).toBe("");
    await page.close();
  });

  it("shows each interval, and keeps the chosen one in the address", async () => {
    const { page, complaints } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("#summary");
    for (const interval of ["1m", "5m", "15m", "30m", "4h", "1d", "1h"]) {
      await page.click(`.intervals button:text-is("${interval}")`);
      await page.waitForSelector(`[aria-pressed="true"]:text-is("${interval}")`);
      await isEqualTo(page, "WETH/DAI", interval);
      expect(new URL(page.url()).searchParams.get("interval")).toBe(interval);
    }
    // The page itself ends the stream of the interval before.
    expect(complaints.filter((one) => !/^failed: .*\/v2\/stream/.test(one))).toEqual([]);
    await page.close();
  });

  it("draws the chart as chosen, says the candle's strings, and keeps the choice in the address", async () => {
    const { page, complaints } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector(".chart canvas");
    while (!(await isPainted(page))) await sleep(50);
    const picture = () =>
      page.evaluate<string>(
        `[...document.querySelectorAll(".chart canvas")].map((one) => one.toDataURL()).join()`,
      );
    const choices = ["Line", "Volume in DAI", "Averages of 7, 25, 99", "Vwap", "Log axis"];
    const button = (choice: string) => `[aria-label="Chart"] > button:has-text("${choice}")`;
    // The averages are of more candles than there are.
    for (const choice of choices.filter((one) => !one.startsWith("Averages"))) {
      const before = await picture();
      await page.click(button(choice));
      while ((await picture()) === before) await sleep(50);
    }
    await page.click(button("Averages"));
    const address = () => new URL(page.url()).searchParams.get("chart");
    await until(
      () => Promise.resolve(address()),
      () => Promise.resolve("line,quoteVolume,averages,vwap,log"),
    );
    await page.reload();
    for (const choice of choices) {
      await page.waitForSelector(`${button(choice)}[aria-pressed="true"]`);
    }
    const [candle] = (await app.request.get("/v2/candles/weth/dai?interval=1h")).body.data.slice(
      -1,
    );
    await until(
      () => valuesOf(page, ".legend"),
      () =>
        Promise.resolve([[candle.open, candle.high, candle.low, candle.close, candle.quoteVol]]),
    );
    for (const choice of choices) await page.click(button(choice));
    await isEqualTo(page, "WETH/DAI");
    expect(address()).toBeNull();
    // The reload ends what is in flight, and the test itself reads the pixels.
    expect(complaints.filter((one) => !/^failed: |^Canvas2D/.test(one))).toEqual([]);
    await page.close();
  });

  it("draws averages of the last closes, and the vwap of each candle", async () => {
    const trades = Array.from({ length: 40 }, (_, n) =>
      aTrade({ hour: 25 + n, offer_id: 90, base: "1", quote: String(100 + (n % 7) * 10) }),
    );
    await write(database.writer, { trades });
    const { page, complaints } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await isEqualTo(page, "WETH/DAI");
    await page.waitForSelector(".chart canvas");
    while (!(await isPainted(page))) await sleep(50);
    const hasAverage = () => hasColor(page, [0xb2, 0x6a, 0]);
    const hasVwap = () => hasColor(page, [0xc2, 0, 0x8f]);
    expect(await hasAverage()).toBe(false);
    await page.click("button:text-is('Averages of 7, 25, 99')");
    while (!(await hasAverage())) await sleep(50);
    expect(await hasVwap()).toBe(false);
    await page.click("button:text-is('Vwap')");
    while (!(await hasVwap())) await sleep(50);
    await write(database.writer, {
      trades: [aTrade({ hour: 66, offer_id: 90, base: "1", quote: "170" })],
    });
    await isEqualTo(page, "WETH/DAI");
    expect(await hasAverage()).toBe(true);
    // The test itself reads the pixels.
    expect(complaints.filter((one) => !one.startsWith("Canvas2D"))).toEqual([]);
    await page.close();
  });

  it("reads further history as one goes back", async () => {
    const trades = Array.from({ length: 400 }, (_, n) =>
      aTrade({ hour: 25 + n / 60, offer_id: 90, base: "1", quote: String(100 + (n % 7)) }),
    );
    await write(database.writer, { trades });
    const { page, asked } = await browser.open(`${app.url}/markets/WETH/DAI?interval=1m`);
    await page.waitForSelector("#summary");
    const older = () => asked.filter((url) => /candles.*&to=/.test(url)).length;
    while (older() === 0) {
      await page.click("button:text('Earlier')");
      await sleep(50);
    }
    await page.close();
  });

  it("shows times in the reader's zone or in UTC, and remembers which", async () => {
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI`, {
      timezoneId: "Asia/Tokyo",
    });
    const clock = () => page.locator("#trades tbody time").first().textContent();
    await page.waitForSelector("#trades tbody time");
    expect(await clock()).toBe("04:00:00");
    await page.check("text=Times in UTC");
    await until(clock, () => Promise.resolve("19:00:00"));
    await page.reload();
    await page.waitForSelector("#trades tbody time:text('19:00:00')");
    await page.close();
  });

  it("makes a format of times once, as that takes long", async () => {
    const { page } = await browser.open("about:blank");
    await page.addInitScript(`{
      window.formats = 0;
      Intl.DateTimeFormat = new Proxy(Intl.DateTimeFormat, {
        construct(...given) {
          window.formats += 1;
          return Reflect.construct(...given);
        },
      });
    }`);
    await page.goto(`${app.url}/markets/WETH/DAI`);
    await isEqualTo(page, "WETH/DAI");
    while (!(await isPainted(page))) await sleep(50);
    const before = await page.evaluate("window.formats");
    for (const hour of [25, 26, 27]) {
      await setHead(database.writer, hour);
      await page.waitForSelector(`.head:has-text('${blockAt(hour)}')`);
    }
    expect(await page.evaluate("window.formats")).toBe(before);
    await page.close();
  });

  it.each(["toString", "2h", ""])(
    "shows hours for an interval that does not exist: %s",
    async (interval) => {
      const { page } = await browser.open(`${app.url}/markets/WETH/DAI?interval=${interval}`);
      await page.waitForSelector("[aria-pressed='true']:text('1h')");
      await isEqualTo(page, "WETH/DAI");
      await page.close();
    },
  );

  it("moves nothing where motion is not wanted", async () => {
    const trades = Array.from({ length: 400 }, (_, n) =>
      aTrade({ hour: 25 + n / 60, offer_id: 90, base: "1", quote: String(100 + (n % 7)) }),
    );
    await write(database.writer, { trades });
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI?interval=1m`, {
      reducedMotion: "reduce",
    });
    await page.waitForSelector(".chart canvas");
    while (!(await isPainted(page))) await sleep(50);
    for (let n = 0; n < 3; n += 1) await page.click("button:text('Earlier')");
    const pictures = await page.evaluate<number>(`(async () => {
      const picture = () => [...document.querySelectorAll(".chart canvas")].map((one) => one.toDataURL()).join();
      // What is still drawn of the steps back, however slow the machine is.
      for (let [last, alike] = ["", 0]; alike < 30;) {
        await new Promise(requestAnimationFrame);
        const now = picture();
        alike = now === last ? alike + 1 : 0;
        last = now;
      }
      const seen = new Set();
      const see = () => seen.add(picture());
      see();
      [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Newest").click();
      for (const start = performance.now(); performance.now() - start < 1500; see()) {
        await new Promise(requestAnimationFrame);
      }
      return seen.size;
    })()`);
    // Before and after.
    expect(pictures).toBe(2);
    await write(database.writer, {
      trades: [aTrade({ hour: 40, offer_id: 90, base: "1", quote: "105" })],
    });
    await page.waitForSelector("#trades tr.changed");
    const timing = await page.evaluate<string>(
      `getComputedStyle(document.querySelector("#trades tr.changed")).animationTimingFunction`,
    );
    expect(timing).toMatch(/^steps\(1/);
    await page.close();
  });

  it("is a page of status 404 for a pair that is not registered", async () => {
    const answer = await fetch(`${app.url}/markets/dai/weth`);
    expect(answer.status).toBe(404);
    expect(await answer.text()).toMatch(
      /No pair <bdi[^>]*>dai<\/bdi>\/<bdi[^>]*>weth<\/bdi> is registered/,
    );
  });
});

/** Whether an event stream answers there. */
const streams = (page: Page, address: string): Promise<boolean> =>
  page.evaluate<boolean>(`new Promise((resolve) => {
    const source = new EventSource(${JSON.stringify(address)});
    const close = ({ type }) => {
      source.close();
      resolve(type === "update");
    };
    source.addEventListener("update", close);
    source.addEventListener("error", close);
  })`);
