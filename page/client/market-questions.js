// What one asks of REST and GraphQL for the page of a market.
import { segments } from "./figures.js";
import { pastBlock } from "./past.js";
import { streamPath } from "./stream.js";

/** @param {string} text */
const quoted = (text) => JSON.stringify(text);

/**
 * @param {{ base: string, quote: string }} pair
 * @param {{ interval: string, candles: number, depth: number, trades: number, topics: readonly string[] }} asked
 * @returns {import("./how-to-ask.js").Question[]}
 */
export function marketQuestions(pair, { interval, candles, depth, trades, topics }) {
  const { base, quote } = pair;
  const paths = segments(pair);
  const both = `base: ${quoted(base)}, quote: ${quoted(quote)}`;
  const questions = [
    {
      title: "Last 24 hours",
      path: `/v2/summary/${paths}`,
      query: `{\n  dexSummary(pair: ${quoted(`${base}/${quote}`)}) {\n    last lastTime change percent high low vwap\n    vol quoteVol trades bid ask spread\n  }\n}`,
    },
    {
      title: "Candles",
      path: `/v2/candles/${paths}?interval=${interval}&limit=${candles}`,
      query: `{\n  dexCandles(${both}, interval: ${quoted(interval)}, limit: ${candles}) {\n    nodes { time open high low close vol quoteVol }\n  }\n}`,
    },
    {
      title: "Depth and book",
      path: `/v2/book/${paths}?depth=${depth}`,
      query: `{\n  dexBook(${both}, depth: ${depth}) {\n    nodes { act price vol offers }\n  }\n}`,
    },
    {
      title: "Trades",
      path: `/v2/trades/${paths}?limit=${trades}`,
      query: `{\n  allDexTrades(first: ${trades}, orderBy: BLOCK_DESC, condition: { market: ${quoted(base + quote)} }) {\n    nodes { id time act price lotAmt lotTkn bidAmt bidTkn maker taker tx }\n  }\n}`,
    },
  ];
  if (pastBlock()) return questions;
  return [...questions, { title: "Live", path: streamPath(topics), streams: true }];
}
