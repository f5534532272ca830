// What a client that comes back has missed since its place.
import type { Database } from "../../db/connect.ts";
import {
  isBefore,
  readRetraction,
  readTimeOf,
  type CurrentPlace,
  type Place,
  type Retraction,
} from "../../server/http/live/place.ts";
import { readWholeBlocks } from "../../server/http/live/whole-blocks.ts";
import { findTradesAfter } from "../queries/trades.ts";
import { eventAt, Frame } from "./frame.ts";
import { MAX_CANDLES, readStates, TOPIC_KINDS } from "./topic-kinds.ts";
import { keyOf, type Topic } from "./topics.ts";

export interface Resumed {
  since: Place;
  /** Undefined if nothing that the client has is void. */
  retraction: Retraction | undefined;
  /** Trades and candles up to `place`, by the names of the topics. */
  states: Map<string, unknown>;
  /** The end of the page, and its time. */
  place: CurrentPlace;
  /** Whether later pages follow. */
  more: boolean;
}

/**
 * Reads the next page after a place: whole blocks, up to `now` if no more than a page is missing. Returns why
 * the client must start anew where that cannot be told.
 */
export async function readMissed(
  db: Database,
  topics: readonly Topic[],
  since: Place,
  now: CurrentPlace,
  pageTrades: number,
): Promise<Resumed | string> {
  if (!isBefore(since, now)) {
    return "the id is of another history or later than the head, or the labels of trades have changed";
  }
  const found = await readRetraction(db, since, now);
  if (found === "unknown") return "the reorganisations since are no longer recorded";
  const retraction = found === "none" ? undefined : found;
  const timeBefore = retraction ? retraction.time : await readTimeOf(db, since.block);

  const ofTrades = topics.filter(({ kind }) => kind === "trades");
  const { rows, place } = await readTrades(db, ofTrades, { after: since.trade, now, pageTrades });
  const ofCandles = topics.filter(({ kind }) => kind === "candles");
  const states = await readStates(db, ofCandles, place, {
    trade: since.trade,
    time: timeBefore ?? undefined,
    until: place === now ? undefined : (place.time ?? undefined),
  });
  for (const candles of states.values()) {
    if ((candles as unknown[]).length >= MAX_CANDLES) {
      return `more than ${MAX_CANDLES - 1} candles of a topic are missing`;
    }
  }
  for (const topic of ofTrades) {
    const ofTopic = rows.filter(({ key }) => key === keyOf(topic));
    states.set(
      topic.name,
      ofTopic.map(({ id, price, volume, time }) => ({ id, price, volume, time })),
    );
  }
  return { since, retraction, states, place, more: place !== now };
}

async function readTrades(
  db: Database,
  topics: readonly Topic[],
  { after, now, pageTrades }: { after: number; now: CurrentPlace; pageTrades: number },
) {
  const keys = topics.map(keyOf);
  if (keys.length === 0) return { rows: [], place: now };
  return readWholeBlocks((limit) => findTradesAfter(db, keys, { after, limit }), {
    page: pageTrades,
    now,
  });
}

/** The events of a page; `states` are those that the page does not have. */
export function eventsOf(
  { since, retraction, states, place, more }: Resumed,
  topics: readonly Topic[],
  others?: ReadonlyMap<string, unknown>,
): Frame[] {
  const all = new Map([...(others ?? []), ...states]);
  const update = updateOf(place, wholesOf(topics, all), { more });
  return retraction === undefined
    ? [update]
    : [retractOf(retraction, { ...place, trade: since.trade }), update];
}

export const retractOf = (retraction: Retraction, now: Place): Frame =>
  eventAt("retract", { ...now, block: retraction.block ?? -1 }, JSON.stringify(retraction));

/** Without an id: a client that is cut off before the state that follows must be reset again. */
export const resetOf = (reason: string): Frame =>
  new Frame(`event: reset\ndata: ${JSON.stringify({ reason })}\n\n`);

/** The data of the topics in JSON, by name, as a client without any gets them. */
export const wholesOf = (
  topics: readonly Topic[],
  states: ReadonlyMap<string, unknown>,
): Map<string, string> => {
  const wholes = new Map<string, string>();
  for (const { kind, name } of topics) {
    const whole = states.has(name) ? TOPIC_KINDS[kind].whole(states.get(name)) : undefined;
    if (whole !== undefined) wholes.set(name, JSON.stringify(whole));
  }
  return wholes;
};

export function updateOf(
  place: CurrentPlace,
  topics: ReadonlyMap<string, string>,
  { more = false } = {},
): Frame {
  const { block, time } = place;
  const head = time === null ? null : block;
  const data = [...topics].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",");
  const moment = `"block":${JSON.stringify(head)},"time":${JSON.stringify(time)}${more ? ',"more":true' : ""}`;
  return eventAt("update", place, `{${moment},"topics":{${data}}}`);
}
