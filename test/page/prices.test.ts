// A price of so little quote that it rounds to 0 is shown, and one that does not exist is a dash.
import { anOffer, aTrade, DAI, MKR, registerMarkets, WETH, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";

const { app, database } = serveDatabase(registerMarkets);

async function shownOf(market: string): Promise<Record<string, string>> {
  const { text } = await app.request.get(`/markets/${market}`).accept("text/html").expect(200);
  const named = [...text.matchAll(/<dt>(.*?)<\/dt>\s*<dd>([\s\S]*?)<\/dd>/g)];
  const traded = /<td><time[\s\S]*?<\/td>\s*<td>[\s\S]*?<\/td>\s*<td>([\s\S]*?)<\/td>/.exec(text);
  const textOf = (cell = ""): string => cell.replace(/<[^>]*>/g, "").trim();
  return Object.fromEntries([
    ...named.map(([, name = "", cell]) => [name, textOf(cell)]),
    ["newest", textOf(traded?.[1])],
  ]) as Record<string, string>;
}

it("shows a price of 0 where a trade has it, and a dash where no trade has a price", async () => {
  await write(database.writer, {
    trades: [
      // 1e-18 of 3 is 3.33e-19, which rounds to 0.
      aTrade({ hour: 1, base: "3", quote: "0.000000000000000001", baseGem: WETH, quoteGem: DAI }),
      // Without a base amount there is no price.
      aTrade({ hour: 1, idx: 1, base: "0", quote: "5", baseGem: MKR, quoteGem: WETH }),
    ],
  });

  const prices = { Last: "0", High: "0", Low: "0", "Average (vwap)": "0", newest: "0" };
  expect(await shownOf("weth/dai")).toMatchObject({ ...prices, Bid: "–", Ask: "–" });
  const none = Object.fromEntries(Object.keys(prices).map((name) => [name, "–"]));
  const figures = { "Last trade (UTC)": "none with a price", Volume: "0 MKR", Turnover: "5 WETH" };
  expect(await shownOf("mkr/weth")).toMatchObject({ ...none, ...figures, Trades: "1" });
});

it("shows the change from a price of 0, an ask of 0 and the spread of one, and no percent", async () => {
  await write(database.writer, {
    trades: [
      // 25 hours after the price of 0: 10 of 2 is 5.
      aTrade({ hour: 26, base: "2", quote: "10", baseGem: WETH, quoteGem: DAI }),
    ],
    offers: [
      anOffer({ hour: 26, base: "1000", quote: "0.000000000000000001" }),
      anOffer({ hour: 26, side: "buy", base: "1", quote: "3" }),
    ],
  });
  // From 0 to 5. The ask of 0 is below the bid of 3: 0 - 3.
  const figures = { Change: "5", "Change in %": "–", Bid: "3.00000", Ask: "0", Spread: "-3.00000" };
  expect(await shownOf("weth/dai")).toMatchObject(figures);
});
