// The labels of the chart's axes: whole at every width, wherever the chart is scrolled.
import { setTimeout as sleep } from "node:timers/promises";
import { describeInChromium, useBrowser } from "../browser.ts";
import { aTrade, MKR, WETH, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";
import { fillPageExchange } from "./page-exchange.ts";

const HOURS = 200;

const { app } = serveDatabase(async (database) => {
  await fillPageExchange(database);
  await write(database, {
    trades: Array.from({ length: HOURS }, (_, n) => [
      aTrade({ hour: 25 + n, offer_id: 90 }),
      aTrade({
        ...{ hour: 25 + n, offer_id: 95, baseGem: MKR, quoteGem: WETH },
        quote: n % 2 === 0 ? "1.0000001" : "1.0000002",
      }),
    ]).flat(),
  });
});

interface Label {
  text: string;
  from: number;
  to: number;
  width: number;
}

/** Keeps the labels that the canvas of the time axis is given. */
const RECORD = `
  window.labels = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...rest) {
    if (this.canvas.closest("table tr:last-child") && this.textAlign === "center" && text !== "") {
      const half = this.measureText(text).width / 2;
      window.labels.push({ text, from: x - half, to: x + half, width: this.canvas.clientWidth });
    }
    fillText.call(this, text, x, ...rest);
  };`;

describeInChromium("the time axis of the chart", () => {
  const browser = useBrowser();

  it.each([1440, 820, 390])("cuts no label at %d pixels", async (width) => {
    const { page } = await browser.open("about:blank", { viewport: { width, height: 900 } });
    await page.addInitScript(RECORD);
    await page.goto(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector(".chart canvas");
    const chart = (await page.locator(".chart").boundingBox())!;
    const middle = { x: chart.x + chart.width / 2, y: chart.y + chart.height / 2 };
    await page.evaluate("window.scrollTo(0, 0)");
    // Once each label has crossed an edge, a few pixels at a time.
    await page.mouse.move(middle.x, middle.y);
    await page.mouse.down();
    for (let pixels = 0; pixels < 150; pixels += 3) {
      await page.mouse.move(middle.x + pixels, middle.y);
      await page.evaluate("new Promise((resolve) => requestAnimationFrame(resolve))");
    }
    await page.mouse.up();
    const labels = await page.evaluate<Label[]>("window.labels");
    expect(labels.length).toBeGreaterThan(20);
    expect(labels.filter(({ from, to, width: end }) => from < 0 || to > end)).toEqual([]);
  });
});

/** Keeps the labels that the canvases of the price axis are given, with their places. */
const RECORD_PRICES = `
  window.prices = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    if (this.canvas.closest("tr:first-child td:last-child")) window.prices.push({ text, y });
    fillText.call(this, text, x, y, ...rest);
  };`;

describeInChromium("the price axis of the chart", () => {
  const browser = useBrowser();

  it.each([
    ["one price", "WETH/DAI"],
    ["prices that differ in their eighth digit", "MKR/WETH"],
  ])("has no two labels alike with %s", async (_, pair) => {
    const { page } = await browser.open("about:blank", { viewport: { width: 900, height: 900 } });
    await page.addInitScript(RECORD_PRICES);
    await page.goto(`${app.url}/markets/${pair}`);
    const count = () => page.evaluate<number>("window.prices.length");
    while ((await count()) <= 4) await sleep(50);
    await sleep(500);
    await page.evaluate("window.prices.length = 0");
    await page.setViewportSize({ width: 901, height: 900 });
    while ((await count()) <= 4) await sleep(50);
    const prices = await page.evaluate<{ text: string; y: number }[]>("window.prices");
    const alike = prices.filter(({ text, y }) =>
      // The label of the newest price stands over that of the axis.
      prices.some((other) => other.text === text && Math.abs(other.y - y) > 4),
    );
    expect(alike).toEqual([]);
    expect(new Set(prices.map(({ text }) => text)).size).toBeGreaterThan(3);
    await page.close();
  });
});
