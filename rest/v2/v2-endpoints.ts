// Version 2 of the REST interface: prices, volumes, trades, summaries, books, candles and blocks.
import { z } from "zod";
import {
  blockPage,
  PAGE_BLOCKS,
  PAGE_ROWS,
  PAGE_TOKENS,
  registrationPage,
} from "../../db/mirror/block-page.ts";
import { endpoint, type Version } from "../endpoint.ts";
import { v2Envelope } from "../../http/envelope.ts";
import { listAndRecord, pricesOf, volumesOf } from "../list-and-record.ts";
import { addressOf, blockNumber, limitUpTo, momentInUtc, oneOf, tradeId } from "../params.ts";
import { bookOf, bookRecord, findBook } from "../../market/queries/book.ts";
import { INTERVALS } from "../../market/candle-intervals.ts";
import { candleRecord, candleRecords, EMPTY, findCandles } from "../../market/queries/candles.ts";
import {
  findBlockFacts,
  findRegistrations,
  onlyPage,
  pageOfRegistrations,
} from "../../market/queries/block-facts.ts";
import { findBlock, findBlockAt, headRecord, onlyBlock } from "../../market/queries/head.ts";
import { findSummaries, findSummary, summaryRecord } from "../../market/queries/summaries.ts";
import { findTrades, tradeRecord, tradeRecords } from "../../market/queries/trades.ts";

export const v2: Version = {
  name: "v2",
  description:
    "Prices, volumes, trades, summaries, books, candles and blocks. `time` is in ISO 8601.",
  envelope: v2Envelope,
  endpoints: [
    ...pricesOf("v2"),
    ...volumesOf("v2"),
    endpoint({
      id: "v2Head",
      path: "/head",
      summary: "The head, with the digest of all facts up to it",
      description:
        "The last block written; with `block`, `time` or `hash` that block. Two services with the same `basis` and " +
        "the same `digest` at a block have the same facts up to it.",
      find: findBlock,
      shape: onlyBlock,
      data: headRecord,
      // The basis; and blocks without rows are deleted.
      isOfNow: true,
    }),
    endpoint({
      id: "v2Block",
      path: "/block/:number",
      summary: "A recorded block, with the digest of all facts up to it",
      description:
        "The last recorded block at or below this number, since blocks without rows are not kept. The answer's " +
        "`time` is that of the head, or of the block that `block`, `time` or `hash` name, after which there is none.",
      query: { number: blockNumber("From the first block to the head.") },
      find: findBlockAt,
      shape: onlyBlock,
      data: headRecord,
      isOfNow: true,
      isDigested: true,
    }),
    endpoint({
      id: "v2Blocks",
      path: "/blocks",
      summary: "Blocks with all their facts, oldest first",
      description:
        `A page of the recorded blocks: as many as have ${PAGE_ROWS} rows together, and at least one. Ask for the next with ` +
        "`from` as `next` says. What is in it makes the digests: a copy of the data is kept and checked by it.",
      query: {
        from: {
          ...blockNumber("The page begins with the first recorded block from this number on."),
          required: true,
        },
        limit: limitUpTo(PAGE_BLOCKS, 100, "How many blocks, at most."),
      },
      find: findBlockFacts,
      shape: onlyPage,
      data: blockPage,
      isOfNow: true,
      isDigested: true,
    }),
    endpoint({
      id: "v2Registrations",
      path: "/registrations",
      summary: "The registered tokens and pairs",
      description:
        "What makes markets of the facts, as it is now: it has no history, and is in no digest. A page of at most " +
        `${PAGE_TOKENS} tokens, by their addresses; ask for the next with \`after\` as \`next\` says.`,
      query: {
        after: {
          ...addressOf("The page begins with the first address after this one."),
          // It is after every address.
          none: "g",
        },
      },
      find: findRegistrations,
      shape: pageOfRegistrations,
      data: registrationPage,
      isDigested: true,
      isOfHead: true,
    }),
    endpoint({
      id: "v2Trades",
      path: "/trades/:base/:quote",
      summary: "The trades of a market, newest first",
      description:
        "A page of them, up to the head. To page back, ask with a `fromId` one below the last `id` " +
        "of the page before; trades that arrive in the meantime move nothing.",
      query: {
        limit: limitUpTo(1000, 100, "How many trades, at most."),
        fromId: tradeId(
          "The page begins with the newest trade of the pair whose `id` is at most this; without " +
            "it, with the newest.",
        ),
      },
      find: findTrades,
      shape: tradeRecords,
      data: z.array(tradeRecord),
    }),
    ...listAndRecord({
      path: "/summary",
      record: summaryRecord,
      list: { id: "v2Summaries", summary: "The last 24 hours of each registered market" },
      findAll: findSummaries,
      one: {
        id: "v2Summary",
        summary: "The last 24 hours of a market",
        description:
          "What stood before them and what stands now, and how much was traded in between.",
      },
      findOne: findSummary,
    }),
    endpoint({
      id: "v2Book",
      path: "/book/:base/:quote",
      summary: "The book of a market",
      description:
        "At the head, by levels: the open offers of one side at one price, with what is left of them. " +
        "The best levels of offers are `bid` and `ask` of the market. A pool has ten levels of each side within 2 % of its " +
        "best prices, each at the worst price of its band: a level that pools alone have says `offers: 0`.",
      query: { depth: limitUpTo(1000, 50, "How many levels of each side, at most.") },
      find: findBook,
      shape: bookOf,
      data: bookRecord,
    }),
    endpoint({
      id: "v2Candles",
      path: "/candles/:base/:quote",
      summary: "The candles of a market, oldest first",
      description:
        "Up to the head, of trades that have a price. The candle of the interval that the head is in " +
        "is the last, and not `complete`. Intervals are counted from the Unix epoch, in UTC.",
      query: {
        interval: oneOf(INTERVALS, "How long each is.", "1h"),
        from: momentInUtc("They start at this time or after it."),
        to: momentInUtc("They start before this time."),
        limit: limitUpTo(
          1000,
          100,
          "How many, at most: the first ones where `from` is given, else the last.",
        ),
        empty: oneOf(
          EMPTY,
          "What an interval without trades gives: `omit` no candle, `flat` one at the price before " +
            "it, with nothing traded; before the first trade there is none.",
        ),
      },
      find: findCandles,
      shape: candleRecords,
      data: z.array(candleRecord),
    }),
  ],
};
