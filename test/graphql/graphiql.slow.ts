// GraphiQL in a real browser, under the policy that its page is sent with; ../page-policy.test.ts has that.
import { parse } from "graphql";
import { EXAMPLE_QUERIES } from "../../graphql/example-queries.ts";
import { describeInChromium, useBrowser } from "../browser.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";

const { app } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade({ hour: 1 })] });
});

describe("GraphiQL's page", () => {
  it("opens with queries of which each is answered", async () => {
    const names = parse(EXAMPLE_QUERIES).definitions.map((definition) =>
      "name" in definition ? definition.name.value : undefined,
    );
    expect(names.length).toBeGreaterThan(1);

    for (const operationName of names) {
      const { status, body } = await app.request
        .post("/graphql")
        .send({ query: EXAMPLE_QUERIES, operationName });
      expect({ operationName, status, errors: body.errors }).toEqual({
        operationName,
        status: 200,
        errors: undefined,
      });
      // The market and its trade that were put into the database.
      expect(JSON.stringify(body.data)).toMatch(/WETH|"price":"100\.0{18}"|"basePrecision":18/);
    }
  });

  describeInChromium("in Chromium", () => {
    const browser = useBrowser();

    it("loads, shows the schema and runs a query, and the browser complains of nothing", async () => {
      const { page, asked, complaints } = await browser.open(`${app.url}/graphiql`);

      await page.waitForSelector(".graphiql-query-editor :text('Prices, volume')");
      await page.click(".graphiql-query-editor .monaco-editor .view-line");
      await page.waitForSelector(".graphiql-query-editor .monaco-editor.focused");
      // For a mouse that rests on a text which is replaced, the editor logs an error.
      await page.mouse.move(0, 0);
      await page.keyboard.press("Control+A");
      // The editor itself closes the first brace.
      await page.keyboard.insertText("{ allDexTrades { totalCount nodes { market price } } ");
      // Until the page has read the new text, the button opens a menu of the examples before it.
      await page.click(".graphiql-execute-button:not([aria-haspopup])");
      await page.waitForSelector(".result-window :text('WETHDAI')");
      await page.click("[aria-label='Show Documentation Explorer']");
      await page.click(".graphiql-doc-explorer-content a:has-text('Query')");
      await page.waitForSelector(".graphiql-doc-explorer-content :text('allDexTrades')");

      expect(complaints).toEqual([]);
      expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(new Set([app.url]));
      const shot = process.env["SCREENSHOT"];
      if (shot !== undefined) await page.screenshot({ path: shot });
    });

    it("shows the example queries whole on a screen of 1280 pixels", async () => {
      const { page } = await browser.open(`${app.url}/graphiql`);
      await page.setViewportSize({ width: 1280, height: 2400 });
      await page.waitForSelector(".graphiql-query-editor :text('Prices, volume')");

      // The right edges of the widest line and of the editor. Only lines on the screen are in the page.
      const rights = (selector: string): Promise<number[]> =>
        page
          .locator(`.graphiql-query-editor ${selector}`)
          .all()
          .then((found) => Promise.all(found.map((one) => one.boundingBox())))
          .then((boxes) => boxes.map((box) => (box === null ? 0 : box.x + box.width)));
      const widest = Math.max(...(await rights(".view-line > span")));
      const [shown = 0] = await rights(".monaco-scrollable-element.editor-scrollable");
      expect(widest).toBeLessThanOrEqual(shown);
      const shot = process.env["SCREENSHOT"];
      if (shot !== undefined) await page.screenshot({ path: shot });
    });

    it("opens with the query of its address", async () => {
      const query = '{ dexMarket(pair: "WETH/DAI") { last } }';
      const { page, complaints } = await browser.open(
        `${app.url}/graphiql?query=${encodeURIComponent(query)}`,
      );

      await page.waitForSelector(".graphiql-query-editor :text('dexMarket')");
      await page.click(".graphiql-execute-button:not([aria-haspopup])");
      await page.waitForSelector(".result-window :text('100.000000000000000000')");

      expect(complaints).toEqual([]);
    });

    it("opens with example queries, of which one is chosen and run", async () => {
      const { page, complaints } = await browser.open(`${app.url}/graphiql`);

      await page.waitForSelector(".graphiql-query-editor :text('Prices, volume')");
      await page.click(".graphiql-execute-button[aria-haspopup]");
      await page.click("[role='menuitem']:has-text('NewestTrades')");
      await page.waitForSelector(".result-window :text('100.000000000000000000')");

      expect(complaints).toEqual([]);
    });
  });
});
