// The place of a block: what a client has that has everything up to it.
import type { Pool } from "../db/connect.ts";
import { intervalsBetween, type Interval } from "./candle-intervals.ts";
import { readPlace, type CurrentPlace } from "./place.ts";
import { beginAsOf } from "./queries/as-of.ts";
import { inSnapshot } from "./queries/snapshot.ts";

export interface PlaceAt {
  place: CurrentPlace;
  /** The head of the same snapshot. */
  head: CurrentPlace;
}

/** Of the last recorded block at or below this one. Throws NoSuchBlock for one that the database does not have. */
export const placeAt = (pool: Pool, block: number): Promise<PlaceAt> =>
  inSnapshot(pool, async (db) => {
    const head = await readPlace(db);
    const { lastTrade } = await beginAsOf(db, { block });
    return { head, place: { ...(await readPlace(db)), trade: lastTrade } };
  });

/** Whether a client that has everything up to the place lacks as many candles as are sent at most: it would be reset. */
export const lacksTooMany = (
  { place, head }: PlaceAt,
  interval: Interval,
  pageCandles: number,
): boolean =>
  place.time !== null &&
  head.time !== null &&
  intervalsBetween(place.time, head.time, interval) >= pageCandles;
