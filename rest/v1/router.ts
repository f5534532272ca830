// Version 1 of the REST interface: markets, pairs, prices and volumes.
import { Router } from "express";
import type { Database } from "../../db/connect.ts";
import { endpointsOf } from "../endpoint.ts";
import { v1Envelope } from "../envelope.ts";
import type { LastHead } from "../last-head.ts";
import { readPair } from "../params.ts";
import { findMarket, findMarkets } from "../queries/markets.ts";
import { findPair, findPairs } from "../queries/pairs.ts";
import { findPrice, findPrices } from "../queries/prices.ts";
import { findVolume, findVolumes } from "../queries/volumes.ts";
import { byKey, onlyRecord } from "../records.ts";

/** The paths below /v1. */
export function v1Router(db: Database, head: LastHead): Router {
  const router = Router({ caseSensitive: true });
  const get = endpointsOf(router, v1Envelope, head);

  get("/markets", () => findMarkets(db), byKey);
  get("/markets/:base/:quote", (req) => findMarket(db, readPair(req)), onlyRecord);
  get("/pairs", () => findPairs(db), byKey);
  get("/pairs/:base/:quote", (req) => findPair(db, readPair(req)), onlyRecord);
  get("/prices", () => findPrices(db), byKey);
  get("/prices/:base/:quote", (req) => findPrice(db, readPair(req)), onlyRecord);
  get("/volumes", () => findVolumes(db), byKey);
  get("/volumes/:base/:quote", (req) => findVolume(db, readPair(req)), onlyRecord);

  return router;
}
