// Prints a market's prices, and its newest trades page by page. Paths, parameters and answers are
// checked against what the service says of them: market-data.d.ts is made of its /openapi.json. In another project
// it stands beside this file.
//
//   node trades.ts http://localhost:3000 weth dai 250
import createClient from "openapi-fetch";
import { neverBack } from "../never-back.ts";
import type { components, paths } from "../../rest/openapi/market-data.d.ts";

type Trade = components["schemas"]["Trade"];

const [baseUrl = "http://localhost:3000", base = "weth", quote = "dai", count = "250"] =
  process.argv.slice(2);
// Behind a balancer, no page is of an older block than one before it.
const service = createClient<paths>({ baseUrl, fetch: neverBack() });
const pair = { base, quote };

const prices = await service.GET("/v2/prices/{base}/{quote}", { params: { path: pair } });
if (prices.error) throw new Error(prices.error.message);
// Decimals are strings: they have more digits than a number holds.
const { last, "24hrvwap": dayAverage } = prices.data.data;
console.log(`${base}/${quote} at ${prices.data.time}: last ${last}, of the day ${dayAverage}`);

let left = Number(count);
for await (const { id, time, price, volume } of newestTrades()) {
  if (left-- === 0) break;
  console.log(`${id} ${time} ${volume} at ${price}`);
}

/** Every trade, newest first; those that come in the meantime move no page. */
async function* newestTrades(): AsyncGenerator<Trade> {
  let fromId = Number.MAX_SAFE_INTEGER;
  while (fromId > 0) {
    const page = await service.GET("/v2/trades/{base}/{quote}", {
      params: { path: pair, query: { limit: 100, fromId } },
    });
    if (page.error) throw new Error(page.error.message);
    const trades = page.data.data;
    yield* trades;
    fromId = (trades.at(-1)?.id ?? 1) - 1;
  }
}
