// The topic of a market's last 24 hours.
import { findSomeSummaries, summaryRecord } from "../../queries/summaries.ts";
import { recordTopic } from "./records-topic.ts";

export const summaryTopic = recordTopic({
  name: "summary",
  find: findSomeSummaries,
  schema: summaryRecord.nullable(),
  field: {
    name: "dexSummaries",
    event: "DexSummariesEvent",
    about: "Summaries that have changed.",
    does: "The last 24 hours of markets, then those that change.",
    of: "dex_summary",
    type: "DexSummary",
    several: "summaries",
  },
});
