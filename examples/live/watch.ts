// Prints a market's trades, its last price and its best offers as they change.
//
//   node watch.ts http://localhost:3000 WETH/DAI
import { DexMarketData } from "./dex-market-data.ts";

const [url = "http://localhost:3000", symbol = "WETH/DAI"] = process.argv.slice(2);
const exchange = new DexMarketData(url);

async function forever<Change>(watch: () => Promise<Change>, print: (change: Change) => void) {
  for (;;) print(await watch());
}

await Promise.all([
  forever(
    () => exchange.watchTrades(symbol),
    (trades) => {
      for (const { datetime, amount, price } of trades) {
        console.log(`${datetime} ${amount} at ${price}`);
      }
    },
  ),
  forever(
    () => exchange.watchTicker(symbol),
    ({ last, percentage }) => console.log(`last ${last}, ${percentage} % of the day`),
  ),
  forever(
    () => exchange.watchOrderBook(symbol, 5),
    ({ bids, asks }) => console.log(`bid ${bids[0]?.[0] ?? "none"}, ask ${asks[0]?.[0] ?? "none"}`),
  ),
]);
