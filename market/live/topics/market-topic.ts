// The topic of a market's overview.
import { findSomeMarkets, marketRecord } from "../../queries/markets.ts";
import { recordTopic } from "./records-topic.ts";

export const marketTopic = recordTopic({
  name: "market",
  isOfRegistry: true,
  find: findSomeMarkets,
  schema: marketRecord
    .nullable()
    .describe("`market`: null where the pair is registered no longer."),
  field: {
    name: "dexMarkets",
    event: "DexMarketsEvent",
    about: "Markets that have changed.",
    does: "Markets, then those that change.",
    of: "dex_market",
    type: "DexMarket",
    several: "markets",
  },
});
