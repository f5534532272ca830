// The events of a stream as OpenAPI describes them, their `data` parsed.
import { z } from "zod";
import { isoMoment } from "../../server/http/envelope.ts";
import { bookRecord } from "../queries/book.ts";
import { candleRecord } from "../queries/candles.ts";
import { marketRecord } from "../queries/markets.ts";
import { summaryRecord } from "../queries/summaries.ts";
import { tradeRecord } from "../queries/trades.ts";
import { END_REASONS } from "./event-stream.ts";

const block = z.int().min(0).describe("The height of the head; null before the first block.");
const time = isoMoment.describe("The time of that block; null before the first block.");

const headRecord = z.object({ block, time }).nullable().meta({ id: "Head" });

const levelOfStream = z
  .object({ ...bookRecord.shape.bids.element.shape, offers: z.int().min(0) })
  .meta({ id: "ChangedLevel" });

const changedBook = z
  .object({
    whole: z
      .boolean()
      .describe(
        "Whether these are all levels up to the depth. Else they are those that have changed: an " +
          "`offers` of 0 is a level that is gone.",
      ),
    bids: z.array(levelOfStream),
    asks: z.array(levelOfStream),
  })
  .meta({ id: "ChangedBook" });

const topicData = z.union([
  headRecord,
  z.array(tradeRecord).describe("`trades`: the new trades, oldest first."),
  marketRecord.nullable().describe("`market`: null where the pair is registered no longer."),
  summaryRecord.nullable(),
  z.array(candleRecord).describe("`candles`: those that are new or have changed, oldest first."),
  changedBook,
]);

const placeOfEvent = z
  .string()
  .describe("The place in the data: `Last-Event-ID` or `from` of a stream that goes on after it.");

export const streamEvents = [
  z
    .object({
      event: z.literal("update"),
      id: placeOfEvent,
      data: z.object({
        block: block.nullable(),
        time: time.nullable(),
        more: z
          .literal(true)
          .optional()
          .describe(
            "Where a client has missed more than an event has: later pages follow at once. This one has " +
              "trades, and the candles that are complete; the last has the other topics.",
          ),
        topics: z
          .record(z.string(), topicData)
          .describe("By the topics' names: what has changed since the event before."),
      }),
    })
    .describe("What the topics are at a head, or what has changed of them.")
    .meta({ id: "StreamUpdate" }),
  z
    .object({
      event: z.literal("retract"),
      id: placeOfEvent,
      data: z.object({
        block: z.int().min(0).nullable().describe("The last block that stands; null for none."),
        time: isoMoment
          .nullable()
          .describe("Its time. Candles that end later are void; those that stand are told again."),
        trade: z
          .int()
          .min(0)
          .describe("The last trade that stands; 0 for none. Trades with a greater `id` are void."),
      }),
    })
    .describe("A reorganisation: what was told of later blocks is void.")
    .meta({ id: "StreamRetract" }),
  z
    .object({
      event: z.literal("reset"),
      data: z.object({ reason: z.string() }),
    })
    .describe("What was told before is void. The next event has the state of the topics.")
    .meta({ id: "StreamReset" }),
  z
    .object({
      event: z.literal("closed"),
      data: z.object({ reason: z.enum(END_REASONS) }),
    })
    .describe("The last event. The client goes on at the last id that it has got.")
    .meta({ id: "StreamClosed" }),
];
