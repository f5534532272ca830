// Version 2 of the REST interface: prices, volumes and trades.
import { Router, type Request } from "express";
import type { Database } from "../../db/connect.ts";
import { BadParameter } from "../../server/errors.ts";
import { endpointsOf } from "../endpoint.ts";
import { v2Envelope } from "../envelope.ts";
import type { LastHead } from "../last-head.ts";
import { readPage, readPair } from "../params.ts";
import { findPair } from "../queries/pairs.ts";
import { findPrice, findPrices } from "../queries/prices.ts";
import type { Snapshot } from "../queries/snapshot.ts";
import { findTrades, type TradeRow } from "../queries/trades.ts";
import { findVolume, findVolumes } from "../queries/volumes.ts";
import { byKey, onlyRecord, tradeRecords } from "../records.ts";

/** The paths below /v2. */
export function v2Router(db: Database, head: LastHead): Router {
  const router = Router({ caseSensitive: true });
  const get = endpointsOf(router, v2Envelope, head);

  get("/prices", () => findPrices(db), byKey);
  get("/prices/:base/:quote", (req) => findPrice(db, readPair(req)), onlyRecord);
  get("/volumes", () => findVolumes(db), byKey);
  get("/volumes/:base/:quote", (req) => findVolume(db, readPair(req)), onlyRecord);
  get("/trades/:base/:quote", askTrades, tradeRecords);

  async function askTrades(req: Request): Promise<Snapshot<TradeRow>> {
    const pair = readPair(req);
    const page = readPage(req);
    if (!(page instanceof BadParameter)) return findTrades(db, pair, page);
    // An unknown pair is answered before a bad parameter.
    const { rows } = await head.see(findPair(db, pair));
    onlyRecord(rows);
    throw page;
  }

  return router;
}
