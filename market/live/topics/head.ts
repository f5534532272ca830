// The topic of the head.
import { z } from "zod";
import { isoMoment } from "../../records.ts";
import type { TopicKind } from "../topic.ts";

export const block = z
  .int()
  .min(0)
  .describe("The height of the head; null before the first block.");
export const time = isoMoment.describe("The time of that block; null before the first block.");

export const headTopic: TopicKind = {
  name: "head",
  markets: "none",
  read(_reading, topics, { upTo: { block, time } }) {
    const row = { key: "", hash: `${block} ${time ?? ""}`, data: { block, time } };
    const rows = time === null ? [] : [row];
    return Promise.resolve({ states: new Map(topics.map(({ name }) => [name, rows])) });
  },
  data: ({ rows: [head] }) => head?.data ?? null,
  schema: z.object({ block, time }).nullable().meta({ id: "Head" }),
  field: {
    name: "dexHead",
    event: "DexHeadEvent",
    about: "A new head.",
    does: "Each new head. Heads may be skipped.",
  },
};
