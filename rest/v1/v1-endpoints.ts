// Version 1 of the REST interface: markets, pairs, prices and volumes.
import { endpoint, type Version } from "../endpoint.ts";
import { v1Envelope } from "../../server/http/envelope.ts";
import { findMarket, findMarkets, marketRecord } from "../queries/markets.ts";
import { findPair, findPairs, pairRecord } from "../queries/pairs.ts";
import { findPrice, findPrices, priceRecord } from "../queries/prices.ts";
import { findVolume, findVolumes, volumeRecord } from "../queries/volumes.ts";
import { byKey, onlyRecord, recordsByKey } from "../records.ts";

/** The paths below /v1. */
export const v1: Version = {
  name: "v1",
  description: "Overviews, pairs, prices and volumes. `time` is in Unix seconds.",
  envelope: v1Envelope,
  endpoints: [
    endpoint({
      id: "v1Markets",
      path: "/markets",
      summary: "The overview of each active market",
      description: "By `BASE/QUOTE`, in the order of its code points.",
      find: findMarkets,
      shape: byKey,
      data: recordsByKey(marketRecord),
    }),
    endpoint({
      id: "v1Market",
      path: "/markets/:base/:quote",
      summary: "The overview of a market",
      description: "Active or not.",
      find: (db, { pair }) => findMarket(db, pair),
      shape: onlyRecord,
      data: marketRecord,
    }),
    endpoint({
      id: "v1Pairs",
      path: "/pairs",
      summary: "Every registered pair",
      description: "By `BASE/QUOTE`, in the order of its code points; active or not.",
      find: findPairs,
      shape: byKey,
      data: recordsByKey(pairRecord),
    }),
    endpoint({
      id: "v1Pair",
      path: "/pairs/:base/:quote",
      summary: "A registered pair",
      description: "A pair is registered in one direction; the other is unknown.",
      find: (db, { pair }) => findPair(db, pair),
      shape: onlyRecord,
      data: pairRecord,
    }),
    endpoint({
      id: "v1Prices",
      path: "/prices",
      summary: "The prices of each registered market",
      description: "By `BASE/QUOTE`, in the order of its code points.",
      find: findPrices,
      shape: byKey,
      data: recordsByKey(priceRecord),
    }),
    endpoint({
      id: "v1Price",
      path: "/prices/:base/:quote",
      summary: "The prices of a market",
      description: "Volume weighted over 24, 12, 6 and 1 hours, and the last.",
      find: (db, { pair }) => findPrice(db, pair),
      shape: onlyRecord,
      data: priceRecord,
    }),
    endpoint({
      id: "v1Volumes",
      path: "/volumes",
      summary: "The volume of each registered market",
      description: "By `BASE/QUOTE`, in the order of its code points.",
      find: findVolumes,
      shape: byKey,
      data: recordsByKey(volumeRecord),
    }),
    endpoint({
      id: "v1Volume",
      path: "/volumes/:base/:quote",
      summary: "The volume of a market",
      description: "Of the last 24 hours, in base units.",
      find: (db, { pair }) => findVolume(db, pair),
      shape: onlyRecord,
      data: volumeRecord,
    }),
  ],
};
