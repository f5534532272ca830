// The panels of the page of a market in a browser, and what REST has for them.
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Page } from "playwright-core";
import type { TestApp } from "../app.ts";

/** Waits until the value is as expected; the test's timeout bounds it. */
export async function until<Value>(read: () => Promise<Value>, expected: () => Promise<Value>) {
  while (!isDeepStrictEqual(await read(), await expected())) await sleep(100);
}

export const valuesOf = (page: Page, selector: string): Promise<string[][]> =>
  page
    .locator(selector)
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll("data")].map(({ value }) => value)),
    );

interface Traded {
  id: string;
  act: "buy" | "sell";
  price: string | null;
  lotAmt: string;
  bidAmt: string;
  maker: string;
  taker: string;
  tx: string;
}

/** Without trailing zeros, as REST has it. */
export const trimmed = (decimal: string): string =>
  decimal.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

/** What GraphQL has of these trades, as the page shows it: the taker's side, the figures and the accounts. */
async function tradesOf(app: TestApp, ids: number[]): Promise<string[][]> {
  const query = `{ allDexTrades(orderBy: ID_DESC, filter: { id: { in: [${ids.map((id) => `"${id}"`).join()}] } }) {
    nodes { id act price lotAmt bidAmt maker taker tx }
  } }`;
  const { body } = await app.request.post("/graphql").send({ query }).expect(200);
  const nodes: Traded[] = ids.length === 0 ? [] : body.data.allDexTrades.nodes;
  return nodes.map(({ act, price, lotAmt, bidAmt, maker, taker, tx }) =>
    act === "sell"
      ? ["Buy", ...[price ?? "0", lotAmt, bidAmt].map(trimmed), maker, taker, tx]
      : ["Sell", ...[price ?? "0", bidAmt, lotAmt].map(trimmed), maker, taker, tx],
  );
}

const tradesShown = (page: Page): Promise<string[][]> =>
  page
    .locator("#trades tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelectorAll("td")[1]!.textContent.trim(),
        ...[...row.querySelectorAll("data")].map(({ value }) => value),
        ...[...row.querySelectorAll(".address")].map((one) => one.getAttribute("title")!),
      ]),
    );

/** What REST has, as the page shows it; `asOf` names a past block. */
export async function expected(app: TestApp, pair: string, interval = "1h", asOf = "") {
  const ofRest = async (path: string) =>
    (await app.request.get(`${path}&${asOf}`).expect(200)).body.data;
  const summary = await ofRest(`/v2/summary/${pair}?`);
  const { bids, asks } = await ofRest(`/v2/book/${pair}?depth=15`);
  const trades = await ofRest(`/v2/trades/${pair}?`);
  const candle = (await ofRest(`/v2/candles/${pair}?interval=${interval}`)).at(-1);
  const level = ({ price, vol }: Record<string, string>) => [price, vol];
  const { last, change, percent, high, low, vwap, vol, quoteVol, bid, ask, spread } = summary;
  return {
    summary: [[last, change, percent, high, low, vwap, vol, quoteVol, bid, ask, spread]],
    bids: bids.map(level),
    asks: asks.map(level),
    trades: await tradesOf(
      app,
      trades.map(({ id }: { id: number }) => id),
    ),
    candle:
      candle === undefined
        ? [[]]
        : [[candle.open, candle.high, candle.low, candle.close, candle.vol]],
  };
}

export async function shown(page: Page) {
  const levels = async (side: string) =>
    (await valuesOf(page, `#book .${side} tbody tr`)).map(([price, vol]) => [price, vol]);
  return {
    summary: await valuesOf(page, "#summary dl"),
    bids: await levels("bids"),
    asks: await levels("asks"),
    trades: await tradesShown(page),
    candle: await valuesOf(page, ".legend"),
  };
}
