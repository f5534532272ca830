// The topic of the head.
import { z } from "zod";
import { readDigestOf } from "../../queries/head.ts";
import { digest, isoMoment } from "../../records.ts";
import type { TopicKind } from "../topic.ts";

export const block = z
  .int()
  .min(0)
  .describe("The height of the head; null before the first block.");
export const time = isoMoment.describe("The time of that block; null before the first block.");

export const headTopic: TopicKind = {
  name: "head",
  markets: "none",
  async read(reading, topics, { upTo: { block, time } }) {
    if (time === null) return { states: new Map(topics.map(({ name }) => [name, []])) };
    const digest = await reading.once(`digest ${block}`, () => readDigestOf(reading.db, block));
    const rows = [{ key: "", hash: `${block} ${time} ${digest}`, data: { block, time, digest } }];
    return { states: new Map(topics.map(({ name }) => [name, rows])) };
  },
  data: ({ rows: [head] }) => head?.data ?? null,
  schema: z.object({ block, time, digest }).nullable().meta({ id: "Head" }),
  field: {
    name: "dexHead",
    event: "DexHeadEvent",
    about: "A new head.",
    does: "Each new head. Heads may be skipped.",
    members: () => `
      """
      The new head: one, or none before the first block.
      """
      nodes: [DexNewHead!]!
    `,
    types: `
      """
      The last block written.
      """
      type DexNewHead {
        """
        Height of the block.
        """
        block: Int!

        """
        Timestamp of the block.
        """
        time: Datetime!

        """
        Digest of all facts up to the block. Null where it was written by other means than the functions that write.
        """
        digest: String
      }
    `,
    nodes: "data",
  },
};
