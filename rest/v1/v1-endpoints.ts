// Version 1 of the REST interface: markets, pairs, prices and volumes.
import type { Version } from "../endpoint.ts";
import { v1Envelope } from "../../http/envelope.ts";
import { listAndRecord, pricesOf, volumesOf } from "../list-and-record.ts";
import { findMarket, findMarkets, marketRecord } from "../../market/queries/markets.ts";
import { findPair, findPairs, pairRecord } from "../../market/queries/pairs.ts";

export const v1: Version = {
  name: "v1",
  description: "Overviews, pairs, prices and volumes. `time` is in Unix seconds.",
  envelope: v1Envelope,
  endpoints: [
    ...listAndRecord({
      path: "/markets",
      record: marketRecord,
      list: { id: "v1Markets", summary: "The overview of each active market" },
      findAll: findMarkets,
      one: {
        id: "v1Market",
        summary: "The overview of a market",
        description: "Active or not.",
      },
      findOne: findMarket,
    }),
    ...listAndRecord({
      path: "/pairs",
      record: pairRecord,
      list: { id: "v1Pairs", summary: "Every registered pair", note: "; active or not" },
      findAll: findPairs,
      one: {
        id: "v1Pair",
        summary: "A registered pair",
        description: "A pair is registered in one direction; the other is unknown.",
      },
      findOne: findPair,
    }),
    ...pricesOf("v1"),
    ...volumesOf("v1"),
  ],
};
