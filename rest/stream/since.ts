// Where a stream goes on: at the id of an event, or behind a block.
import type { Request } from "express";
import type { Pool } from "../../db/connect.ts";
import { BadParameter } from "../../http/errors.ts";
import { isInterval } from "../../market/candle-intervals.ts";
import type { AskedTopic } from "../../market/live/asked-topics.ts";
import { lacksTooMany, placeAt } from "../../market/place-at.ts";
import { readPlaceText, type Place } from "../../market/place.ts";
import { AS_OF } from "../params.ts";
import { isMeantAs } from "../question.ts";

/** Any id that the header has is accepted: a client of another history starts anew. */
export const NO_PLACE: Place = { origin: "", epoch: "", reorganisation: 0, block: -1, trade: 0 };

export const FROM_ACCEPTED = "the id of an event, given once";

/** The place to go on from, or the number of the block; undefined to begin. */
export function readSince(req: Request, given: URLSearchParams): Place | number | undefined {
  for (const name of Object.keys(AS_OF)) {
    const key = [...given.keys()].find((each) => isMeantAs(name, each));
    if (key !== undefined) throw new BadParameter(key, "left out: a stream takes fromBlock");
  }
  const last = req.get("Last-Event-ID") ?? "";
  // A browser keeps the URL when it comes back, and adds the header.
  if (last !== "") return readPlaceText(last) ?? NO_PLACE;
  const [from, ...more] = given.getAll("from");
  const [fromBlock, ...moreBlocks] = given.getAll("fromBlock");
  if (from !== undefined && fromBlock !== undefined) {
    throw new BadParameter("from and fromBlock", "given one at a time");
  }
  if (fromBlock !== undefined) {
    const { schema, accepted } = AS_OF.block;
    const { data } = schema.safeParse(fromBlock);
    if (data === undefined || moreBlocks.length > 0) throw new BadParameter("fromBlock", accepted);
    return data;
  }
  if (from === undefined) return undefined;
  const place = more.length === 0 ? readPlaceText(from) : undefined;
  if (place === undefined) throw new BadParameter("from", FROM_ACCEPTED);
  return place;
}

/** The place behind a block. A client that begins would drop nothing at a `reset`, so it is refused what would lead to one. */
export async function placeBehind(
  pool: Pool,
  block: number,
  topics: readonly AskedTopic[],
  pageCandles: number,
): Promise<Place> {
  const found = await placeAt(pool, block);
  const tooMany = topics.find((topic) => {
    const interval = topic.kind.name === "candles" && topic.pair !== "*" && topic.argument;
    return isInterval(interval) && lacksTooMany(found, interval, pageCandles);
  });
  if (tooMany === undefined) return found.place;
  throw new BadParameter(
    "fromBlock",
    `a block less than ${pageCandles} intervals of ${tooMany.name} behind the head`,
  );
}
