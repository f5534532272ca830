// The events of a stream as OpenAPI describes them, their `data` parsed.
import { z } from "zod";
import { isoMoment } from "../../market/records.ts";
import { TOPIC_KINDS } from "../../market/live/topics.ts";
import { block, time } from "../../market/live/topics/head-topic.ts";
import { END_REASONS } from "./event-stream.ts";

const topicData = z.union(TOPIC_KINDS.map(({ schema }) => schema));

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
          .describe("Its time. Candles that end later are void; those that stand are sent again."),
        trade: z
          .int()
          .min(0)
          .describe("The last trade that stands; 0 for none. Trades with a greater `id` are void."),
      }),
    })
    .describe("A reorganisation: what was sent of later blocks is void.")
    .meta({ id: "StreamRetract" }),
  z
    .object({
      event: z.literal("reset"),
      data: z.object({ reason: z.string() }),
    })
    .describe("What was sent before is void. The next event has the state of the topics.")
    .meta({ id: "StreamReset" }),
  z
    .object({
      event: z.literal("closed"),
      data: z.object({ reason: z.enum(END_REASONS) }),
    })
    .describe("The last event. The client goes on at the last id that it has got.")
    .meta({ id: "StreamClosed" }),
];
